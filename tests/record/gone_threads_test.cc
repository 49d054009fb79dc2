// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Threads that end by the exit system call: no destructor runs, no hook of any library.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/adapter.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

[[noreturn]] void ExitRaw() {
  for (;;) syscall(SYS_exit, 0);
}

// join returns a moment before the system knows no more of the thread.
void WaitUntilGone(pid_t tid) {
  while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) sched_yield();
}

// Runs the body on a thread that ends without a destructor. Returns Ferret's id of the thread.
uint32_t OnRawThread(const std::function<void()>& body) {
  uint32_t id = 0;
  pid_t tid = 0;
  std::thread([&] {
    tid = gettid();
    body();
    id = ThreadId();
    ExitRaw();
  }).join();
  WaitUntilGone(tid);
  return id;
}

bool IsGone(uint32_t thread) {
  const std::vector<uint32_t> gone = ThreadRegistry::Global().FindGone();
  return std::count(gone.begin(), gone.end(), thread) != 0;
}

Site g_site{"scope", RecordType::kScopeBegin, 0};

// A session whose drain is moved by hand.
class GoneThreads : public ::testing::Test {
 protected:
  // What the drain thread does every few seconds.
  void Look() {
    const std::vector<uint32_t> gone = ThreadRegistry::Global().FindGone();
    drain_.EndThreads(gone, ReadCycleCounter());
    Pass();
    for (const uint32_t thread : gone) ThreadRegistry::Global().Reclaim(thread);
  }
  void Pass() { drain_.Pass(ReadCycleCounter()); }

  void SetUp() override { recorder_->Start(true); }
  ~GoneThreads() override {
    Recorder::Stop();
    drain_.Finish(ReadCycleCounter());
    // Nothing is left for the next test.
    for (const uint32_t thread : ThreadRegistry::Global().FindGone()) ThreadRegistry::Global().Reclaim(thread);
  }

  Recorder* const recorder_ = NewRecorder({.chunks = 2});
  CountingSink sink_;
  const ClockMap clock_ = StartClockMap(true, 0);
  Drain drain_{EventBuilder::Config(), recorder_, &clock_, &sink_};
};

TEST_F(GoneThreads, LoseNothingAndTheirOpenScopesEndWithTheirLastRecord) {
  int64_t last_ns = 0, open_ns = 0;
  sink_.on_event = [&](const FunctionEvent& event) {
    (event.is_truncated ? open_ns : last_ns) = event.end_ns;
  };
  const uint32_t thread = OnRawThread([] {
    BeginScope(g_site);
    { const Scope scope(g_site); }
  });
  Pass();
  EXPECT_EQ(sink_.Of(thread).scopes, 1u) << "what is open stays open until it is known that the thread is gone";
  Look();
  EXPECT_EQ(sink_.Of(thread).scopes, 2u);
  EXPECT_EQ(sink_.Of(thread).truncated, 1u);
  EXPECT_EQ(open_ns, last_ns);
}

// Of two chunks that are open the older one was the current one until the end.
TEST_F(GoneThreads, LoseNothingWhenTheyWereAboutToChangeChunks) {
  const uint32_t thread = OnRawThread([&] {
    BeginScope(g_site);
    { const Scope scope(g_site); }
    auto* const state = static_cast<ThreadState*>(t_writer);
    Chunk* const next = recorder_->pool().TakeFree();
    ASSERT_NE(next, nullptr);
    const Chunk* const current = state->current;
    next->magic = current->magic;
    next->version = current->version;
    next->header_bytes = current->header_bytes;
    next->chunk_bytes = current->chunk_bytes;
    next->pid = current->pid;
    next->epoch = current->epoch;
    next->window = current->window;
    next->thread = current->thread;
    next->os_tid = current->os_tid;
    next->framework_thread = current->framework_thread;
    next->sequence = current->sequence + 1;
    next->begins = PayloadOf(state->end_word);
    next->write_offset.store(next->header_bytes, std::memory_order_relaxed);
    next->sealed.store(0, std::memory_order_relaxed);
    next->owner.store(current->thread, std::memory_order_release);
    ASSERT_TRUE(recorder_->pool().Announce(*state->open_token, next));
  });
  Look();
  EXPECT_EQ(sink_.Of(thread).scopes, 2u);
  EXPECT_EQ(sink_.Of(thread).truncated, 1u);
  // Both chunks are there again.
  const uint32_t other = OnRawThread([] { const Scope scope(g_site); });
  Look();
  EXPECT_EQ(sink_.Of(other).scopes, 1u);
  EXPECT_NE(recorder_->pool().TakeFree(), nullptr);
  EXPECT_NE(recorder_->pool().TakeFree(), nullptr);
}

TEST_F(GoneThreads, GiveTheirChunkBack) {
  for (int i = 0; i < 20; ++i) {
    const uint32_t thread = OnRawThread([] { const Scope scope(g_site); });
    Look();
    ASSERT_EQ(sink_.Of(thread).scopes, 1u) << "thread " << i << " of a pool of two chunks";
  }
}

