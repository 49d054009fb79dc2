// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Random runs: what is decoded is what was in the batches, field by field, in both forms.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/text/utf8_text.h"
#include "tests/otlp/decoded.h"
#include "tests/otlp/random_run.h"

namespace ferret::otlp {
namespace {

// A run, encoded in both forms, a request for each batch; the first one begins with the run's span.
class RandomRuns : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override {
    batches_ = run_.Batches(4, 120);
    Encoding<SpanEncoder> proto;
    Encoding<JsonEncoder> json;
    proto.spans.AddRun(TestInfo());
    json.spans.AddRun(TestInfo());
    for (const auto& batch : batches_) {
      proto.AddBatch(*batch);
      json.AddBatch(*batch);
      proto_.push_back(Decode(proto.Take()));
      json_.push_back(DecodeJson(json.Take()));
    }
    for (const Request& request : proto_) {
      const std::vector<DecodedSpan> spans = SpansOf(request);
      spans_.insert(spans_.end(), spans.begin(), spans.end());
    }
  }

  RandomRun run_{GetParam()};
  std::vector<std::unique_ptr<EventBatch>> batches_;
  std::vector<Request> proto_, json_;
  std::vector<DecodedSpan> spans_;  // of all requests
};

TEST_P(RandomRuns, BothFormsCarryTheSameTree) {
  for (size_t i = 0; i < proto_.size(); ++i) {
    EXPECT_EQ(Difference(proto_[i], json_[i]), "") << "request " << i;
  }
}

TEST_P(RandomRuns, IdsAreValidAndUniqueAndEveryParentAndLinkIsThere) {
  std::set<std::string> ids;
  size_t roots = 0;
  for (const DecodedSpan& span : spans_) {
    EXPECT_EQ(span.trace_id(), spans_[0].trace_id());
    EXPECT_EQ(span.trace_id().size(), 16u);
    EXPECT_EQ(span.span_id().size(), 8u);
    EXPECT_NE(span.span_id(), std::string(8, '\0'));
    EXPECT_TRUE(ids.insert(span.span_id()).second);
  }
  size_t links = 0;
  for (const DecodedSpan& span : spans_) {
    roots += span.parent_span_id().empty();
    EXPECT_TRUE(span.parent_span_id().empty() || ids.count(span.parent_span_id()) == 1);
    EXPECT_NE(span.parent_span_id(), span.span_id());
    for (const auto& link : span.links()) {
      ++links;
      EXPECT_EQ(link.trace_id(), span.trace_id());
      EXPECT_EQ(ids.count(link.span_id()), 1u);
      EXPECT_EQ(link.flags(), 0x101u);
      EXPECT_EQ(AttributesOf(link.attributes()).at("ferret.link.type"), "s:forward");
    }
  }
  EXPECT_EQ(roots, 1u);
  EXPECT_GT(links, 10u);
}

TEST_P(RandomRuns, EverySpanIsItsEvent) {
  std::vector<const FunctionEvent*> events;
  std::unordered_map<int64_t, std::string> ids = {{0, spans_[0].span_id()}};
  size_t at = 1;
  for (const auto& batch : batches_) {
    for (const FunctionEvent& event : batch->events) {
      ASSERT_LT(at, spans_.size());
      ids[event.id] = spans_[at++].span_id();
    }
    at += !batch->instants.empty();
    at += !batch->memory.empty();
  }
  ASSERT_EQ(at, spans_.size());

  at = 1;
  for (const auto& batch : batches_) {
    for (const FunctionEvent& event : batch->events) {
      const DecodedSpan& span = spans_[at++];
      std::string name;
      const bool exact = AppendUtf8(event.name, &name) && !event.name.empty();
      EXPECT_EQ(span.name(), event.name.empty() ? "(empty)" : name);
      EXPECT_EQ(span.kind(), DecodedSpan::SPAN_KIND_INTERNAL);
      EXPECT_EQ(span.flags(), 0x101u);
      EXPECT_EQ(span.start_time_unix_nano(), static_cast<uint64_t>(event.start_ns));
      EXPECT_EQ(span.end_time_unix_nano(), static_cast<uint64_t>(event.end_ns));
      EXPECT_FALSE(span.has_status());
      const bool kernel = event.device_type != DeviceType::kCpu;
      EXPECT_EQ(span.parent_span_id(), ids.at(kernel ? event.details->launch->scope_id : event.parent_id));
      ASSERT_EQ(span.links_size(), event.forward_id > 0 ? 1 : 0);
      if (event.forward_id > 0) {
        EXPECT_EQ(span.links(0).span_id(), ids.at(event.forward_id));
      }

      std::map<std::string, std::string> attributes = AttributesOf(span.attributes());
      const auto expect = [&](const std::string& key, bool is_there, const std::string& value) {
        EXPECT_EQ(attributes.count(key), is_there ? 1u : 0u) << key;
        EXPECT_EQ(is_there ? attributes[key] : value, value) << key;
      };
      expect("ferret.name_hex", !exact, "s:" + HexText(event.name));
      expect("ferret.sequence_nr", event.sequence_nr >= 0, "i:" + std::to_string(event.sequence_nr));
      expect("ferret.thread", event.sequence_nr >= 0, "i:" + std::to_string(event.thread));
      expect("ferret.fwd_thread", event.fwd_thread > 0, "i:" + std::to_string(event.fwd_thread));
      expect("ferret.is_async", event.is_async, "b:1");
      expect("ferret.is_truncated", event.is_truncated, "b:1");
      expect("ferret.is_synthesized", event.is_synthesized, "b:1");
      expect("thread.id", !kernel, "i:" + std::to_string(event.device_resource_id));
      expect("ferret.stream", kernel, "i:" + std::to_string(event.device_resource_id));
      expect("ferret.device", kernel, "i:" + std::to_string(event.device_index));
      const int64_t flops = event.flops(), memory = event.cpu_memory_usage();
      expect("ferret.flops", flops != 0, "i:" + std::to_string(flops));
      expect("ferret.cpu_memory_usage", memory != 0, "i:" + std::to_string(memory));
    }
    at += !batch->instants.empty();
    at += !batch->memory.empty();
  }
}

TEST_P(RandomRuns, MomentsAreEventsOfTheirCarriers) {
  size_t at = 1;
  for (const auto& batch : batches_) {
    at += batch->events.size();
    if (!batch->instants.empty()) {
      const DecodedSpan& carrier = spans_[at++];
      EXPECT_EQ(carrier.name(), "Ferret Instants");
      ASSERT_EQ(static_cast<size_t>(carrier.events_size()), batch->instants.size());
      for (int i = 0; i < carrier.events_size(); ++i) {
        const InstantEvent& instant = batch->instants[static_cast<size_t>(i)];
        const uint64_t time = static_cast<uint64_t>(std::max<int64_t>(0, instant.time_ns));
        EXPECT_EQ(carrier.events(i).time_unix_nano(), time);
        EXPECT_LE(carrier.start_time_unix_nano(), time);
        EXPECT_GE(carrier.end_time_unix_nano(), time);
        EXPECT_FALSE(carrier.events(i).name().empty());
        const auto attributes = AttributesOf(carrier.events(i).attributes());
        EXPECT_EQ(attributes.count("ferret.value"), instant.kind == InstantEvent::Kind::kCounter ? 1u : 0u);
        EXPECT_EQ(attributes.count("ferret.lost"), instant.kind == InstantEvent::Kind::kLoss ? 1u : 0u);
      }
    }
    if (!batch->memory.empty()) {
      const DecodedSpan& carrier = spans_[at++];
      EXPECT_EQ(carrier.name(), "Ferret Memory");
      ASSERT_EQ(static_cast<size_t>(carrier.events_size()), batch->memory.size());
      for (int i = 0; i < carrier.events_size(); ++i) {
        const MemoryEvent& memory = batch->memory[static_cast<size_t>(i)];
        EXPECT_EQ(AttributesOf(carrier.events(i).attributes()).at("ferret.memory.bytes"),
                  "i:" + std::to_string(memory.bytes));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRuns, testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace ferret::otlp
