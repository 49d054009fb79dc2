// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Spans whose parts are as long as a block, or a byte more or less. A span is written in blocks once its name is known, so
// that the first span of a name is written in one way and the second, which has to have the same bytes, in the other.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/otlp/decoded.h"

namespace ferret::otlp {
namespace {

FunctionEvent Event(const std::string& name, uint32_t name_id) {
  FunctionEvent event;
  event.id = 7;
  event.parent_id = 3;
  event.name = name;
  event.name_id = name_id;
  event.start_ns = kStartNs + 1000;
  event.end_ns = kStartNs + 3000;
  event.thread = 1;
  return event;
}

class SpansOfAllSizes : public testing::Test {
 protected:
  void NameThread(size_t chars) {
    EventBatch batch;
    batch.threads.push_back({1, 0, 4000, std::string(chars, 't')});
    proto_.spans.Note(batch);
  }
  // Twice, with equal bytes. Between others, so that what is written too far would be seen.
  void Expect(const FunctionEvent& event) {
    proto_.encoder.Clear();
    proto_.spans.AddEvent(event);
    const std::string first(proto_.encoder.last());
    proto_.spans.AddEvent(event);
    const std::string second(proto_.encoder.last());
    ASSERT_EQ(first, second);
    const std::vector<DecodedSpan> spans = SpansOf(Decode(proto_.Take()));
    ASSERT_EQ(spans.size(), 2u);
    for (const DecodedSpan& span : spans) {
      EXPECT_EQ(span.name(), event.name);
      EXPECT_EQ(span.start_time_unix_nano(), static_cast<uint64_t>(event.start_ns));
      EXPECT_EQ(span.end_time_unix_nano(), static_cast<uint64_t>(event.end_ns));
      EXPECT_EQ(span.links_size(), event.forward_id > 0 ? 1 : 0);
      EXPECT_EQ(span.flags(), kSpanFlags);
    }
  }

  Encoding<SpanEncoder> proto_;
  uint32_t name_id_ = 0;
};

TEST_F(SpansOfAllSizes, OfNamesAroundTheSizesOfBlocks) {
  for (size_t chars = 1; chars <= 300; ++chars) {
    SCOPED_TRACE(chars);
    Expect(Event(std::string(chars, 'n'), ++name_id_));
  }
}

TEST_F(SpansOfAllSizes, OfNamesTooLongToBeKept) {
  for (const size_t chars : {1023u, 1024u, 1025u, 16400u}) {
    SCOPED_TRACE(chars);
    Expect(Event(std::string(chars, 'n'), ++name_id_));
  }
}

TEST_F(SpansOfAllSizes, OfThreadsWhoseNamesMakeTheLengthABytesLonger) {
  std::vector<size_t> sizes;
  for (size_t chars = 0; chars <= 130; ++chars) sizes.push_back(chars);
  for (size_t chars = 16100; chars <= 16400; ++chars) sizes.push_back(chars);
  const std::string name = "aten::mm";
  for (const size_t chars : sizes) {
    SCOPED_TRACE(chars);
    NameThread(chars);
    FunctionEvent event = Event(name, ++name_id_);
    event.device_resource_id = 4000;
    Expect(event);
    event.sequence_nr = 1 << 20;
    event.forward_id = 2;
    event.fwd_thread = 9;
    event.name_id = ++name_id_;
    Expect(event);
  }
}

TEST_F(SpansOfAllSizes, OfNamesThatHaveTheirBytesBeside) {
  for (size_t chars = 1; chars <= 60; ++chars) {
    SCOPED_TRACE(chars);
    const std::string name(chars, '\xff');
    const FunctionEvent event = Event(name, ++name_id_);
    proto_.encoder.Clear();
    proto_.spans.AddEvent(event);
    const std::string first(proto_.encoder.last());
    proto_.spans.AddEvent(event);
    EXPECT_EQ(first, proto_.encoder.last());
    EXPECT_EQ(AttributesOf(SpansOf(Decode(proto_.Take())).at(1).attributes()).at("ferret.name_hex"),
              "s:" + HexText(name));
  }
}

// A reason that SaysNothing forgets would be an attribute that no span has.
TEST(EventAttributes, SaysNothingExactlyOfWhatHasNone) {
  EventDetails details;
  details.flops = 5;
  const std::vector<std::function<void(FunctionEvent*)>> reasons = {
      [](FunctionEvent*) {},
      [](FunctionEvent* event) { event->is_user_annotation = true; },
      [](FunctionEvent* event) { event->sequence_nr = 0; },
      [](FunctionEvent* event) { event->fwd_thread = 1; },
      [](FunctionEvent* event) { event->scope = RecordScope::kUserScope; },
      [](FunctionEvent* event) { event->is_async = true; },
      [](FunctionEvent* event) { event->is_truncated = true; },
      [](FunctionEvent* event) { event->is_synthesized = true; },
      [](FunctionEvent* event) { event->is_legacy = true; },
      [](FunctionEvent* event) { event->is_python_function = true; },
      [](FunctionEvent* event) { event->device_type = DeviceType::kCuda; },
      [&](FunctionEvent* event) { event->details = &details; },
  };
  for (size_t i = 0; i < reasons.size(); ++i) {
    FunctionEvent event = Event("aten::mm", 1);
    reasons[i](&event);
    ProtoAttributes attributes(kSpanAttributes);
    DescribeEvent(event, &attributes);
    EXPECT_EQ(SaysNothing(event), attributes.empty()) << i;
    EXPECT_EQ(SaysNothing(event), i < 2) << i;
  }
}

}  // namespace
}  // namespace ferret::otlp
