// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Details and memory come to the scopes that they belong to.

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "ferret/scope_details.h"
#include "tests/drain/event_tree.h"

namespace ferret::internal {
namespace {

std::string Bytes(ScopeDetails& details) { return std::string(details.bytes()); }

TEST(Details, DescribeTheInnermostOpenScope) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const std::string outer_bytes = Bytes(ScopeDetails().Overload("out"));
  const std::string inner_bytes = Bytes(ScopeDetails().Tensor("float", {2, 3}).Scalar(1.5));
  const uint32_t outer = thread.Begin(10, "outer");
  const uint32_t inner = thread.Begin(20, "inner");
  thread.Details(21, inner_bytes);
  thread.End(30, inner);
  thread.Details(31, outer_bytes);
  thread.Scope(32, 33, "plain");
  harness.Pass(34);
  thread.End(40, outer);
  harness.Finish(50);
  ASSERT_NE(harness.sink.Named("inner").details, nullptr);
  EXPECT_EQ(harness.sink.Named("inner").details->recorded, inner_bytes);
  ASSERT_NE(harness.sink.Named("outer").details, nullptr);
  EXPECT_EQ(harness.sink.Named("outer").details->recorded, outer_bytes);
  EXPECT_EQ(harness.sink.Named("plain").details, nullptr);
}

TEST(Details, OfSeveralRecordsAddUpAndSurviveANewChunk) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t scope = thread.Begin(10, "scope");
  thread.Details(11, Bytes(ScopeDetails().Overload("a")));
  thread.CutChunk();
  harness.Pass(12);
  thread.Details(13, Bytes(ScopeDetails().Module("net.layer")));
  thread.End(20, scope);
  harness.Finish(30);
  const FunctionEvent& event = harness.sink.Named("scope");
  EXPECT_EQ(event.overload_name(), "a");
  EXPECT_EQ(event.module_hierarchy(), "net.layer");
}

TEST(Details, WithoutAScopeDescribeNobody) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(1, 2, "before");
  thread.Details(3, "x");
  thread.Scope(4, 5, "after");
  harness.Finish(10);
  EXPECT_EQ(harness.sink.Named("before").details, nullptr);
  EXPECT_EQ(harness.sink.Named("after").details, nullptr);
}

TEST(Details, WhoseLengthIsWrongEndWithTheirRecord) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t scope = thread.Begin(1, "scope");
  thread.Write({RecordHeader(RecordType::kDetails, 24, kNoFlags, 0xffffffff), 2, 0x4141414141414141});
  thread.End(3, scope);
  harness.Finish(10);
  ASSERT_NE(harness.sink.Named("scope").details, nullptr);
  EXPECT_EQ(harness.sink.Named("scope").details->recorded, "AAAAAAAA");
}

TEST(Details, OfABackwardOpThatWaitsForItsForwardOpComeWithIt) {
  DrainHarness harness(2);
  // Thread 2 has read on while the forward op on thread 1 is not there yet.
  const uint32_t backward = harness.thread(2).BeginOp(50, "MulBackward0", {7, 1, RecordScope::kBackwardFunction});
  harness.thread(2).Details(51, Bytes(ScopeDetails().Overload("waited")));
  harness.thread(2).End(60, backward);
  harness.thread(1).Scope(10, 20, "first");
  harness.Pass(15);
  harness.thread(1).OpScope(30, 40, "aten::mul", {7, 0, RecordScope::kFunction});
  harness.Finish(100);
  EXPECT_EQ(harness.sink.Named("MulBackward0").overload_name(), "waited");
  EXPECT_EQ(harness.sink.links.size(), 1u);
}

TEST(Details, GiveAnOperatorItsFlopsOnlyWhenAsked) {
  for (const bool asked : {true, false}) {
    EventBuilder::Config config;
    config.with_flops = asked;
    DrainHarness harness(1, config);
    ThreadWriter& thread = harness.thread(1);
    const uint32_t mm = thread.Begin(1, "aten::mm");
    thread.Details(2, Bytes(ScopeDetails().Tensor("float", {3, 4}).Tensor("float", {4, 5})));
    thread.End(3, mm);
    const uint32_t own = thread.Begin(4, "own kernel");
    thread.Details(5, Bytes(ScopeDetails().Flops(99)));
    thread.End(6, own);
    harness.Finish(10);
    EXPECT_EQ(harness.sink.Named("aten::mm").flops(), asked ? 2 * 3 * 4 * 5 : 0);
    EXPECT_EQ(harness.sink.Named("own kernel").flops(), 99) << "what a program says itself is kept";
  }
}

