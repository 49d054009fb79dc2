// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// From recording calls to an EventList in the same process.

#include "ferret/collected_events.h"

#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "ferret/c_api.h"
#include "ferret/scope_details.h"
#include "tests/session/session_kit.h"

namespace ferret {
namespace {

Options WithMemory(const std::string& exporter = "memory") {
  Options options = TestOptions();
  options.exporters = exporter;
  return options;
}

const FunctionEvent* Find(const EventList& list, std::string_view name) {
  for (const FunctionEvent& event : list) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

TEST(CollectedEvents, HaveTheTreeAndWhatWasAttached) {
  Options options = WithMemory();
  options.record_shapes = options.with_flops = options.profile_memory = true;
  ASSERT_TRUE(StartSession(options, {}).ok());
  EXPECT_TRUE(WantsShapes());
  EXPECT_TRUE(WantsMemory());
  EXPECT_FALSE(WantsStacks());
  {
    FERRET_ANNOTATION("step");
    {
      FERRET_OP_SCOPE("aten::mm", ForwardOp(3));
      Attach(ScopeDetails().Tensor("float", {2, 3}).Tensor("float", {3, 4}).Overload("out"));
      RecordAllocation({&options, 4096, 10'000, 20'000});
    }
    RecordAllocation({&options, -1024});
    RecordOutOfMemory({nullptr, 1 << 30, 0, 0, DeviceType::kCuda, 0});
  }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_FALSE(WantsShapes());
  const CollectedEvents run = TakeCollectedEvents();
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.events_not_kept, 0u);
  const FunctionEvent* const mm = Find(run.events, "aten::mm");
  const FunctionEvent* const step = Find(run.events, "step");
  ASSERT_NE(mm, nullptr);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(mm->cpu_parent, step);
  EXPECT_EQ(mm->sequence_nr, 3);
  EXPECT_EQ(mm->input_shapes(), (std::vector<std::vector<int64_t>>{{2, 3}, {3, 4}}));
  EXPECT_EQ(mm->overload_name(), "out");
  EXPECT_EQ(mm->flops(), 2 * 2 * 3 * 4);
  EXPECT_EQ(mm->cpu_memory_usage(), 4096);
  EXPECT_EQ(step->cpu_memory_usage(), 3072);
  EXPECT_EQ(step->self_cpu_memory_usage(), -1024);
  EXPECT_NE(Find(run.events, "[OutOfMemory]"), nullptr);
  EXPECT_EQ(step->cpu_time_total_ns(), step->self_cpu_time_total_ns() + mm->cpu_time_total_ns());
  const std::string table = run.events.key_averages().table();
  EXPECT_NE(table.find("aten::mm"), std::string::npos);
  EXPECT_EQ(TakeCollectedEvents().events.size(), 0u) << "taken";
}

TEST(CollectedEvents, SayWhatTheBoundCutOff) {
  ASSERT_TRUE(StartSession(WithMemory("memory?max_events=10"), {}).ok());
  for (int i = 0; i < 25; ++i) { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  const CollectedEvents run = TakeCollectedEvents();
  EXPECT_EQ(run.events.size(), 10u);
  EXPECT_EQ(run.events_not_kept, 15u);
  EXPECT_FALSE(run.complete);
}

TEST(CollectedEvents, AreBoundedInBytesToo) {
  ASSERT_TRUE(StartSession(WithMemory("memory?max_events=1000"), {}).ok());
  ScopeDetails details;
  for (int i = 0; i < 200; ++i) {
    FERRET_SCOPE("scope");
    details.Clear();
    details.Module(std::string(10'000, 'm') + std::to_string(i));
    Attach(details);
  }
  ASSERT_TRUE(Stop60().ok());
  const CollectedEvents run = TakeCollectedEvents();
  EXPECT_EQ(run.events.size() + run.events_not_kept, 200u);
  EXPECT_GT(run.events.size(), 20u);
  EXPECT_LT(run.events.size(), 40u);
}

TEST(CollectedEvents, StayWhenTheNextSessionDoesNotStart) {
  ASSERT_TRUE(StartSession(WithMemory(), {}).ok());
  { FERRET_SCOPE("scope"); }
  ASSERT_TRUE(Stop60().ok());
  EXPECT_FALSE(StartSession(WithMemory("memory,no_such_exporter"), {}).ok());
  EXPECT_EQ(TakeCollectedEvents().events.size(), 1u);
}

TEST(CollectedEvents, ComeThroughTheCApiWithEverythingThatItCanSay) {
  Options options = WithMemory();
  options.record_shapes = options.with_stack = true;
  ASSERT_TRUE(StartSession(options, {}).ok());
  EXPECT_EQ(ferret_wants_shapes(), 1);
  EXPECT_EQ(ferret_wants_stacks(), 1);
  EXPECT_EQ(ferret_wants_memory(), 0);
  ferret_details* const details = ferret_details_new();
  for (int round = 0; round < 2; ++round) {
    const ferret_scope scope = ferret_op_begin("op", FERRET_STRLEN, round, 0, 0);
    const int64_t sizes[] = {2, 3 + round}, strides[] = {3, 1}, list[] = {7, 8};
    ferret_details_tensor(details, "double", FERRET_STRLEN, sizes, 2, strides);
    ferret_details_tensor(details, nullptr, 0, nullptr, 5, nullptr);
    ferret_details_int(details, std::numeric_limits<int64_t>::min());
    ferret_details_double(details, 0.5);
    ferret_details_bool(details, 2);
    ferret_details_text(details, "text", FERRET_STRLEN);
    ferret_details_int_list(details, list, 2);
    ferret_details_none(details);
    ferret_details_keyword_int(details, "stream", 7);
    ferret_details_keyword_double(details, "scale", 0.25);
    ferret_details_keyword_text(details, "mode", "fast", FERRET_STRLEN);
    ferret_details_overload(details, "Tensor", FERRET_STRLEN);
    ferret_details_frame(details, "inner", FERRET_STRLEN);
    ferret_details_frame(details, "outer", FERRET_STRLEN);
    ferret_details_module(details, "net.0", FERRET_STRLEN);
    ferret_details_flops(details, 1234);
    ferret_details_node(details, 5, 1);
    ferret_details_attach(details);
    ferret_allocation(&scope, 64, 0, 0, 1, 0);
    ferret_scope_end(scope);
  }
  ferret_out_of_memory(10, 0, 0, 0, -1);
  ferret_details_free(details);
  // Each takes nothing for an answer.
  ferret_details_int(nullptr, 1);
  ferret_details_attach(nullptr);
  ferret_details_free(nullptr);
  ASSERT_TRUE(Stop60().ok());

  const CollectedEvents run = TakeCollectedEvents();
  ASSERT_EQ(run.events.size(), 3u);
  const FunctionEvent& event = run.events[1];
  const Tensor tensor{"double", {2, 4}, {3, 1}};
  EXPECT_EQ(event.inputs(),
            (std::vector<Value>{tensor, Tensor{}, std::numeric_limits<int64_t>::min(), 0.5, true, std::string("text"),
                                std::vector<int64_t>{7, 8}, std::monostate()}));
  EXPECT_EQ(event.kwinputs(), (std::map<std::string, Value>{
                                  {"stream", int64_t{7}}, {"scale", 0.25}, {"mode", std::string("fast")}}));
  EXPECT_EQ(event.overload_name(), "Tensor");
  EXPECT_EQ(event.stack(), (std::vector<std::string>{"inner", "outer"}));
  EXPECT_EQ(event.module_hierarchy(), "net.0");
  EXPECT_EQ(event.flops(), 1234);
  EXPECT_EQ(event.node_id(), 5);
  EXPECT_TRUE(event.is_remote());
  EXPECT_EQ(event.device_memory_usage(), 64);
}

TEST(CollectedEvents, CountDetailsThatAreTooLong) {
  auto collector = std::make_shared<MemoryCollector>();
  ASSERT_TRUE(StartSession(TestOptions(), Exporters().Memory(collector).Take()).ok());
  {
    FERRET_SCOPE("scope");
    ScopeDetails details;
    details.Module(std::string(20'000, 'm'));
    details.Overload("kept");
    Attach(details);
  }
  ASSERT_TRUE(Stop60().ok());
  const CollectedTrace trace = collector->Take();
  EXPECT_EQ(trace.progress.details_lost, 1u);
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].overload_name(), "kept");
  EXPECT_EQ(trace.events[0].module_hierarchy(), "");
}

// Every thread with details of its own, in every form, while chunks change all the time.
TEST(CollectedEvents, OfManyThreadsKeepTheirOwnDetails) {
  constexpr int kThreads = 8, kScopes = 500;
  Options options = WithMemory();
  options.overflow = Options::Overflow::kBlock;
  ASSERT_TRUE(StartSession(options, {}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([t] {
      ScopeDetails details;
      for (int i = 0; i < kScopes; ++i) {
        FERRET_SCOPE("scope");
        details.Clear();
        const std::vector<int64_t> sizes(static_cast<size_t>(i % 200), t);
        details.Tensor("float", {sizes.data(), sizes.size()}).Scalar(t * kScopes + i);
        Attach(details);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(Stop60().ok());
  const CollectedEvents run = TakeCollectedEvents();
  EXPECT_TRUE(run.complete);
  ASSERT_EQ(run.events.size(), static_cast<size_t>(kThreads * kScopes));
  std::vector<bool> seen(kThreads * kScopes);
  for (const FunctionEvent& event : run.events) {
    const std::vector<Value> inputs = event.inputs();
    ASSERT_EQ(inputs.size(), 2u);
    const int64_t number = std::get<int64_t>(inputs[1]);
    const auto& sizes = std::get<Tensor>(inputs[0]).sizes;
    ASSERT_EQ(sizes, std::vector<int64_t>(static_cast<size_t>(number % kScopes % 200), number / kScopes));
    ASSERT_FALSE(seen[static_cast<size_t>(number)]);
    seen[static_cast<size_t>(number)] = true;
  }
}

}  // namespace
}  // namespace ferret
