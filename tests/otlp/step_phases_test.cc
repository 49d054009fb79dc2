// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/steps/step_phases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "exporters/otlp/steps/step_sampler.h"

namespace ferret::otlp {
namespace {

FunctionEvent Event(std::string_view name, int64_t start_ns, int64_t end_ns) {
  FunctionEvent event;
  event.name = name;
  event.start_ns = start_ns;
  event.end_ns = end_ns;
  return event;
}
FunctionEvent Backward(int64_t start_ns, int64_t end_ns) {
  FunctionEvent event = Event("MmBackward0", start_ns, end_ns);
  event.fwd_thread = 1;
  return event;
}

// "data 0-5, forward 5-20"; with the busy time if it is another.
std::string Text(const std::vector<StepPhases::Interval>& phases) {
  std::string text;
  for (const StepPhases::Interval& phase : phases) {
    if (!text.empty()) text += ", ";
    text += std::string(PhaseText(phase.phase)) + " " + std::to_string(phase.start_ns) + "-" +
            std::to_string(phase.end_ns);
    if (phase.busy_ns != phase.end_ns - phase.start_ns) text += " (" + std::to_string(phase.busy_ns) + ")";
  }
  return text;
}

TEST(StepPhases, AnOrdinaryStepHasDataForwardBackwardAndOptimizer) {
  StepPhases phases;
  phases.Note(Event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 110));
  phases.Note(Event("aten::mm", 112, 120));
  phases.Note(Event("Optimizer.zero_grad#SGD.zero_grad", 111, 112));
  phases.Note(Backward(130, 140));
  phases.Note(Backward(145, 160));
  phases.Note(Event("Optimizer.step#SGD.step", 170, 180));
  EXPECT_EQ(Text(phases.Take(100, 180)),
            "data 100-110, forward 110-111, optimizer 111-112, forward 112-130, backward 130-160 (25), "
            "optimizer 170-180");
}

TEST(StepPhases, ZeroGradMayStandAnywhere) {
  StepPhases phases;
  phases.Note(Event("enumerate(DataLoader)#x", 0, 10));
  phases.Note(Event("Optimizer.zero_grad#SGD.zero_grad", 50, 52));
  phases.Note(Backward(52, 80));
  phases.Note(Event("Optimizer.step#SGD.step", 85, 90));
  phases.Note(Event("Optimizer.zero_grad#SGD.zero_grad", 95, 97));
  EXPECT_EQ(Text(phases.Take(0, 100)),
            "data 0-10, forward 10-50, optimizer 50-52, backward 52-80, optimizer 85-90, optimizer 95-97");
}

TEST(StepPhases, AStepThatAccumulatesGradientsHasSeveralOfEach) {
  StepPhases phases;
  for (int64_t at : {0, 100}) {
    phases.Note(Event("enumerate(DataLoader)#x", at, at + 10));
    phases.Note(Backward(at + 50, at + 90));
  }
  phases.Note(Event("Optimizer.step#Adam.step", 195, 200));
  EXPECT_EQ(Text(phases.Take(0, 200)), "data 0-10, forward 10-50, backward 50-90, data 100-110, forward 110-150, "
                                       "backward 150-190, optimizer 195-200");
}

TEST(StepPhases, AStepWithoutGradientsIsDataAndForward) {
  StepPhases phases;
  phases.Note(Event("enumerate(DataLoader)#x", 0, 10));
  phases.Note(Event("enumerate(DataLoader)#x", 20, 25));
  EXPECT_EQ(Text(phases.Take(0, 40)), "data 0-10, forward 10-20, data 20-25, forward 25-40");
}

TEST(StepPhases, NestedAndOverlappingBackwardOperatorsCountOnce) {
  StepPhases phases;
  phases.Note(Backward(12, 14));
  phases.Note(Backward(10, 20));
  phases.Note(Backward(15, 25));
  phases.Note(Backward(30, 31));
  EXPECT_EQ(Text(phases.Take(10, 40)), "backward 10-31 (16)");
}

TEST(StepPhases, CommunicationLiesBesideTheOthers) {
  StepPhases phases;
  phases.Note(Backward(10, 30));
  phases.Note(Event("nccl:all_reduce", 15, 20));
  phases.Note(Event("c10d::allreduce_", 18, 22));
  phases.Note(Event("gloo:all_reduce", 35, 40));
  EXPECT_EQ(Text(phases.Take(0, 50)), "comm 15-40 (12), forward 0-10, backward 10-30");
}

TEST(StepPhases, WhatBelongsToTheNextStepWaitsForItAndWhatIsEarlierIsForgotten) {
  StepPhases phases;
  phases.Note(Backward(5, 8));
  phases.Note(Backward(110, 120));
  phases.Note(Backward(20, 30));
  EXPECT_EQ(Text(phases.Take(10, 100)), "forward 10-20, backward 20-30");
  EXPECT_EQ(Text(phases.Take(100, 200)), "forward 100-110, backward 110-120");
  EXPECT_EQ(Text(phases.Take(200, 300)), "");
}

TEST(StepPhases, APhaseThatOutlivesItsStepEndsWithIt) {
  StepPhases phases;
  phases.Note(Event("Optimizer.step#x", 90, 150));
  EXPECT_EQ(Text(phases.Take(0, 100)), "optimizer 90-100");
}

TEST(StepPhases, WhatIsTooMuchIsOnePhaseOfItsKind) {
  StepPhases phases;
  for (int64_t i = 0; i < 65536; ++i) phases.Note(Backward(i * 10, i * 10 + 5));
  for (int64_t i = 65536; i < 200000; ++i) {
    phases.Note(i % 1000 == 0 ? Event("Optimizer.step#x", i * 10, i * 10 + 5) : Backward(i * 10, i * 10 + 5));
  }
  EXPECT_EQ(Text(phases.Take(0, 2000000)),
            "backward 0-1999995 (1672315), optimizer 660000-1990005");
  EXPECT_EQ(Text(phases.Take(2000000, 3000000)), "");
}

TEST(StepPhases, NoneIsLeftOutHoweverManyThereAre) {
  StepPhases phases;
  for (int64_t at = 0; at < 100000; at += 100) {
    phases.Note(Event("enumerate(DataLoader)#x", at, at + 10));
    phases.Note(Backward(at + 50, at + 90));
    phases.Note(Event("nccl:all_reduce", at + 60, at + 70));
  }
  phases.Note(Event("Optimizer.step#x", 100000, 100010));
  int64_t sums[kPhaseCount] = {};
  for (const StepPhases::Interval& phase : phases.Take(0, 100010)) sums[static_cast<size_t>(phase.phase)] += phase.busy_ns;
  EXPECT_EQ(sums[static_cast<size_t>(Phase::kData)], 10000);
  EXPECT_EQ(sums[static_cast<size_t>(Phase::kForward)], 40000);
  EXPECT_EQ(sums[static_cast<size_t>(Phase::kBackward)], 40000);
  EXPECT_EQ(sums[static_cast<size_t>(Phase::kOptimizer)], 10);
  EXPECT_EQ(sums[static_cast<size_t>(Phase::kComm)], 10000);
}

TEST(StepPhases, TheNameTellsThePhaseAlsoByItsId) {
  StepPhases phases;
  for (int64_t at : {0, 20}) {
    FunctionEvent optimizer = Event("Optimizer.step#x", at, at + 10);
    optimizer.name_id = 7;
    phases.Note(optimizer);
    FunctionEvent other = Event("aten::mm", at, at + 10);
    other.name_id = 3;
    phases.Note(other);
  }
  EXPECT_EQ(Text(phases.Take(0, 40)), "optimizer 0-10, optimizer 20-30");
}

TEST(StepPhases, DeviceWorkIsNoPhase) {
  StepPhases phases;
  FunctionEvent kernel = Event("nccl:all_reduce", 0, 10);
  kernel.device_type = DeviceType::kCuda;
  phases.Note(kernel);
  EXPECT_EQ(Text(phases.Take(0, 40)), "");
}

TEST(StepSampler, SendsEveryNthStepAndThoseOfTheWindow) {
  SamplingConfig config;
  config.every = 10;
  config.first_step = 21;
  config.last_step = 22;
  StepSampler sampler(config);
  std::string why;
  for (int64_t step = 0; step < 31; ++step) {
    const std::string_view reason = sampler.Decide(step, 1000);
    if (!reason.empty()) why += std::to_string(step) + std::string(reason) + " ";
  }
  EXPECT_EQ(why, "0every 10every 20every 21window 22window 30every ");
}

TEST(StepSampler, OfStepsThatLeaveNumbersOutTheFirstOfEveryNCounts) {
  SamplingConfig config;
  config.every = 100;
  StepSampler sampler(config);
  std::string kept;
  for (int64_t step : {15, 16, 17, 115, 116, 117, 250, 3, 4}) {
    if (!sampler.Decide(step, 1000).empty()) kept += std::to_string(step) + " ";
  }
  EXPECT_EQ(kept, "15 115 250 3 ");
}

TEST(StepSampler, SendsStepsThatTookLongerThanUsual) {
  SamplingConfig config;
  config.every = 0;
  config.slow = 1.5;
  StepSampler sampler(config);
  EXPECT_EQ(sampler.Decide(0, 1000000), "") << "with nothing to compare it to";
  for (int64_t step = 1; step < 20; ++step) EXPECT_EQ(sampler.Decide(step, 1000 + step), "");
  EXPECT_EQ(sampler.Decide(20, 1400), "");
  EXPECT_EQ(sampler.Decide(21, 1600), "slow");
  for (int64_t step = 22; step < 200; ++step) sampler.Decide(step, 1600);
  EXPECT_EQ(sampler.Decide(200, 1700), "") << "what is usual changes";
}

TEST(StepSampler, SendsAllOrNoneIfToldSo) {
  SamplingConfig config;
  config.detail = Detail::kAll;
  EXPECT_EQ(StepSampler(config).Decide(3, 1), "all");
  config.detail = Detail::kNone;
  config.every = 1;
  EXPECT_EQ(StepSampler(config).Decide(3, 1), "");
}

}  // namespace
}  // namespace ferret::otlp
