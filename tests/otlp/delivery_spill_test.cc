// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A Delivery with a spill directory.

#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "exporters/otlp/delivery/delivery.h"
#include "exporters/otlp/delivery/spill_format.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/export/fakes.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret::otlp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class NoSpace final : public FileIo {
 public:
  ssize_t PWrite(int, const char*, size_t, int64_t) override {
    errno = ENOSPC;
    return -1;
  }
};

class DeliverySpillTest : public ::testing::Test {
 protected:
  DeliverySpillTest() {
    rig_.options.spill_directory = temp_ / "spill";
    rig_.receiver->on_send = [this](const Receiver::Call&) { return away_ ? Retryable() : Delivered(); };
  }
  size_t FileCount() const {
    if (!std::filesystem::exists(rig_.options.spill_directory)) return 0;
    const std::filesystem::directory_iterator files(rig_.options.spill_directory);
    return static_cast<size_t>(std::distance(begin(files), end(files)));
  }
  // What files have that was not taken out of them.
  std::vector<std::string> BodiesOnDisk() const {
    std::vector<std::string> bodies;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(rig_.options.spill_directory)) {
      paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      const std::string file = ReadFile(path);
      const absl::StatusOr<SpillContents> contents = ReadSpillFile(file);
      EXPECT_TRUE(contents.ok());
      if (!contents.ok()) continue;
      for (const SpillEntry& entry : contents->entries) {
        if (entry.taken) continue;
        bodies.push_back(ParseSpillRecord(file.substr(entry.offset, entry.size))->body);
      }
    }
    return bodies;
  }

  TempDir temp_;
  std::atomic<bool> away_{true};
  Rig rig_;
};

TEST_F(DeliverySpillTest, WhatIsNotTakenInTimeIsKeptAndSentOnceTheReceiverIsBack) {
  rig_.clock->FlowFor(absl::Seconds(20));  // not as far as the next try of what is on disk
  rig_.Start().Push(Signal::kTraces, "one", 5);
  rig_.delivery->Push(Signal::kTraces, "two", 6);
  ASSERT_TRUE(rig_.Flush().ok());
  EXPECT_EQ(rig_.Traces().spilled.items, 11u);
  EXPECT_THAT(BodiesOnDisk(), ElementsAre("one", "two"));
  ExpectBalanced(rig_.delivery->counts());
  away_ = false;
  const size_t before = rig_.receiver->calls().size();
  rig_.clock->FlowFor(absl::Hours(1));
  rig_.receiver->WaitForCalls(before + 2);
  rig_.Close();
  EXPECT_EQ(rig_.Traces().delivered.items, 11u);
  EXPECT_EQ(rig_.Traces().spilled.items, 0u);
  ExpectBalanced(rig_.delivery->counts());
  EXPECT_EQ(rig_.receiver->bodies()[before], "one");
  EXPECT_EQ(rig_.receiver->bodies()[before + 1], "two");
  EXPECT_EQ(FileCount(), 0u);
  EXPECT_THAT(rig_.lines->all()[0],
              HasSubstr("1 request (5 spans) for http://there:4318/v1/traces was kept in " + (temp_ / "spill")));
}

TEST_F(DeliverySpillTest, ANewRequestThatIsTakenBringsTheOldOnesBackAtOnceAndTheyTakeTurns) {
  Gate gate;
  std::atomic<bool> wait{false};
  rig_.receiver->on_send = [&](const Receiver::Call&) {
    if (wait) gate.Wait();
    return away_ ? Retryable(absl::Seconds(15)) : Delivered();
  };
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.Start().Push(Signal::kTraces, "old 1", 1);
  rig_.delivery->Push(Signal::kTraces, "old 2", 1);
  ASSERT_TRUE(rig_.Flush().ok());
  ASSERT_EQ(rig_.Traces().spilled.requests, 2u);
  away_ = false;
  wait = true;
  const size_t before = rig_.receiver->calls().size();
  rig_.delivery->Push(Signal::kTraces, "new 1", 1);
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.receiver->WaitForCalls(before + 1);
  for (const char* body : {"new 2", "new 3", "new 4"}) rig_.delivery->Push(Signal::kTraces, body, 1);
  gate.Open();
  ASSERT_TRUE(rig_.Flush().ok());
  std::vector<std::string> bodies = rig_.receiver->bodies();
  bodies.erase(bodies.begin(), bodies.begin() + static_cast<std::ptrdiff_t>(before));
  EXPECT_THAT(bodies, ElementsAre("new 1", "old 1", "new 2", "old 2", "new 3", "new 4"));
}

