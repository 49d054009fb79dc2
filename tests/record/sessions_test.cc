// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// One thread, several sessions: what belongs to which, and what came too late.

#include <gtest/gtest.h>

#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

Site g_site{"session", RecordType::kScopeBegin, 0};

// A scope by a thread that had passed the enabled test when the session stopped.
void RecordLate(uint32_t epoch) {
  const ScopeEnd end = BeginScope(g_site.header.load(), epoch);
  EXPECT_TRUE(end);
  EndScope(end);
}

class Sessions : public ::testing::Test {
 protected:
  // A session with one scope of the calling thread, which is delivered.
  DrainStats RunOne(Recorder* recorder, bool cycle_counter = true) {
    CountingSink sink;
    TestSession session(recorder, &sink, cycle_counter);
    last_epoch_ = CurrentEpoch();
    { const Scope scope(g_site); }
    const DrainStats stats = session.Stop();
    EXPECT_EQ(sink.Of(t_writer->thread).scopes, 1u);
    EXPECT_EQ(sink.All().truncated, 0u);
    return stats;
  }
  uint32_t last_epoch_ = 0;
};

TEST_F(Sessions, StartAgainWithTheSamePool) {
  OnThread([this] {
    Recorder* const recorder = NewRecorder({.chunks = 4});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(RunOne(recorder).late, 0u);
    EXPECT_LE(recorder->pool().chunks_used(), 4u);
  });
}

TEST_F(Sessions, StartAgainWithAnotherPoolOrAnotherClock) {
  OnThread([this] {
    for (const uint32_t chunks : {4u, 9u, 2u, 1024u}) {
      Recorder* const recorder = NewRecorder({.chunks = chunks});
      for (const bool cycle_counter : {true, false, true}) RunOne(recorder, cycle_counter);
    }
  });
}

TEST_F(Sessions, ARecordAfterTheLastPassIsCountedByTheNextSession) {
  OnThread([this] {
    Recorder* const recorder = NewRecorder({.chunks = 8});
    RunOne(recorder);
    RecordLate(last_epoch_);
    RecordLate(last_epoch_);
    EXPECT_EQ(RunOne(recorder).late, 2u) << "counted once the thread has left the chunk";
    EXPECT_EQ(RunOne(recorder).late, 0u) << "and once only";
  });
}

// A chunk that was announced when nobody looked any more: another thread's first record.
TEST_F(Sessions, AThreadThatBeginsAfterTheLastPassIsCountedByTheNextSession) {
  Recorder* const recorder = NewRecorder({.chunks = 8});
  OnThread([this, recorder] {
    RunOne(recorder);
    // A session that nobody drains stands for the time between the last pass and the end of recording.
    recorder->Start(true);
    OnThread([] {
      const Scope scope(g_site);
      Instant("late");
    });
    Recorder::Stop();
    EXPECT_EQ(RunOne(recorder).late, 2u);
  });
}

TEST_F(Sessions, EndsOfScopesOfAnEarlierSessionAreIgnored) {
  OnThread([this] {
    Recorder* const recorder = NewRecorder({.chunks = 8});
    CountingSink first_sink;
    ScopeEnd open;
    {
      TestSession first(recorder, &first_sink);
      open = BeginScope(g_site);
      if (!open) open = BeginScope(g_site);
    }
    EXPECT_EQ(first_sink.All().scopes, 1u);
    EXPECT_EQ(first_sink.All().truncated, 1u) << "it ended with its session";

    CountingSink sink;
    TestSession second(recorder, &sink);
    EndScope(open);  // into the chunk of the first session
    {
      const Scope scope(g_site);
      EndScope(open);  // into a chunk of the second
    }
    EXPECT_EQ(second.Stop().late, 0u) << "an end is no attempt";
    EXPECT_EQ(sink.All().scopes, 1u);
    EXPECT_EQ(sink.All().truncated, 0u);
  });
}

TEST_F(Sessions, ABeginBetweenTwoSessionsIsRefusedUncounted) {
  OnThread([this] {
    Recorder* const recorder = NewRecorder({.chunks = 8});
    RunOne(recorder);
    EXPECT_FALSE(BeginScope(g_site));
    EXPECT_FALSE(BeginNamed("off", 0));
    EXPECT_EQ(LostBy(t_writer->thread).total(), 0u);
    EXPECT_EQ(RunOne(recorder).late, 0u);
  });
}

// The thread passed the enabled test of a session whose pool is gone: the write goes to memory that is still there.
TEST_F(Sessions, ALateRecordIntoARetiredPoolHarmsNobody) {
  OnThread([this] {
    Recorder* const old = NewRecorder({.chunks = 8});
    RunOne(old);
    const uint32_t epoch = last_epoch_;
    old->pool().Retire();
    RecordLate(epoch);
    EXPECT_EQ(RunOne(NewRecorder({.chunks = 16})).late, 0u);
  });
}

TEST_F(Sessions, NewEpochsDoNotTurnAStoppedRecorderOn) {
  Recorder::NewEpoch();
  EXPECT_FALSE(Enabled());
  Recorder::SetThreadIdProvider(nullptr);
  EXPECT_FALSE(Enabled());
}

TEST_F(Sessions, RecordsOfTheMonotonicClockAreInNanosecondsOfIt) {
  OnThread([] {
    Recorder* const recorder = NewRecorder({});
    HandDrain drain(recorder);
    const RecordingOn on(recorder, false);
    const uint64_t before = Recorder::ReadTicks();
    for (int i = 0; i < 200; ++i) const Scope scope(g_site);
    const uint64_t after = Recorder::ReadTicks();
    uint64_t last = before;
    for (const ReadRecord& record : Walk(drain.Chunks())) {
      EXPECT_GE(record.ticks, last);
      last = record.ticks;
    }
    EXPECT_LE(last, after);
    EXPECT_FALSE(Recorder::uses_cycle_counter());
  });
}

}  // namespace
}  // namespace ferret::internal
