// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Spans of chosen events, in both forms.

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "ferret/scope_details.h"
#include "tests/otlp/decoded.h"

namespace ferret::otlp {
namespace {

using Attributes = std::map<std::string, std::string>;

FunctionEvent Event(int64_t id, std::string_view name) {
  FunctionEvent event;
  event.id = id;
  event.name = name;
  event.start_ns = kStartNs + 1000;
  event.end_ns = kStartNs + 3000;
  event.thread = 1;
  return event;
}

// Of one batch, equal in both forms.
std::vector<DecodedSpan> Encoded(const EventBatch& batch) {
  Encoding<SpanEncoder> proto;
  Encoding<JsonEncoder> json;
  proto.AddBatch(batch);
  json.AddBatch(batch);
  const Request request = Decode(proto.Take());
  EXPECT_EQ(Difference(request, DecodeJson(json.Take())), "");
  return SpansOf(request);
}

TEST(Encoder, WritesExactlyThisLineForASmallRequest) {
  EventBatch batch;
  batch.threads.push_back({1, 0, 917, "main"});
  FunctionEvent event = Event(2, "aten::\"mm\"");
  event.parent_id = 1;
  event.device_resource_id = 917;
  event.sequence_nr = 41;
  event.fwd_thread = 1;
  event.forward_id = 1;
  batch.events = {event};
  Encoding<JsonEncoder> json;
  json.AddBatch(batch);
  const auto hex = [&](int64_t id) {
    char text[17];
    std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(json.ids.OfEvent(id)));
    return std::string(text);
  };
  const std::string trace = HexText({json.ids.trace_id().data(), 16});
  const std::string line = json.Take();
  const std::string spans = line.substr(0, line.find(",\"resource\":"));
  EXPECT_EQ(spans,
            "{\"resourceSpans\":[{\"scopeSpans\":[{\"scope\":{\"name\":\"ferret\",\"version\":\"" + std::string(kVersion) +
                "\"},\"spans\":[{\"traceId\":\"" + trace + "\",\"spanId\":\"" + hex(2) + "\",\"parentSpanId\":\"" +
                hex(1) + "\",\"links\":[{\"traceId\":\"" + trace + "\",\"spanId\":\"" + hex(1) +
                "\",\"attributes\":[{\"key\":\"ferret.link.type\",\"value\":{\"stringValue\":\"forward\"}}],"
                "\"flags\":257}],"
                "\"name\":\"aten::\\\"mm\\\"\",\"kind\":1,\"startTimeUnixNano\":\"1757000000123457789\","
                "\"endTimeUnixNano\":\"1757000000123459789\",\"attributes\":["
                "{\"key\":\"thread.id\",\"value\":{\"intValue\":\"917\"}},"
                "{\"key\":\"thread.name\",\"value\":{\"stringValue\":\"main\"}},"
                "{\"key\":\"ferret.sequence_nr\",\"value\":{\"intValue\":\"41\"}},"
                "{\"key\":\"ferret.thread\",\"value\":{\"intValue\":\"1\"}},"
                "{\"key\":\"ferret.fwd_thread\",\"value\":{\"intValue\":\"1\"}}],\"flags\":257}]}]");
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_LT(line.find(hex(2)), 1000u) << "a collector tells files apart by their first thousand bytes";
}

TEST(Encoder, APlainSpanHasNoAttributesAndTheRunAsItsParent) {
  EventBatch batch;
  batch.events = {Event(1, "op")};
  const std::vector<DecodedSpan> spans = Encoded(batch);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].attributes_size(), 0);
  Encoding<SpanEncoder> run;
  run.spans.AddRun(TestInfo());
  const DecodedSpan root = SpansOf(Decode(run.Take()))[0];
  EXPECT_EQ(spans[0].parent_span_id(), root.span_id());
  EXPECT_EQ(root.parent_span_id(), "");
  EXPECT_EQ(root.name(), "Ferret Run");
  EXPECT_EQ(root.start_time_unix_nano(), static_cast<uint64_t>(kStartNs));
}

