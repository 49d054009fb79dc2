// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchSink: where the drain gets empty batches and hands full ones to. Implemented by the session over its exporters.
// All calls come from the drain thread. Push must not block.

#ifndef FERRET_RUNTIME_DRAIN_BATCH_SINK_H_
#define FERRET_RUNTIME_DRAIN_BATCH_SINK_H_

#include <cstdint>
#include <memory>

#include "ferret/event_batch.h"

namespace ferret::internal {

class BatchSink {
 public:
  virtual ~BatchSink() = default;
  // An empty batch, with warm memory if possible.
  virtual std::shared_ptr<EventBatch> NewBatch() = 0;
  virtual void Push(std::shared_ptr<EventBatch> batch) = 0;
  // No more of them for now: the drain is about to sleep. Until then a sink need not act on what was pushed.
  virtual void PassEnded() {}
  // Open scopes have just been listed for a dump. The `sequence` of the latest batch, where batches have any: what was pushed
  // so far goes with them.
  virtual uint64_t KeepForDump() { return 0; }
  // With a crash file: chunks run low while they wait for what was pushed to be durable.
  virtual void WantSettled() {}
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_BATCH_SINK_H_