TEST_F(DeliverySpillTest, AReceiverThatStaysAwayIsAskedSeldom) {
  rig_.clock->FlowFor(absl::Seconds(3610));
  rig_.Start().Push(Signal::kTraces, "one", 5);
  rig_.receiver->WaitForCalls(100);  // a few in the first ten seconds, then about 120 in that hour
  const auto calls = rig_.receiver->calls();
  for (size_t i = 1; i < calls.size(); ++i) {
    if (calls[i].at <= 10) continue;
    EXPECT_GE(calls[i].at - calls[i - 1].at, 30);
  }
  EXPECT_GT(calls.back().at, 2000);
  rig_.Close();
  EXPECT_EQ(rig_.Traces().spilled.items, 5u);
  ExpectBalanced(rig_.delivery->counts());
}

TEST_F(DeliverySpillTest, WhatDoesNotFitTheQueueGoesToTheDisk) {
  rig_.options.queue_bytes = 100;
  rig_.options.timeouts[0] = absl::InfiniteDuration();
  rig_.clock->FlowFor(absl::ZeroDuration());
  rig_.Start();
  const std::string body(20, 'x');
  for (int i = 0; i < 20; ++i) {
    rig_.delivery->Push(Signal::kTraces, body, 1);
    // The thread has had its turn when no more than half of the queue waits.
    while (rig_.delivery->counts().queue_bytes > 80) {
    }
  }
  EXPECT_EQ(rig_.Traces().all_lost().items, 0u);
  EXPECT_GE(rig_.Traces().spilled.items, 15u);
  ExpectBalanced(rig_.delivery->counts());
  away_ = false;
  rig_.clock->FlowFor(absl::Hours(1));
  ASSERT_TRUE(rig_.Flush().ok());
  rig_.Close(absl::Hours(1));
  EXPECT_EQ(rig_.Traces().delivered.items, 20u);
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(DeliverySpillTest, WhatIsLeftAtCloseStaysOnDiskAndAnotherSessionLeavesItAlone) {
  rig_.clock->FlowFor(absl::ZeroDuration());
  rig_.options.timeouts[0] = absl::InfiniteDuration();
  rig_.receiver->on_send = [](const Receiver::Call&) { return Retryable(absl::Hours(1)); };
  rig_.Start();
  for (const char* body : {"one", "two", "three"}) rig_.delivery->Push(Signal::kTraces, body, 2);
  rig_.receiver->WaitForCalls(1);
  rig_.Close();  // the pause is longer than that: all goes to the disk
  EXPECT_EQ(rig_.Traces().spilled.items, 6u);
  EXPECT_THAT(BodiesOnDisk(), ElementsAre("one", "two", "three"));

  Rig next;
  next.options.spill_directory = rig_.options.spill_directory;
  next.Start().Push(Signal::kTraces, "four", 1);
  ASSERT_TRUE(next.Flush().ok());
  next.Close();
  EXPECT_THAT(next.receiver->bodies(), ElementsAre("four"));
  EXPECT_THAT(BodiesOnDisk(), ElementsAre("one", "two", "three"));
}

TEST_F(DeliverySpillTest, AFullDirectoryIsCounted) {
  rig_.options.spill_bytes = 100;
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.options.timeouts[0] = absl::Milliseconds(1);
  rig_.Start().Push(Signal::kTraces, std::string(50, 'x'), 1);
  rig_.delivery->Push(Signal::kTraces, std::string(50, 'y'), 2);
  ASSERT_TRUE(rig_.Flush().ok());
  EXPECT_EQ(rig_.Traces().spilled.items, 1u);
  EXPECT_EQ(rig_.Traces()[RequestLoss::kSpillFull].items, 2u);
  ExpectBalanced(rig_.delivery->counts());
}

TEST_F(DeliverySpillTest, AFullDiskIsCountedAndSaidOnce) {
  static NoSpace* const no_space = new NoSpace;
  rig_.options.io = no_space;
  rig_.options.timeouts[0] = absl::Milliseconds(1);
  Gate gate;
  rig_.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Retryable();
  };
  rig_.Start();
  for (int i = 0; i < 3; ++i) rig_.delivery->Push(Signal::kTraces, "x", 1);
  gate.Open();
  ASSERT_TRUE(rig_.Flush().ok());
  rig_.Close();
  EXPECT_EQ(rig_.Traces()[RequestLoss::kSpillFailed].items, 3u);
  ExpectBalanced(rig_.delivery->counts());
  ASSERT_THAT(rig_.lines->all(), SizeIs(2));  // at once, and at the end
  EXPECT_THAT(rig_.lines->all()[0], HasSubstr("HTTP 503: overloaded; "));
  EXPECT_THAT(rig_.lines->all()[0], HasSubstr("No space left on device"));
}

