// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SpanOutput: encoded spans as requests, each as full as it may be.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_STEPS_SPAN_OUTPUT_H_
#define FERRET_EXPORTERS_OTLP_STEPS_SPAN_OUTPUT_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/resource/resource.h"
#include "exporters/otlp/spans/span.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

template <typename Encoder>
class SpanOutput {
 public:
  // `request` gets a request, whose bytes live until it returns.
  SpanOutput(const TraceId& trace, const Resource& resource, const DeliveryConfig& config,
             std::function<void(RequestBody)> request)
      : config_(config),
        delay_(absl::ToChronoNanoseconds(config.schedule_delay)),
        request_(std::move(request)),
        encoder_(trace, resource) {}

  void Add(std::string_view span, RunnerClock::Time now) {
    if (encoder_.spans() > 0 && encoder_.bytes() + span.size() > config_.batch_bytes) Send();
    if (encoder_.spans() == 0) due_ = now + delay_;
    encoder_.AddEncoded(span);
    ++spans_;
    if (encoder_.spans() >= config_.batch_spans) Send();
  }

  bool empty() const { return encoder_.spans() == 0; }
  // That were added.
  uint64_t spans() const { return spans_; }

  void SendIfDue(RunnerClock::Time now) {
    if (!empty() && now >= due_) Send();
  }
  void Send() {
    const RequestBody body = encoder_.Finish();
    if (body.spans > 0) request_(body);
    encoder_.Clear();
  }

 private:
  const DeliveryConfig config_;
  const std::chrono::nanoseconds delay_;
  const std::function<void(RequestBody)> request_;
  Encoder encoder_;
  RunnerClock::Time due_;
  uint64_t spans_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_STEPS_SPAN_OUTPUT_H_
