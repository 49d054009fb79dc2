// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Made-up programs through the drain itself, with results of their device that come late, in any order, or not at all:
// the table of the run has the rows of the list of its events.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "exporters/memory/memory_exporter.h"
#include "exporters/table/aggregate.h"
#include "tests/drain/drain_harness.h"
#include "tests/timed_scopes/average_rows.h"

namespace ferret {
namespace {

using internal::DeviceOutput;
using internal::DrainHarness;
using internal::MakePairId;
using internal::PairId;
using internal::PairResult;
using internal::SubmittedPair;
using internal::ThreadWriter;

// One thread's program: scopes that nest at random, some timed, with steps that end at an optimizer.
class Program {
 public:
  Program(DrainHarness* harness, uint32_t thread, uint32_t seed) : writer_(harness->thread(thread)), random_(seed) {
    next_pair_ = thread * 4096;
  }

  uint64_t Act(uint64_t now) {
    now_ = now;
    const uint32_t dice = random_() % 100;
    if (dice < 50 && open_.size() < 7) {
      Begin();
    } else if (dice < 97 && !open_.empty()) {
      End();
    } else if (open_.size() <= 1) {
      writer_.Scope(now_ + 1, now_ + 3, "Optimizer.step#SGD.step", internal::kUserAnnotation | internal::kEndsStep);
      now_ += 4;
    }
    return now_;
  }
  uint64_t EndAll(uint64_t now) {
    for (now_ = now; !open_.empty();) End();
    return now_;
  }

 private:
  struct Open {
    uint32_t handle;
    uint32_t name;
    PairId pair;
  };

  void Begin() {
    // Not its parent's name: of two scopes of one name with nothing between them a list keeps one.
    uint32_t name = random_() % 8;
    if (!open_.empty() && open_.back().name == name) name = (name + 1) % 8;
    const uint8_t flags = random_() % 4 == 0 ? internal::kUserAnnotation : internal::kNoFlags;
    Open open{writer_.Begin(now_ += 1 + random_() % 50, "scope " + std::to_string(name), flags), name, 0};
    if (random_() % 2 == 0) {
      open.pair = MakePairId(1, next_pair_++ % 65536);
      writer_.DeviceBegin(now_ += 1, open.pair);
    }
    open_.push_back(open);
  }

  void End() {
    const Open open = open_.back();
    open_.pop_back();
    if (open.pair != 0 && random_() % 20 != 0) {  // else the mark is lost
      writer_.DeviceEnd(now_ += 1, open.pair, random_() % 3,
                        random_() % 20 == 0 ? internal::kDevicePairLost : internal::kDevicePairComplete);
    }
    writer_.End(now_ += 1 + random_() % 50, open.handle);
  }

  ThreadWriter& writer_;
  std::mt19937 random_;
  uint32_t next_pair_;
  uint64_t now_ = 0;
  std::vector<Open> open_;
};

// On the CPU: a step is a view of time that, while it is recorded, counts as its scopes' own; a list has it in its tree.
Rows WithoutSelfTimes(Rows rows) {
  for (auto& row : rows) std::get<2>(row.second) = 0;
  return rows;
}

TEST(TimedScopes, OfAnyProgramAreAddedUpTheSameWhileItRunsAndAfterwards) {
  size_t timed = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    table::Aggregate aggregate(AverageOptions(), 10'000);
    auto collector = std::make_shared<MemoryCollector>();
    MemoryExporter exporter(collector);
    ASSERT_TRUE(exporter.Open(SessionInfo()).ok());
    constexpr uint32_t kThreads = 3;
    DrainHarness harness(kThreads);
    harness.sink.on_batch = [&](const EventBatch& batch) {
      for (const DeviceTimeShare& share : batch.device_times) aggregate.AddDeviceTime(share);
      for (const FunctionEvent& event : batch.events) aggregate.Add(event);
      ASSERT_TRUE(exporter.Export(batch).ok());
    };
    std::vector<std::unique_ptr<Program>> programs;
    for (uint32_t thread = 1; thread <= kThreads; ++thread) {
      programs.push_back(std::make_unique<Program>(&harness, thread, seed * 31 + thread));
    }
    std::vector<SubmittedPair> running;
    uint64_t now = 100;
    const auto pass = [&] {
      harness.Pass(now);
      std::vector<SubmittedPair>& submitted = *harness.device().submitted();
      running.insert(running.end(), submitted.begin(), submitted.end());
      submitted.clear();
      // Some of what runs comes to be known, not in order.
      std::shuffle(running.begin(), running.end(), random);
      DeviceOutput output;
      for (size_t known = running.empty() ? 0 : random() % running.size(); known > 0; --known) {
        PairResult& result = output.results.emplace_back();
        result.token = running.back().token;
        result.timed = random() % 5 != 0;
        result.reason = DeviceLoss::kQueryFailed;
        result.start_ns = running.back().begin_ns + static_cast<int64_t>(random() % 1000);
        result.end_ns = result.start_ns + static_cast<int64_t>(random() % 1000);
        result.stream = static_cast<int32_t>(running.back().place) + 1;
        timed += result.timed;
        running.pop_back();
      }
      harness.device().OnOutput(output);
    };
    for (int i = 0; i < 1500; ++i) {
      now = programs[random() % kThreads]->Act(now);
      if (random() % 20 == 0) pass();
    }
    for (const auto& program : programs) now = program->EndAll(now);
    pass();
    // What still runs is not known when the session ends.
    harness.Finish(now + 1000);
    ASSERT_EQ(harness.device().submitted()->size(), 0u);

    const EventList list = collector->Take().ToEventList();
    Rows rows;
    for (const table::Row& row : aggregate.Rows()) AddRow(row.average, &rows);
    ExpectSame(WithoutSelfTimes(rows), WithoutSelfTimes(RowsOf(list.key_averages(AverageOptions()))),
               "seed " + std::to_string(seed));
  }
  EXPECT_GT(timed, 5'000u);
}

}  // namespace
}  // namespace ferret