TEST_F(DeliverySpillTest, WhatIsReplayedAndRefusedIsLostAndItsFileGoesAway) {
  std::atomic<bool> refuses{false};
  rig_.receiver->on_send = [&](const Receiver::Call&) {
    return refuses ? NotTaken(SendOutcome::Kind::kRefused, "HTTP 400") : Retryable();
  };
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.Start().Push(Signal::kTraces, "one", 5);
  ASSERT_TRUE(rig_.Flush().ok());
  const size_t before = rig_.receiver->calls().size();
  refuses = true;
  rig_.clock->FlowFor(absl::Minutes(1));
  rig_.receiver->WaitForCalls(before + 1);
  rig_.Close();
  EXPECT_EQ(rig_.Traces()[RequestLoss::kRefused].items, 5u);
  EXPECT_EQ(rig_.Traces().spilled.items, 0u);
  ExpectBalanced(rig_.delivery->counts());
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(DeliverySpillTest, WhatIsReplayedAndTooLargeIsCutInTwo) {
  const std::string body = "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"a\":1},{\"b\":2}]}]}]}";
  std::atomic<bool> back{false};
  rig_.receiver->on_send = [&](const Receiver::Call& call) {
    if (!back) return Retryable();
    return call.body.size() == body.size() ? NotTaken(SendOutcome::Kind::kTooLarge, "HTTP 413") : Delivered();
  };
  rig_.options.least_cut_bytes = 0;
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.Start().Push(Signal::kTraces, body, 2);
  ASSERT_TRUE(rig_.Flush().ok());
  ASSERT_EQ(rig_.Traces().spilled.items, 2u);
  const size_t before = rig_.receiver->calls().size();
  back = true;
  rig_.clock->FlowFor(absl::Minutes(1));
  rig_.receiver->WaitForCalls(before + 3);
  rig_.Close();
  EXPECT_EQ(rig_.Traces().delivered.items, 2u);
  EXPECT_EQ(rig_.Traces().split, 1u);
  ExpectBalanced(rig_.delivery->counts());
  EXPECT_EQ(FileCount(), 0u);
}

TEST_F(DeliverySpillTest, WhatTheDiskDoesNotGiveBackIsLostAndCounted) {
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.Start().Push(Signal::kTraces, "one", 5);
  rig_.delivery->Push(Signal::kTraces, "two", 6);
  ASSERT_TRUE(rig_.Flush().ok());
  const std::string path = std::filesystem::directory_iterator(rig_.options.spill_directory)->path().string();
  std::string bytes = ReadFile(path);
  bytes[bytes.find("two")] = '?';
  WriteFile(path, bytes);
  away_ = false;
  const size_t before = rig_.receiver->calls().size();
  rig_.delivery->Push(Signal::kTraces, "three", 1);
  rig_.clock->FlowFor(absl::Seconds(20));
  rig_.receiver->WaitForCalls(before + 2);
  rig_.delivery->Push(Signal::kTraces, "four", 1);
  rig_.Close(absl::Hours(1));
  EXPECT_EQ(rig_.Traces().delivered.items, 7u);
  EXPECT_EQ(rig_.Traces()[RequestLoss::kSpillFailed].items, 6u);
  ExpectBalanced(rig_.delivery->counts());
}

}  // namespace
}  // namespace ferret::otlp
