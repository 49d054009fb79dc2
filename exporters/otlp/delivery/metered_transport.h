// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MeteredTransport: a transport, and how long each of its requests took.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_METERED_TRANSPORT_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_METERED_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/otlp/transport.h"

namespace ferret::otlp {

struct Operation {
  Signal signal = Signal::kTraces;
  int64_t duration_ns = 0;
  SendOutcome::Kind kind = SendOutcome::Kind::kDelivered;
};

// What is shared between the thread that sends and the one that asks. Any thread.
class OperationLog {
 public:
  void Add(const Operation& operation) {
    std::lock_guard<std::mutex> lock(mutex_);
    // Nobody has asked for long: the latest ones are not worth more memory.
    constexpr size_t kMost = 4096;
    if (operations_.size() < kMost) operations_.push_back(operation);
  }
  std::vector<Operation> Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(operations_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Operation> operations_;
};

class MeteredTransport final : public Transport {
 public:
  MeteredTransport(std::unique_ptr<Transport> transport, std::shared_ptr<OperationLog> log, RunnerClock* clock)
      : transport_(std::move(transport)), log_(std::move(log)), clock_(clock) {}

  SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) override {
    const RunnerClock::Time begin = clock_->Now();
    SendOutcome outcome = transport_->Send(signal, body, deadline);
    const int64_t ns = std::chrono::duration_cast<std::chrono::nanoseconds>(clock_->Now() - begin).count();
    log_->Add({signal, ns, outcome.kind});
    return outcome;
  }
  void Cancel() override { transport_->Cancel(); }
  Form form() const override { return transport_->form(); }
  std::string Destination() const override { return transport_->Destination(); }
  std::string DestinationOf(Signal signal) const override { return transport_->DestinationOf(signal); }

 private:
  const std::unique_ptr<Transport> transport_;
  const std::shared_ptr<OperationLog> log_;
  RunnerClock* const clock_;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_METERED_TRANSPORT_H_