TEST(Encoder, SaysEverythingThatIsKnownOfAnOperator) {
  ScopeDetails recorded;
  recorded.Tensor("float", {2, 3}, {3, 1}).Scalar(0.5).None().ScalarList({4, 5});
  recorded.Keyword("alpha", 2).Keyword("mode", "mean").Keyword("alpha", 3).Overload("out").Module("Net.fc");
  recorded.Frame("net.py(12): forward").Frame("main.py(3): <module>").Node(7, true);
  EventDetails details;
  details.recorded = recorded.bytes();
  details.flops = 60;
  details.cpu_memory_usage = -512;
  details.self_device_memory_usage = 1024;
  FunctionEvent event = Event(1, "aten::mm");
  event.scope = RecordScope::kBackwardFunction;
  event.is_async = event.is_truncated = event.is_legacy = true;
  event.details = &details;
  EventBatch batch;
  batch.events = {event};
  EXPECT_EQ(AttributesOf(Encoded(batch)[0].attributes()), (Attributes{
      {"ferret.scope", "s:backward_function"},
      {"ferret.is_async", "b:1"},
      {"ferret.is_truncated", "b:1"},
      {"ferret.is_legacy", "b:1"},
      {"ferret.flops", "i:60"},
      {"ferret.cpu_memory_usage", "i:-512"},
      {"ferret.self_device_memory_usage", "i:1024"},
      {"ferret.input_shapes", "s:[[2, 3], [], [], []]"},
      {"ferret.input_strides", "s:[[3, 1], [], [], []]"},
      {"ferret.input_types", "a:[s:float,s:Scalar,s:,s:ScalarList]"},
      {"ferret.concrete_inputs", "a:[s:,s:0.5,s:,s:[4, 5]]"},
      {"ferret.kwinputs.alpha", "i:2"},
      {"ferret.kwinputs.mode", "s:mean"},
      {"ferret.overload_name", "s:out"},
      {"ferret.module_hierarchy", "s:Net.fc"},
      {"ferret.node_id", "i:7"},
      {"ferret.is_remote", "b:1"},
      {"code.file.path", "s:net.py"},
      {"code.line.number", "i:12"},
      {"code.function.name", "s:forward"},
      {"code.stacktrace", "s:net.py(12): forward\nmain.py(3): <module>"},
  }));
}

TEST(Encoder, AStepHasItsNumber) {
  EventDetails details;
  details.trace_name = "ProfilerStep#17";
  FunctionEvent event = Event(1, "ProfilerStep*");
  event.scope = RecordScope::kUserScope;
  event.is_synthesized = true;
  event.details = &details;
  EventBatch batch;
  batch.events = {event};
  const DecodedSpan span = Encoded(batch)[0];
  EXPECT_EQ(span.name(), "ProfilerStep*");
  EXPECT_EQ(AttributesOf(span.attributes()),
            (Attributes{{"ferret.scope", "s:user_scope"}, {"ferret.is_synthesized", "b:1"}, {"ferret.step", "i:17"}}));
}

TEST(Encoder, AKernelIsUnderTheScopeThatLaunchedIt) {
  FunctionEvent op = Event(1, "aten::mm");
  FunctionEvent kernel = Event(2, "sgemm");
  kernel.device_type = DeviceType::kCuda;
  kernel.device_index = 1;
  kernel.device_resource_id = 7;
  kernel.activity_type = ActivityType::kKernel;
  const DeviceLaunch launch{1, 1, 917, 33, kStartNs + 1, kStartNs + 2, 300, 5};
  EventDetails details;
  details.launch = &launch;
  kernel.details = &details;
  EventBatch batch;
  batch.events = {op, kernel};
  const std::vector<DecodedSpan> spans = Encoded(batch);
  EXPECT_EQ(spans[1].parent_span_id(), spans[0].span_id());
  EXPECT_EQ(AttributesOf(spans[1].attributes()), (Attributes{
      {"ferret.activity", "s:kernel"},
      {"ferret.device_type", "s:cuda"},
      {"ferret.device", "i:1"},
      {"ferret.stream", "i:7"},
      {"thread.name", "s:stream 7"},
      {"ferret.correlation_id", "i:33"},
      {"ferret.context", "i:5"},
      {"ferret.clock_error_ns", "i:300"},
      {"ferret.launch.start_unix_nano", "i:" + std::to_string(kStartNs + 1)},
      {"ferret.launch.end_unix_nano", "i:" + std::to_string(kStartNs + 2)},
  }));
}

