// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Every system call that a spill makes fails, in every way that there is: what it says it has taken it has, what a file
// holds that a kill leaves can be read, and nobody else's removing or cutting of a file costs more than what was in it.

#include <errno.h>
#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "exporters/otlp/delivery/spill.h"
#include "tests/chrome_trace/trace_files.h"
#include "tests/disk/faulty_disk.h"

namespace ferret::otlp {
namespace {

struct Fault {
  const char* name;
  DiskFault::Kind kind;
  int error;
  int calls;
};

constexpr int kRequests = 12;

std::string Body(int number) {
  std::string body = "request " + std::to_string(number) + " ";
  body.resize(12'000 + static_cast<size_t>(number), static_cast<char>('a' + number));
  return body;
}

class SpillFaults : public testing::TestWithParam<Fault> {
 protected:
  SpillOptions Options() const { return {folder_.path(), 2 << 20, nullptr}; }

  // The requests that files hold which nobody has taken out, as after a kill.
  std::vector<std::string> LeftBehind() const {
    std::vector<std::string> left;
    for (const std::string& file : folder_.Files()) {
      const std::string bytes = ReadFile(folder_ / file);
      if (bytes.empty()) continue;  // killed before it had a head
      const auto contents = ReadSpillFile(bytes);
      EXPECT_TRUE(contents.ok() || bytes.size() < kSpillHeadBytes) << file << ": " << contents.status();
      if (!contents.ok()) continue;
      for (const SpillEntry& entry : contents->entries) {
        if (!entry.taken) left.push_back(bytes.substr(entry.offset + kSpillRecordHead, entry.size - kSpillRecordHead));
      }
    }
    return left;
  }

  TempDir folder_;
};

TEST_P(SpillFaults, NeverLoseWhatWasTaken) {
  const Fault& fault = GetParam();
  int failed = 0, calls = 0;
  for (int first = 1; first == 1 || first <= calls; ++first) {
    SCOPED_TRACE(testing::Message() << "call " << first);
    {
      auto spill = std::make_unique<Spill>(Options());
      const FaultyDisk disk(folder_.path(), {fault.kind, fault.error, first, fault.calls});
      std::vector<std::string> taken;
      for (int i = 0; i < kRequests; ++i) {
        const absl::Status status = spill->Append(Signal::kTraces, Form::kProtobuf, 1, Body(i));
        if (status.ok()) taken.push_back(Body(i));
        EXPECT_FALSE(absl::IsResourceExhausted(status)) << "the disk is full, not the spill";
      }
      EXPECT_EQ(LeftBehind(), taken) << "a kill now leaves exactly what was taken";
      for (const std::string& body : taken) {
        ASSERT_FALSE(spill->empty());
        const auto front = spill->Front();
        ASSERT_TRUE(front.ok()) << front.status();
        EXPECT_EQ(front->body, body);
        spill->PopFront();
      }
      EXPECT_TRUE(spill->empty());
      spill.reset();
      calls = disk.calls();
      failed += disk.failures() > 0;
    }
    if (fault.calls == 1) {
      EXPECT_LE(LeftBehind().size(), 1u) << "one request may be sent twice after a mark that failed";
    }
    for (const std::string& file : folder_.Files()) std::filesystem::remove(folder_ / file);
    if (HasFailure()) return;
  }
  EXPECT_GT(failed, 0);
}

INSTANTIATE_TEST_SUITE_P(With, SpillFaults,
                         testing::Values(Fault{"OneError", DiskFault::Kind::kError, EIO, 1},
                                         Fault{"OnlyErrors", DiskFault::Kind::kError, EROFS, 0},
                                         Fault{"FullForAWhile", DiskFault::Kind::kNoSpace, 0, 4},
                                         Fault{"Full", DiskFault::Kind::kNoSpace, 0, 0},
                                         Fault{"ShortWrite", DiskFault::Kind::kShort, 0, 1},
                                         Fault{"Interrupted", DiskFault::Kind::kInterrupted, 0, 3}),
                         [](const auto& tested) { return std::string(tested.param.name); });

class SpillInOtherHands : public testing::Test {
 protected:
  SpillInOtherHands() : spill_({folder_.path(), 2 << 20, nullptr}) {
    for (int i = 0; i < 3; ++i) Append(i);
  }
  void Append(int number) {
    ASSERT_TRUE(spill_.Append(Signal::kTraces, Form::kProtobuf, 1, Body(number)).ok());
  }
  std::string File() const { return folder_ / folder_.Files().at(0); }

  TempDir folder_;
  Spill spill_;
};

TEST_F(SpillInOtherHands, WhatIsInARemovedFileIsStillSentWhileTheProcessLives) {
  ASSERT_EQ(unlink(File().c_str()), 0);
  Append(3);
  for (int i = 0; i < 4; ++i) {
    const auto front = spill_.Front();
    ASSERT_TRUE(front.ok()) << front.status();
    EXPECT_EQ(front->body, Body(i));
    spill_.PopFront();
  }
  EXPECT_TRUE(spill_.empty());
}

TEST_F(SpillInOtherHands, WhatWasCutOffIsAnErrorForEachRequestAndTheRestGoesOn) {
  ASSERT_EQ(truncate(File().c_str(), static_cast<off_t>(kSpillHeadBytes + kSpillRecordHead + Body(0).size() + 100)), 0);
  Append(3);
  for (int i = 0; i < 4; ++i) {
    const auto front = spill_.Front();
    if (i == 1 || i == 2) {
      EXPECT_EQ(front.status().code(), absl::StatusCode::kDataLoss);
    } else {
      ASSERT_TRUE(front.ok()) << front.status();
      EXPECT_EQ(front->body, Body(i));
    }
    spill_.PopFront();
  }
}

}  // namespace
}  // namespace ferret::otlp