TEST(Memory, BelongsToTheScopesOpenOnItsOwnThread) {
  DrainHarness harness(2);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t outer = thread.Begin(10, "outer");
  thread.Memory(11, 100);
  const uint32_t inner = thread.Begin(12, "inner");
  thread.Memory(13, 1000);
  thread.Memory(14, 64, DeviceType::kCuda);
  thread.Memory(15, -300);
  harness.thread(2).Memory(15, 5000);  // at the same time, and of no scope
  thread.End(20, inner);
  thread.Memory(21, -50);
  thread.End(30, outer);
  harness.Finish(40);
  const FunctionEvent& in = harness.sink.Named("inner");
  EXPECT_EQ(in.cpu_memory_usage(), 700);
  EXPECT_EQ(in.self_cpu_memory_usage(), 700);
  EXPECT_EQ(in.device_memory_usage(), 64);
  const FunctionEvent& out = harness.sink.Named("outer");
  EXPECT_EQ(out.cpu_memory_usage(), 750);
  EXPECT_EQ(out.self_cpu_memory_usage(), 50);
  EXPECT_EQ(out.device_memory_usage(), 64);
  EXPECT_EQ(out.self_device_memory_usage(), 0);

  ASSERT_EQ(harness.sink.memory.size(), 6u);
  EXPECT_EQ(harness.sink.count, 8u) << "each is an attempt";
  EXPECT_EQ(harness.builder().built(), 8u);
  for (const MemoryEvent& event : harness.sink.memory) {
    if (event.thread == 2) {
      EXPECT_EQ(event.scope_id, 0);
      EXPECT_EQ(event.bytes, 5000);
    } else {
      EXPECT_EQ(event.scope_id, event.time_ns > 11 && event.time_ns < 20 ? in.id : out.id);
    }
    EXPECT_EQ(event.address, 0x7f00u);
    EXPECT_EQ(event.total_allocated, 1000);
    EXPECT_EQ(event.total_reserved, 2000);
    EXPECT_EQ(event.device_index, event.device_type == DeviceType::kCpu ? -1 : 3);
  }
}

TEST(Memory, ThatWasRefusedIsNobodysUsage) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  const uint32_t scope = thread.Begin(1, "scope");
  thread.Memory(2, 1 << 30, DeviceType::kCuda, true);
  thread.End(3, scope);
  harness.Finish(10);
  ASSERT_EQ(harness.sink.memory.size(), 1u);
  EXPECT_TRUE(harness.sink.memory[0].out_of_memory);
  EXPECT_EQ(harness.sink.memory[0].scope_id, harness.sink.Named("scope").id);
  EXPECT_EQ(harness.sink.Named("scope").device_memory_usage(), 0);
}

TEST(Memory, OfRandomTreesAddsUpToItsRecords) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    DrainHarness harness(1);
    ThreadWriter& thread = harness.thread(1);
    std::vector<uint32_t> open;
    int64_t owned = 0;
    uint64_t now = 1;
    for (int i = 0; i < 300; ++i) {
      ++now;
      switch (random() % 3) {
        case 0:
          open.push_back(thread.Begin(now, "scope"));
          break;
        case 1:
          if (open.empty()) break;
          thread.End(now, open.back());
          open.pop_back();
          break;
        default: {
          const int64_t bytes = static_cast<int64_t>(random() % 1000) - 500;
          thread.Memory(now, bytes);
          if (!open.empty()) owned += bytes;
        }
      }
      if (random() % 20 == 0) harness.Pass(now);
    }
    harness.Finish(now + 1);
    int64_t self = 0, roots = 0;
    for (const FunctionEvent& event : harness.sink.events) {
      self += event.self_cpu_memory_usage();
      if (event.parent_id == 0) roots += event.cpu_memory_usage();
    }
    ASSERT_EQ(self, owned) << seed;
    ASSERT_EQ(roots, owned) << seed;
  }
}

TEST(Names, OfStepsThatTheProgramAnnotatesAreOneToAverages) {
  DrainHarness harness(1);
  ThreadWriter& thread = harness.thread(1);
  thread.Scope(1, 2, "ProfilerStep#41", kUserAnnotation);
  thread.Scope(3, 4, "ProfilerStep#42");
  harness.Finish(10);
  EXPECT_EQ(harness.sink.Named("ProfilerStep*").trace_name(), "ProfilerStep#41");
  EXPECT_EQ(harness.sink.Named("ProfilerStep*").name_id, NameId("ProfilerStep*"));
  EXPECT_EQ(harness.sink.Named("ProfilerStep#42").trace_name(), "ProfilerStep#42") << "no annotation, no step";
}

}  // namespace
}  // namespace ferret::internal