TEST(Encoder, TimesThatCannotBeSaidAreClampedAndNoSpanEndsBeforeItsStart) {
  FunctionEvent before = Event(1, "op"), backwards = Event(2, "op"), last = Event(3, "op");
  before.start_ns = std::numeric_limits<int64_t>::min();
  before.end_ns = -1;
  backwards.end_ns = backwards.start_ns - 5;
  last.start_ns = last.end_ns = std::numeric_limits<int64_t>::max();
  EventBatch batch;
  batch.events = {before, backwards, last};
  const std::vector<DecodedSpan> spans = Encoded(batch);
  EXPECT_EQ(spans[0].start_time_unix_nano(), 0u);
  EXPECT_EQ(spans[0].end_time_unix_nano(), 0u);
  EXPECT_EQ(spans[1].end_time_unix_nano(), spans[1].start_time_unix_nano());
  EXPECT_EQ(spans[2].end_time_unix_nano(), uint64_t{std::numeric_limits<int64_t>::max()});
}

TEST(Encoder, NamesThatOtlpCannotHoldHaveTheirBytesBeside) {
  EventBatch batch;
  batch.events = {Event(1, "bad\xff"), Event(2, ""), Event(3, std::string_view("nul\0", 4))};
  const std::vector<DecodedSpan> spans = Encoded(batch);
  EXPECT_EQ(spans[0].name(), "bad\xef\xbf\xbd");
  EXPECT_EQ(AttributesOf(spans[0].attributes())["ferret.name_hex"], "s:626164ff");
  EXPECT_EQ(spans[1].name(), "(empty)");
  EXPECT_EQ(AttributesOf(spans[1].attributes())["ferret.name_hex"], "s:");
  EXPECT_EQ(spans[2].name(), std::string("nul\0", 4));
  EXPECT_EQ(spans[2].attributes_size(), 0);
}

TEST(Encoder, AThreadGetsItsNewName) {
  EventBatch batch;
  FunctionEvent event = Event(1, "op");
  event.device_resource_id = 917;
  batch.events = {event};
  Encoding<SpanEncoder> encoding;
  for (const char* name : {"first", "second"}) {
    batch.threads = {{1, 0, 917, name}};
    encoding.AddBatch(batch);
  }
  const std::vector<DecodedSpan> spans = SpansOf(Decode(encoding.Take()));
  EXPECT_EQ(AttributesOf(spans[0].attributes()).at("thread.name"), "s:first");
  EXPECT_EQ(AttributesOf(spans[1].attributes()).at("thread.name"), "s:second");
}

TEST(Encoder, WithoutSpansThereIsNothingToSend) {
  Encoding<SpanEncoder> proto;
  Encoding<JsonEncoder> json;
  EXPECT_EQ(proto.encoder.Finish().bytes, "");
  EXPECT_EQ(json.encoder.Finish().bytes, "");
  EXPECT_EQ(proto.encoder.Finish().spans, 0u);
}

TEST(Encoder, ARequestOfMegabytesHasItsLengthsRight) {
  EventBatch batch;
  const std::string name(3000, 'n');
  for (int64_t i = 1; i <= 2000; ++i) batch.events.push_back(Event(i, name));
  Encoding<SpanEncoder> encoding;
  for (int round = 0; round < 2; ++round) {  // the second time in a buffer that was used before
    encoding.AddBatch(batch);
    EXPECT_EQ(encoding.encoder.Finish().spans, 2000u);
    const std::string bytes = encoding.Take();
    EXPECT_GT(bytes.size(), 6'000'000u);
    EXPECT_EQ(SpansOf(Decode(bytes)).size(), 2000u);
  }
}

TEST(Encoder, TheRecordSaysWhatWasLost) {
  Encoding<SpanEncoder> encoding;
  ExportProgress progress;
  progress.events_built = 12;
  progress.lost[LossReason::kPoolExhausted] = 3;
  progress.device.asked = 5;
  progress.device[DeviceLoss::kCapture] = 2;
  encoding.spans.AddRecord(progress, 12, kStartNs + 5, [](auto*) {});
  const DecodedSpan span = SpansOf(Decode(encoding.Take()))[0];
  Attributes attributes = AttributesOf(span.attributes());
  EXPECT_EQ(span.name(), "Ferret Record");
  EXPECT_EQ(attributes["ferret.events"], "i:12");
  EXPECT_EQ(attributes["ferret.lost.pool_exhausted"], "i:3");
  EXPECT_EQ(attributes["ferret.device_scopes.lost.capture"], "i:2");
}

}  // namespace
}  // namespace ferret::otlp
