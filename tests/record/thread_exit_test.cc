// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records made while a thread goes away.

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <thread>

#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

uint64_t LostAfterExit() { return LostBy(0)[LossReason::kAfterThreadExit]; }

struct RecordsWhenDestroyed {
  ~RecordsWhenDestroyed() {
    if (armed) const Scope scope("thread_local destructor");
  }
  bool armed = false;
};
thread_local RecordsWhenDestroyed t_first;
thread_local RecordsWhenDestroyed t_second;

// Two keys of the host, with a lower and a higher number than Ferret's; destructors of one round run in that order.
pthread_key_t g_low_key, g_high_key;
std::atomic<int> g_rounds{0};

void RecordAndComeBack(void* value) {
  const auto key = value == &g_low_key ? g_low_key : g_high_key;
  ++g_rounds;
  { FERRET_SCOPE("key destructor"); }
  pthread_setspecific(key, value);  // until the C library has had enough rounds
}

// Before anything of Ferret exists, as a library that was loaded earlier would.
const int g_low_key_made = pthread_key_create(&g_low_key, &RecordAndComeBack);

// Runs `body` as a recording thread and returns what it delivered.
Delivered Session(const std::function<void()>& body) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  TestSession session(recorder, &sink);
  OnThread(body);
  session.Stop();
  EXPECT_EQ(sink.All().truncated, 0u);
  return sink.All();
}

TEST(ThreadExit, DestructorsOfThreadLocalsMadeBeforeAndAfterTheFirstRecordStillRecord) {
  const uint64_t late = LostAfterExit();
  const Delivered delivered = Session([] {
    t_first.armed = true;
    { FERRET_SCOPE("first record"); }
    t_second.armed = true;
  });
  EXPECT_EQ(delivered.scopes, 3u);
  EXPECT_EQ(LostAfterExit(), late);
}

TEST(ThreadExit, AFirstRecordInADestructorIsDeliveredAndTheThreadIsForgotten) {
  const size_t live = ThreadRegistry::Global().live_threads();
  const Delivered delivered = Session([] { t_first.armed = true; });
  EXPECT_EQ(delivered.scopes, 1u);
  EXPECT_EQ(ThreadRegistry::Global().live_threads(), live);
}

// Ferret leaves in its second round of destructors: every key of the first round still records, and what comes after
// is counted.
TEST(ThreadExit, DestructorsOfKeysRecordInTheFirstRoundAndAreCountedWhenTheThreadHasLeft) {
  ASSERT_EQ(g_low_key_made, 0);
  ThreadRegistry::Global();
  ASSERT_EQ(pthread_key_create(&g_high_key, &RecordAndComeBack), 0);
  const uint64_t late = LostAfterExit();
  g_rounds = 0;
  const Delivered delivered = Session([] {
    { FERRET_SCOPE("first record"); }
    pthread_setspecific(g_low_key, &g_low_key);
    pthread_setspecific(g_high_key, &g_high_key);
  });
  ASSERT_GE(g_rounds, 6);
  EXPECT_EQ(delivered.scopes, 1u + 3u) << "both keys in the first round, the lower one in the second";
  EXPECT_EQ(LostAfterExit() - late, static_cast<uint64_t>(g_rounds) - 3);
}

TEST(ThreadExit, ScopesThatAreOpenEndWithTheirThread) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  TestSession session(recorder, &sink);
  session.StartDrain();
  OnThread([] {
    static Site site{"left open", RecordType::kScopeBegin, 0};
    BeginScope(site);
    BeginScope(site);
  });
  ASSERT_TRUE(session.Flush());
  EXPECT_EQ(sink.All().truncated, 2u) << "before the session ends";
}

TEST(ThreadExit, AnExitedThreadLeavesASealedChunkThatEndsWithItsExit) {
  Recorder* const recorder = NewRecorder({});
  HandDrain drain(recorder);
  OnThread([&] {
    const RecordingOn on(recorder);
    Instant("last words");
  });
  ASSERT_EQ(drain.Chunks().size(), 1u);
  EXPECT_EQ(drain.Chunks()[0]->sealed.load(), 1u);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[1].type, RecordType::kThreadExit);
}

// Losses belong to the thread that had them, also when its state has gone to another one.
TEST(ThreadExit, AStateThatIsUsedAgainBringsNothingAlong) {
  Recorder* const recorder = NewRecorder({.chunks = 1});
  static Site site{"used again", RecordType::kScopeBegin, 0};
  HandDrain drain(recorder);
  const RecordingOn on(recorder);
  uint32_t first = 0, second = 0;
  const Writer* first_writer = nullptr;
  OnThread([&] {
    first = ThreadId();
    first_writer = t_writer;
    while (BeginScope(site)) {
    }
    for (int i = 0; i < 9; ++i) BeginScope(site);
  });
  drain.RecycleSealed();
  OnThread([&] {
    second = ThreadId();
    EXPECT_EQ(t_writer, first_writer);
    EXPECT_EQ(BeginScope(site).handle(), 3u) << "counts its begins from the start";
  });
  EXPECT_NE(second, first);
  EXPECT_EQ(LostBy(first)[LossReason::kPoolExhausted], 10u);
  EXPECT_EQ(LostBy(second).total(), 0u);
  ASSERT_EQ(drain.Chunks().size(), 1u);
  EXPECT_EQ(drain.Chunks()[0]->sequence, 0u);
  EXPECT_EQ(drain.Chunks()[0]->thread, second);
  EXPECT_EQ(CountOf(Walk(drain.Chunks()), RecordType::kLoss), 0u) << "the losses of another thread";
}

TEST(ThreadExit, ASuppressedThreadRecordsNothingUncounted) {
  const Delivered delivered = Session([] {
    Recorder::SuppressThisThread();
    FERRET_SCOPE("suppressed");
    Instant("suppressed");
    EXPECT_EQ(ThreadId(), 0u);
  });
  EXPECT_EQ(delivered.total(), 0u);
}

}  // namespace
}  // namespace ferret::internal
