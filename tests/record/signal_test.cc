// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Signals that arrive at chosen moments of the cold path: while the state of a thread is made, while a chunk is opened.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>

#include "ferret/internal/adapter.h"
#include "tests/record/recording.h"

#if defined(__SANITIZE_THREAD__)
// Its own runtime uses the function, also before there is a C library to forward to.
#define FERRET_TEST_CAN_INTERPOSE 0
#else
#define FERRET_TEST_CAN_INTERPOSE 1
#endif

namespace {

// A signal that is raised from inside of the C library's function: ThreadRegistry::Acquire arms the exit hook with it
// when the state exists and t_writer does not point to it yet.
thread_local bool t_raise_in_setspecific = false;

}  // namespace

#if FERRET_TEST_CAN_INTERPOSE
extern "C" int pthread_setspecific(pthread_key_t key, const void* value) noexcept {
  using Function = int (*)(pthread_key_t, const void*);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "pthread_setspecific"));
  if (t_raise_in_setspecific) {
    t_raise_in_setspecific = false;
    raise(SIGUSR1);
  }
  return real(key, value);
}
#endif

namespace ferret::internal {
namespace {

Site g_site{"in the handler", RecordType::kScopeBegin, 0};
std::atomic<int> g_handled{0};
std::atomic<int> g_refused{0};

void Handler(int) {
  ++g_handled;
  const ScopeEnd end = BeginScope(g_site);
  if (!end) ++g_refused;
  EndScope(end);
}

class Signals : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_handler = &Handler;
    sigaction(SIGUSR1, &action, nullptr);
    g_handled = g_refused = 0;
    OnThread([this] {
      const RecordingOn on(recorder_);
      { const Scope registers(g_site); }
    });
    HandDrain(recorder_).RecycleSealed();
  }
  void TearDown() override {
    SetThreadIdProvider(nullptr);
    signal(SIGUSR1, SIG_DFL);
  }
  Recorder* const recorder_ = NewRecorder({});
};

TEST_F(Signals, WhileTheStateOfTheThreadIsMadeAreDroppedAndCounted) {
  if (!FERRET_TEST_CAN_INTERPOSE) GTEST_SKIP() << "not under ThreadSanitizer";
  const uint64_t lost = LostBy(0)[LossReason::kNestedInSignal];
  OnThread([&] {
    const RecordingOn on(recorder_);
    t_raise_in_setspecific = true;
    { FERRET_SCOPE("first record"); }
    EXPECT_FALSE(t_raise_in_setspecific);
  });
  EXPECT_EQ(g_handled, 1);
  EXPECT_EQ(g_refused, 1);
  EXPECT_EQ(LostBy(0)[LossReason::kNestedInSignal], lost + 1);
  HandDrain drain(recorder_);
  EXPECT_EQ(CountOf(Walk(drain.Chunks()), RecordType::kScopeBegin), 1u);
}

// Only scopes, instants and counters are attempts.
TEST_F(Signals, EndsOfScopesOfOtherThreadsAreNoAttempts) {
  if (!FERRET_TEST_CAN_INTERPOSE) GTEST_SKIP() << "not under ThreadSanitizer";
  struct sigaction action = {};
  action.sa_handler = [](int) { EndAsync({1, 3}); };
  sigaction(SIGUSR1, &action, nullptr);
  const uint64_t lost = LostBy(0).total();
  OnThread([&] {
    const RecordingOn on(recorder_);
    t_raise_in_setspecific = true;
    { FERRET_SCOPE("first record"); }
  });
  EXPECT_EQ(LostBy(0).total(), lost);
}

TEST_F(Signals, BeforeTheFirstRecordMakeTheStateThemselves) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    raise(SIGUSR1);
    EXPECT_EQ(t_writer->kind, WriterKind::kLive);
    { FERRET_SCOPE("second record"); }
  });
  EXPECT_EQ(g_refused, 0);
  HandDrain drain(recorder_);
  EXPECT_EQ(CountOf(Walk(drain.Chunks()), RecordType::kScopeBegin), 2u);
}

// The adapter's function is called with the gate closed, when t_writer is set and the chunk is being opened.
TEST_F(Signals, WhileAChunkIsOpenedAreDroppedAndCountedForTheThread) {
  SetThreadIdProvider(+[]() -> uint64_t {
    raise(SIGUSR1);
    return 7;
  });
  uint32_t thread = 0;
  OnThread([&] {
    const RecordingOn on(recorder_);
    for (int i = 0; i < 1000; ++i) const Scope scope(g_site);
    thread = ThreadId();
  });
  HandDrain drain(recorder_);
  const auto chunks = static_cast<int>(drain.Chunks().size());
  ASSERT_GT(chunks, 5);
  EXPECT_EQ(g_handled, chunks);
  EXPECT_EQ(g_refused, chunks);
  EXPECT_EQ(LostBy(thread)[LossReason::kNestedInSignal], static_cast<uint64_t>(chunks));
  EXPECT_EQ(CountOf(Walk(drain.Chunks()), RecordType::kScopeBegin), 1000u);
}

TEST_F(Signals, HandlersFindErrnoAsTheyLeftIt) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    errno = 55;
    raise(SIGUSR1);
    { FERRET_SCOPE("errno"); }
    EXPECT_EQ(errno, 55);
  });
}

// An exception that leaves a scope ends it, and the gate is as open as before.
TEST_F(Signals, ExceptionsThroughScopesLeaveTheGateOpen) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    try {
      FERRET_SCOPE("left by an exception");
      const Scope inner("this one too");
      throw 1;
    } catch (int) {
    }
    EXPECT_NE(t_writer->gate.load(), kGateClosed);
    { FERRET_SCOPE("goes on"); }
  });
  HandDrain drain(recorder_);
  const std::vector<ReadRecord> read = Walk(drain.Chunks());
  EXPECT_EQ(CountOf(read, RecordType::kScopeBegin), 3u);
  EXPECT_EQ(CountOf(read, RecordType::kScopeEnd), 3u);
}

// A handler may come between the look at the gate and its closing, and lose the chunk to a session that has none left.
// The begin that goes on then finds no cursor: it wrote through a null pointer.
TEST_F(Signals, ABeginWhoseChunkWasTakenAwayAfterItsLookAtTheGateGoesOutOfLine) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    { FERRET_SCOPE("has a chunk"); }
    ThreadState* const state = CurrentState();
    ASSERT_EQ(state->gate.load(), CurrentEpoch());
    state->current = nullptr;
    state->chunk = state->cursor = state->begin_limit = state->end_limit = nullptr;
    const ScopeEnd end = BeginScope(RecordHeader(RecordType::kScopeBegin, kBeginBytes, 0, InternName("s")), CurrentEpoch());
    EXPECT_TRUE(end) << "in a new chunk";
    EXPECT_NE(state->current, nullptr);
    EndScope(end);
  });
}

}  // namespace
}  // namespace ferret::internal