TEST_F(GoneThreads, GiveTheirStateBackToTheNextThread) {
  const size_t live = ThreadRegistry::Global().live_threads();
  const Writer* first = nullptr;
  const uint32_t thread = OnRawThread([&] {
    const Scope scope(g_site);
    first = t_writer;
  });
  EXPECT_EQ(ThreadRegistry::Global().live_threads(), live + 1);
  Look();
  EXPECT_EQ(ThreadRegistry::Global().live_threads(), live);
  OnThread([&] {
    { const Scope scope(g_site); }
    EXPECT_EQ(t_writer, first);
    EXPECT_NE(ThreadId(), thread);
  });
  Look();
  EXPECT_EQ(sink_.All().scopes, 2u);
  EXPECT_EQ(sink_.All().truncated, 0u);
}

TEST_F(GoneThreads, AreToldFromThoseThatAreThere) {
  uint32_t thread = 0;
  std::promise<void> recorded, over;
  std::thread idle([&] {
    { const Scope scope(g_site); }
    thread = ThreadId();
    recorded.set_value();
    over.get_future().wait();
    { const Scope scope(g_site); }
  });
  recorded.get_future().wait();
  EXPECT_FALSE(IsGone(thread));
  Look();
  over.set_value();
  idle.join();
  Look();
  EXPECT_EQ(sink_.Of(thread).scopes, 2u);
  EXPECT_EQ(sink_.Of(thread).truncated, 0u);
}

// The system gives the number of a thread that is gone to the next one, sooner or later. Here they say that theirs is the
// main thread's, which is there.
TEST_F(GoneThreads, AreFoundThoughAnotherThreadHasTheirNumber) {
  const int32_t number = gettid();
  const uint32_t thread = OnRawThread([&] {
    BeginScope(g_site);
    CurrentState()->os_tid = number;
  });
  EXPECT_FALSE(IsGone(thread));
  OnThread([&] {
    { const Scope scope(g_site); }
    CurrentState()->os_tid = number;
    EXPECT_TRUE(IsGone(thread));
    EXPECT_FALSE(IsGone(ThreadId()));
  });
}

TEST_F(GoneThreads, LeaveTheirLossesBehind) {
  const uint32_t thread = OnRawThread([] {
    while (BeginScope(g_site)) {
    }
    for (int i = 0; i < 9; ++i) BeginScope(g_site);
  });
  EXPECT_EQ(LostBy(thread)[LossReason::kPoolExhausted], 10u);
  Look();
  EXPECT_EQ(LostBy(thread)[LossReason::kPoolExhausted], 10u);
  OnThread([&] {
    { const Scope scope(g_site); }
    EXPECT_EQ(LostBy(ThreadId()).total(), 0u) << "the state is another thread's now";
  });
}

// It may have been in the middle of an operation of the queue.
TEST_F(GoneThreads, ThatWentInTheMiddleOfARecordLeaveAStateThatNobodyUses) {
  const Writer* first = nullptr;
  uint32_t thread = 0;
  pid_t tid = 0;
  static std::atomic<bool> exits{false};
  std::thread([&] {
    tid = gettid();
    { const Scope scope(g_site); }
    thread = ThreadId();
    first = t_writer;
    exits = true;
    SetThreadIdProvider(+[]() -> uint64_t {  // called with the gate closed, when a chunk is opened
      if (exits) ExitRaw();
      return 0;
    });
    for (;;) const Scope scope(g_site);
  }).join();
  WaitUntilGone(tid);
  exits = false;
  SetThreadIdProvider(nullptr);
  EXPECT_TRUE(IsGone(thread));
  Look();
  EXPECT_FALSE(IsGone(thread));
  EXPECT_EQ(sink_.Of(thread).scopes, 1u);
  OnThread([&] {
    { const Scope scope(g_site); }
    EXPECT_NE(t_writer, first);
  });
}

TEST(GoneThreadsOfASession, AreEndedWhileItGoesOn) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  TestSession session(recorder, &sink, true, 1'000'000);
  session.StartDrain();
  const uint32_t thread = OnRawThread([] { BeginScope(g_site); });
  // It is looked for again and again.
  while (sink.Of(thread).truncated == 0) ASSERT_TRUE(session.Flush());
  EXPECT_EQ(sink.Of(thread).scopes, 1u);
  while (IsGone(thread)) ASSERT_TRUE(session.Flush());
}

// A thread's chunk is its own from one session to the next; here there is no other one.
TEST(GoneThreadsOfASession, ThatWentAfterItDoNotKeepTheirChunkFromTheNext) {
  Recorder* const recorder = NewRecorder({.chunks = 1});
  std::promise<void> recorded, over;
  CountingSink first_sink;
  std::thread thread;
  pid_t tid = 0;
  {
    TestSession session(recorder, &first_sink);
    thread = std::thread([&] {
      tid = gettid();
      { const Scope scope(g_site); }
      recorded.set_value();
      over.get_future().wait();
      ExitRaw();
    });
    recorded.get_future().wait();
    session.Stop();
  }
  EXPECT_EQ(first_sink.All().scopes, 1u);
  over.set_value();
  thread.join();
  WaitUntilGone(tid);
  CountingSink sink;
  TestSession session(recorder, &sink);
  session.StartDrain();
  ASSERT_TRUE(session.Flush());
  OnThread([] { const Scope scope(g_site); });
  session.Stop();
  EXPECT_EQ(sink.All().scopes, 1u);
}

}  // namespace
}  // namespace ferret::internal
