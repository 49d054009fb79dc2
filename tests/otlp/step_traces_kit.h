// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of a run as StepTraces sends them, decoded.

#ifndef FERRET_TESTS_OTLP_STEP_TRACES_KIT_H_
#define FERRET_TESTS_OTLP_STEP_TRACES_KIT_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/otlp/steps/step_traces.h"
#include "tests/otlp/decoded.h"

namespace ferret::otlp {

inline std::string Bytes(const TraceId& id) { return {id.data(), id.size()}; }
inline std::string Bytes(SpanId id) {
  std::string bytes;
  for (int shift = 56; shift >= 0; shift -= 8) bytes += static_cast<char>(id >> shift);
  return bytes;
}

// Steps of a run, sent in both forms.
class Traces {
 public:
  explicit Traces(OtlpConfig config = {})
      : ids(KeyOf(TestInfo(), kRunId)),
        resource_(TestInfo(), kRunId, "python3", {}),
        proto_(ids, config, resource_, {[this](RequestBody body) { Take(Decode(std::string(body.bytes)), body, &spans); },
                                        [this](const TraceId& trace, const HeldSpan& span) {
                                          exemplars[span.series.series.slot].push_back(Bytes(trace) + Bytes(span.id));
                                        },
                                        nullptr}),
        json_(ids, config, resource_,
              {[this](RequestBody body) { Take(DecodeJson(std::string(body.bytes)), body, &from_json); }, nullptr,
               nullptr}) {
    proto_.Begin(TestInfo());
    json_.Begin(TestInfo());
  }

  // Times are in us since the start.
  FunctionEvent Event(std::string_view name, int64_t start_us, int64_t end_us, int64_t parent = 0) {
    FunctionEvent event;
    event.id = ++last_id;
    event.parent_id = parent;
    event.name = name;
    event.start_ns = kStartNs + start_us * 1000;
    event.end_ns = kStartNs + end_us * 1000;
    event.thread = 1;
    event.device_resource_id = 917;
    return event;
  }
  void Add(const FunctionEvent& event, uint32_t slot = 0) {
    DurationSeries::Id series;
    series.series.slot = slot;
    proto_.AddEvent(event, series);
    json_.AddEvent(event, series);
  }
  int64_t Op(int64_t start_us, int64_t end_us, int64_t parent = 0) {
    Add(Event("aten::mm", start_us, end_us, parent));
    return last_id;
  }
  void Step(int64_t number, int64_t start_us, int64_t end_us) {
    EventDetails details;
    const std::string name = "ProfilerStep#" + std::to_string(number);
    details.trace_name = name;
    FunctionEvent event = Event("ProfilerStep*", start_us, end_us);
    event.details = &details;
    Add(event);
  }
  // Time goes by, until the steps so far are over.
  void Settle() {
    now_ += std::chrono::seconds(1);
    proto_.Note({}, now_);
    json_.Note({}, now_);
  }
  void Moments(const EventBatch& batch) {
    proto_.AddMoments(batch);
    json_.AddMoments(batch);
  }
  // What does not fit is not the same in both forms.
  void End(bool fits = true) {
    proto_.End({}, 0, kStartNs);
    json_.End({}, 0, kStartNs);
    if (!fits) return;
    ASSERT_EQ(spans.size(), from_json.size());
    for (size_t i = 0; i < spans.size(); ++i) {
      ASSERT_EQ(spans[i].SerializeAsString(), from_json[i].SerializeAsString()) << spans[i].DebugString();
    }
  }

  // The span of an event; it must be there once.
  DecodedSpan Of(int64_t event) const {
    DecodedSpan found;
    int count = 0;
    for (const DecodedSpan& span : spans) {
      if (span.span_id() == Bytes(ids.OfEvent(event))) found = span, ++count;
    }
    EXPECT_EQ(count, 1);
    return found;
  }
  bool Has(int64_t event) const {
    for (const DecodedSpan& span : spans) {
      if (span.span_id() == Bytes(ids.OfEvent(event))) return true;
    }
    return false;
  }
  DecodedSpan Root(int64_t number) const {
    for (const DecodedSpan& span : spans) {
      if (span.trace_id() == Bytes(ids.TraceOfStep(number)) && span.parent_span_id().empty()) return span;
    }
    ADD_FAILURE() << "no root of step " << number;
    return {};
  }
  SpanCounts counts() const { return proto_.counts(); }
  StepTraces<SpanEncoder>& proto() { return proto_; }

  SpanIds ids;
  int64_t last_id = 0;
  std::vector<DecodedSpan> spans, from_json;
  std::vector<size_t> request_spans;
  std::map<uint32_t, std::vector<std::string>> exemplars;

 private:
  void Take(const Request& request, RequestBody body, std::vector<DecodedSpan>* to) {
    const std::vector<DecodedSpan> taken = SpansOf(request);
    EXPECT_EQ(taken.size(), body.spans);
    EXPECT_GT(body.spans, 0u);
    if (to == &spans) request_spans.push_back(body.spans);
    to->insert(to->end(), taken.begin(), taken.end());
  }

  const Resource resource_;
  RunnerClock::Time now_;
  StepTraces<SpanEncoder> proto_;
  StepTraces<JsonEncoder> json_;
};

inline OtlpConfig With(Detail detail) {
  OtlpConfig config;
  config.sampling.detail = detail;
  config.sampling.every = 2;
  config.sampling.slow = 0;
  return config;
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_STEP_TRACES_KIT_H_
