// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What becomes of spans that say more than a user wants of them, in both forms.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ferret/scope_details.h"
#include "runtime/text/utf8_text.h"
#include "tests/otlp/decoded.h"
#include "tests/otlp/random_run.h"

namespace ferret::otlp {
namespace {

// Equal in both forms.
std::vector<DecodedSpan> Encoded(const EventBatch& batch, const AttributeLimits& limits,
                                 const ResourceEnvironment& environment = {}) {
  Encoding<SpanEncoder> proto(TestInfo(), environment, limits);
  Encoding<JsonEncoder> json(TestInfo(), environment, limits);
  proto.AddBatch(batch);
  json.AddBatch(batch);
  const Request request = Decode(proto.Take());
  EXPECT_EQ(Difference(request, DecodeJson(json.Take())), "");
  return SpansOf(request);
}

AttributeLimits Count(int64_t count) {
  AttributeLimits limits;
  limits.count = count;
  return limits;
}
AttributeLimits Characters(size_t characters) {
  AttributeLimits limits;
  limits.value_chars = characters;
  return limits;
}

FunctionEvent Event(std::string_view name = "aten::mm") {
  FunctionEvent event;
  event.id = 1;
  event.name = name;
  event.start_ns = kStartNs;
  event.end_ns = kStartNs + 1;
  event.thread = 1;
  event.device_resource_id = 917;
  return event;
}

// Two attributes of its thread and three of its own.
EventBatch BackwardOp() {
  EventBatch batch;
  batch.threads.push_back({1, 0, 917, "main"});
  FunctionEvent event = Event();
  event.sequence_nr = 41;
  event.fwd_thread = 1;
  batch.events = {event};
  return batch;
}

TEST(SpanLimits, TheFirstAttributesStayAndTheOthersAreCounted) {
  const std::vector<std::string> keys = {"thread.id", "thread.name", "ferret.sequence_nr", "ferret.thread",
                                         "ferret.fwd_thread"};
  for (int limit = 0; limit <= 6; ++limit) {
    const DecodedSpan span = Encoded(BackwardOp(), Count(limit))[0];
    ASSERT_EQ(span.attributes_size(), std::min(limit, 5));
    for (int i = 0; i < span.attributes_size(); ++i) EXPECT_EQ(span.attributes(i).key(), keys[static_cast<size_t>(i)]);
    EXPECT_EQ(span.dropped_attributes_count(), static_cast<uint32_t>(5 - std::min(limit, 5)));
  }
}

TEST(SpanLimits, EachSpanOfABatchHasItsOwnRoom) {
  EventBatch batch = BackwardOp();
  FunctionEvent plain = Event();
  plain.id = 2;
  FunctionEvent elsewhere = Event();
  elsewhere.id = 3;
  elsewhere.device_resource_id = 0;
  batch.events.push_back(plain);
  batch.events.push_back(elsewhere);
  batch.events.push_back(batch.events[0]);
  const std::vector<DecodedSpan> spans = Encoded(batch, Count(4));
  const uint32_t dropped[] = {1, 0, 0, 1};
  const int kept[] = {4, 2, 0, 4};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(spans[i].dropped_attributes_count(), dropped[i]) << i;
    EXPECT_EQ(spans[i].attributes_size(), kept[i]) << i;
  }
}

TEST(SpanLimits, DeviceWorkIsLimitedToo) {
  EventBatch batch;
  FunctionEvent kernel = Event("gemm");
  kernel.device_type = DeviceType::kCuda;
  batch.events = {kernel, kernel};
  for (const DecodedSpan& span : Encoded(batch, Count(3))) {
    EXPECT_EQ(span.attributes_size(), 3);
    EXPECT_EQ(span.dropped_attributes_count(), 2u);
  }
}

TEST(SpanLimits, TheRunAndTheRecordAreSpansToo) {
  SessionInfo info = TestInfo();
  info.options = {{"FERRET_A", "abcdef"}, {"FERRET_B", "x"}, {"FERRET_C", "y"}};
  AttributeLimits limits = Count(2);
  limits.value_chars = 3;
  Encoding<SpanEncoder> proto(info, {}, limits);
  proto.spans.AddRun(info);
  proto.spans.AddRecord({}, 0, kStartNs, [](ProtoAttributes*) {});
  const std::vector<DecodedSpan> spans = SpansOf(Decode(proto.Take()));
  EXPECT_EQ(AttributesOf(spans[0].attributes()),
            (std::map<std::string, std::string>{{"ferret.option.FERRET_A", "s:abc"}, {"ferret.option.FERRET_B", "s:x"}}));
  EXPECT_EQ(spans[0].dropped_attributes_count(), 1u);
  EXPECT_EQ(spans[1].attributes_size(), 2);
  EXPECT_GT(spans[1].dropped_attributes_count(), 0u);
}

TEST(SpanLimits, TextsAreCutBetweenCharactersNotBytes) {
  // One to four bytes each, and two bytes that are no UTF-8.
  const std::vector<std::string> characters = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xff", "\xe2"};
  std::string text;
  for (const std::string& character : characters) text += character;
  ScopeDetails recorded;
  recorded.Keyword("mode", text);
  EventDetails details;
  details.recorded = recorded.bytes();
  FunctionEvent event = Event();
  event.details = &details;
  EventBatch batch;
  batch.events = {event};
  std::string expected;
  for (size_t most = 0; most <= characters.size() + 1; ++most) {
    const DecodedSpan span = Encoded(batch, Characters(most))[0];
    EXPECT_EQ(AttributesOf(span.attributes()).at("ferret.kwinputs.mode"), "s:" + expected) << most;
    EXPECT_EQ(span.dropped_attributes_count(), 0u);
    if (most < characters.size()) AppendUtf8(characters[most], &expected);
  }
}

TEST(SpanLimits, EachTextOfAListIsCut) {
  ScopeDetails recorded;
  recorded.Tensor("float", {2, 3}, {3, 1}).Scalar(0.5);
  EventDetails details;
  details.recorded = recorded.bytes();
  FunctionEvent event = Event();
  event.details = &details;
  EventBatch batch;
  batch.events = {event};
  const auto attributes = AttributesOf(Encoded(batch, Characters(3))[0].attributes());
  EXPECT_EQ(attributes.at("ferret.input_types"), "a:[s:flo,s:Sca]");
  EXPECT_EQ(attributes.at("ferret.input_shapes"), "s:[[2");
}

TEST(SpanLimits, TextsOfSpanEventsAreCutAndTheirNumberIsNot) {
  EventBatch batch;
  MemoryEvent event;
  event.time_ns = kStartNs;
  event.bytes = 64;
  event.device_type = DeviceType::kCuda;
  batch.memory = {event};
  AttributeLimits limits = Characters(2);
  limits.count = 0;
  const std::vector<DecodedSpan> spans = Encoded(batch, limits);
  ASSERT_EQ(spans[0].events_size(), 1);
  const auto attributes = AttributesOf(spans[0].events(0).attributes());
  EXPECT_EQ(attributes.at("ferret.device_type"), "s:cu");
  EXPECT_EQ(attributes.at("ferret.memory.bytes"), "i:64");
}

TEST(SpanLimits, NamesAndTheResourceHaveNone) {
  EventBatch batch;
  FunctionEvent event = Event("a long name\xff");
  event.device_resource_id = 0;
  batch.events = {event};
  AttributeLimits limits = Characters(1);
  limits.count = 0;
  Encoding<SpanEncoder> proto(TestInfo(), {}, limits);
  proto.AddBatch(batch);
  const Request request = Decode(proto.Take());
  const DecodedSpan span = SpansOf(request)[0];
  EXPECT_EQ(span.name(), "a long name\xef\xbf\xbd");
  EXPECT_EQ(AttributesOf(span.attributes()).at("ferret.name_hex"), "s:61206c6f6e67206e616d65ff");
  EXPECT_EQ(AttributesOf(request.resource_spans(0).resource().attributes()).at("host.name"), "s:node-b");
}

TEST(SpanLimits, LimitsThatAreFarAwayChangeNothing) {
  AttributeLimits far = Characters(1'000'000);
  far.count = 1000;
  Encoding<SpanEncoder> with(TestInfo(), {}, far), without;
  Encoding<JsonEncoder> json_with(TestInfo(), {}, far), json_without;
  RandomRun run(20261130);  // whose names the batches point into
  for (const auto& batch : run.Batches(4, 300)) {
    with.AddBatch(*batch);
    without.AddBatch(*batch);
    json_with.AddBatch(*batch);
    json_without.AddBatch(*batch);
  }
  EXPECT_TRUE(with.Take() == without.Take());
  EXPECT_TRUE(json_with.Take() == json_without.Take());
}

// Of every span of any run: what is there and what was dropped are what there was, and no text is too long.
TEST(SpanLimits, HoldForAnyRun) {
  RandomRun run(7);
  const auto batches = run.Batches(3, 300);
  for (const int64_t most : {0, 1, 3, 8}) {
    AttributeLimits limits = Count(most);
    limits.value_chars = static_cast<size_t>(2 * most);
    for (const auto& batch : batches) {
      const std::vector<DecodedSpan> all = Encoded(*batch, {});
      const std::vector<DecodedSpan> cut = Encoded(*batch, limits);
      ASSERT_EQ(all.size(), cut.size());
      for (size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(static_cast<uint32_t>(all[i].attributes_size()),
                  static_cast<uint32_t>(cut[i].attributes_size()) + cut[i].dropped_attributes_count());
        int counted = 0;
        for (const auto& attribute : cut[i].attributes()) {
          if (attribute.key() == kNameHexKey) continue;
          ++counted;
          const std::string& text = attribute.value().string_value();
          const auto is_first = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; };
          EXPECT_LE(std::count_if(text.begin(), text.end(), is_first), 2 * most) << attribute.key();
        }
        EXPECT_LE(counted, most);
      }
    }
  }
}

}  // namespace
}  // namespace ferret::otlp
