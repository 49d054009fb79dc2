// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Takes what the drain delivers, counts it, and hands the same memory out again: no exporter, no page faults.

#ifndef FERRET_BENCH_COUNTING_SINK_H_
#define FERRET_BENCH_COUNTING_SINK_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/drain/batch_sink.h"

namespace ferret {

class CountingSink final : public internal::BatchSink {
 public:
  std::shared_ptr<EventBatch> NewBatch() override {
    std::shared_ptr<EventBatch> batch = std::move(spare_);
    if (batch == nullptr) return std::make_shared<EventBatch>();
    batch->Clear();
    return batch;
  }
  void Push(std::shared_ptr<EventBatch> batch) override {
    events += batch->events.size();
    links += batch->links.size();
    spare_ = std::move(batch);
  }

  uint64_t events = 0;
  uint64_t links = 0;

 private:
  std::shared_ptr<EventBatch> spare_;
};

}  // namespace ferret

#endif  // FERRET_BENCH_COUNTING_SINK_H_
