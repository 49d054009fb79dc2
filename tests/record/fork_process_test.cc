// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Children that are forked while other threads record, intern names, start and exit.

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "ferret/internal/adapter.h"
#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

// Read by LeakSanitizer when a process exits. It cannot stop the other threads of a child whose parent lives on, and then
// takes for leaked what only they refer to.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off() { return 1; }

namespace ferret::internal {
namespace {

// As the session does, once in the process.
const int g_handlers =
    pthread_atfork(&Recorder::BeforeFork, &Recorder::AfterForkInParent, &Recorder::AfterForkInChild);

// Everything a child may try. The exit status says what went wrong, 0 for nothing.
int RecordInChild([[maybe_unused]] int number) {
  if (Enabled()) return 1;
  FERRET_SCOPE("in the child");
  { const Scope named("in the child"); }
  Instant("in the child");
  EndAsync({1, 3});
  if (ThreadId() != 0) return 2;
  if (t_writer->kind != WriterKind::kSuppressed) return 3;
  int result = 0;
  // The locks that the parent's other threads may have held are free here.
  InternName("recording");
  ThreadRegistry::Global().live_threads();
#if !defined(__SANITIZE_ADDRESS__)  // whose allocator may be locked by a thread that is not here
  InternName("interned in the child " + std::to_string(number));
  ThreadRegistry::Global().Losses();
  OnThread([&] {
    FERRET_SCOPE("on a thread of the child");
    if (ThreadId() != 0 || t_writer->kind != WriterKind::kNone) result = 4;
  });
#endif
  return result;
}

// Forks, runs `child` there, and returns its exit status, or the signal it died of, negative.
template <typename Child>
int StatusOf(Child child) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(60);  // whoever waits for a lock that nobody holds any more dies of it
    child();
  }
  EXPECT_GT(pid, 0);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

TEST(Fork, WhileThreadsRecordInternStartAndExitHarmsNeitherParentNorChild) {
  ASSERT_EQ(g_handlers, 0);
  constexpr int kForks = 200;
  Recorder* const recorder = NewRecorder({.chunks = 512});
  CountingSink sink;
  TestSession session(recorder, &sink);
  session.StartDrain();
  std::atomic<bool> done{false};
  std::atomic<uint64_t> attempts{0}, lost{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      uint64_t mine = 0;
      for (int i = 0; !done; ++i) {
        FERRET_SCOPE("recording");
        // Fills the table up in the course of the test; what comes then goes inline.
        const Scope named("interning " + std::to_string(t) + " " + std::to_string(i));
        mine += 2;
      }
      attempts += mine;
      lost += LostBy(ThreadId()).total();
    });
  }
  threads.emplace_back([&] {
    while (!done) {
      OnThread([&] {
        { FERRET_SCOPE("short life"); }
        ++attempts;
        lost += LostBy(ThreadId()).total();
      });
    }
  });
  while (sink.threads() < 3) ASSERT_TRUE(session.Flush());
  for (int i = 0; i < kForks; ++i) {
    ASSERT_EQ(StatusOf([i] { _exit(RecordInChild(i)); }), 0) << "fork " << i;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  session.Stop();
  EXPECT_EQ(attempts, sink.All().scopes + lost);
  EXPECT_EQ(sink.All().truncated, 0u);
}

// By the system call, of which no handler knows. Each thread must find out by itself, whatever it was doing.
TEST(Fork, AnUnknownChildOfAThreadThatLosesItsScopesStopsAtItsNextOne) {
  Recorder* const recorder = NewRecorder({.chunks = 2});
  CountingSink sink;
  TestSession session(recorder, &sink);  // nothing is drained
  OnThread([&] {
    while (LostBy(ThreadId()).total() < 10) { FERRET_SCOPE("fills the pool"); }
    const auto pid = static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid == 0) {
      { FERRET_SCOPE("in the child"); }
      _exit(Enabled() ? 1 : t_writer->kind == WriterKind::kSuppressed ? 0 : 2);
    }
    ASSERT_GT(pid, 0);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(Enabled());
  });
  session.Stop();
}

TEST(Fork, AChildOfARecordingThreadLeavesItsCopyOfTheChunkAloneAndExitsNormally) {
  Recorder* const recorder = NewRecorder({});
  CountingSink sink;
  TestSession session(recorder, &sink);
  session.StartDrain();
  uint32_t thread = 0;
  OnThread([&] {
    thread = ThreadId();
    const ThreadState* const state = CurrentState();
    {
      FERRET_SCOPE("open across the fork");
      const char* const cursor = state->cursor;
      EXPECT_EQ(StatusOf([&] {
                  {
                    FERRET_SCOPE("in the child");
                    const Annotation annotation("in the child");
                  }
                  if (state->cursor != cursor) _exit(9);
                  const int result = RecordInChild(0);
                  // Destructors of scopes that the parent opened, of the thread and of the process.
                  std::exit(result);
                }),
                0);
      EXPECT_TRUE(Enabled()) << "the parent goes on";
    }
    { FERRET_SCOPE("after the fork"); }
  });
  session.Stop();
  EXPECT_EQ(sink.Of(thread).scopes, 2u);
  EXPECT_EQ(sink.Of(thread).truncated, 0u);
}

// The end of a scope that the parent began runs in the child, when the stack is unwound there.
TEST(Fork, EndsOfTheParentsScopesAreIgnoredInTheChild) {
  Recorder* const recorder = NewRecorder({});
  HandDrain drain(recorder);
  OnThread([&] {
    const RecordingOn on(recorder);
    static Site site{"begun in the parent", RecordType::kScopeBegin, 0};
    const ScopeEnd end = BeginScope(site);
    const uint32_t offset = CurrentState()->current->write_offset;
    const Chunk* const chunk = CurrentState()->current;
    EXPECT_EQ(StatusOf([&] {
                EndScope(end);
                _exit(chunk->write_offset == offset ? 0 : 1);
              }),
              0);
    EndScope(end);
  });
  EXPECT_EQ(CountOf(Walk(drain.Chunks()), RecordType::kScopeEnd), 1u);
}

TEST(Fork, AGrandchildRecordsNothingEither) {
  Recorder* const recorder = NewRecorder({});
  const RecordingOn on(recorder);
  EXPECT_EQ(StatusOf([] { _exit(StatusOf([] { _exit(RecordInChild(1)); })); }), 0);
}

TEST(Fork, WithRecordingOffChangesNothingInTheParent) {
  EXPECT_EQ(StatusOf([] { _exit(RecordInChild(2)); }), 0);
  EXPECT_FALSE(Enabled());
  EXPECT_NE(t_writer->kind, WriterKind::kSuppressed);
}

}  // namespace
}  // namespace ferret::internal
