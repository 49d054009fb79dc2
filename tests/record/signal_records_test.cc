// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What ferret/signal.h records, and what it refuses to do.

#include "ferret/signal.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "ferret/internal/adapter.h"
#include "tests/record/recording.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
// Their allocators have the names already.
#define FERRET_TEST_CAN_COUNT_MALLOC 0
#else
#define FERRET_TEST_CAN_COUNT_MALLOC 1
#endif

namespace {

__thread bool t_in_handler = false;
std::atomic<int> g_allocations_in_handler{0};

}  // namespace

#if FERRET_TEST_CAN_COUNT_MALLOC
extern "C" void* __libc_malloc(size_t size);
extern "C" void* malloc(size_t size) {
  if (t_in_handler) ++g_allocations_in_handler;
  return __libc_malloc(size);
}
#endif

namespace ferret::internal {
namespace {

const SignalName g_moment("moment");
const SignalName g_handling("handling");

void (*g_body)() = nullptr;

void Handler(int) {
  t_in_handler = true;
  g_body();
  t_in_handler = false;
}

class SignalRecords : public ::testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action = {};
    action.sa_handler = &Handler;
    sigaction(SIGUSR1, &action, nullptr);
    g_allocations_in_handler = 0;
  }
  void TearDown() override {
    SetThreadIdProvider(nullptr);
    signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(g_allocations_in_handler, 0);
  }
  // Interrupts the calling thread with a handler that does this.
  static void Interrupt(void (*body)()) {
    g_body = body;
    raise(SIGUSR1);
  }
  std::vector<ReadRecord> Read() { return Walk(drain_.Chunks()); }

  Recorder* const recorder_ = NewRecorder({});
  HandDrain drain_{recorder_};
};

void RecordBoth() {
  const ScopeFromSignal scope(g_handling);
  InstantFromSignal(g_moment);
}

TEST_F(SignalRecords, OfAThreadThatHasRecordedAreAsAnyOther) {
  OnThread([] {
    CountingSink sink;
    Recorder* const recorder = NewRecorder({});
    TestSession session(recorder, &sink);
    std::vector<std::string> names;
    int64_t outer = 0, parent = 0;
    sink.on_event = [&](const FunctionEvent& event) {
      names.emplace_back(event.name);
      (event.name == "outer" ? outer : parent) = event.name == "outer" ? event.id : event.parent_id;
    };
    sink.on_instant = [&](const InstantEvent& instant) { names.emplace_back(instant.name); };
    {
      FERRET_SCOPE("outer");
      errno = 44;
      Interrupt(&RecordBoth);
      EXPECT_EQ(errno, 44);
    }
    session.Stop();
    EXPECT_EQ(names, (std::vector<std::string>{"handling", "outer", "moment"}));
    EXPECT_EQ(parent, outer) << "the handler's scope is inside of the one that it interrupted";
    EXPECT_EQ(sink.All().truncated, 0u);
  });
}

TEST_F(SignalRecords, OfAThreadThatHasNotRecordedAreDroppedAndCounted) {
  const uint64_t lost = LostBy(0)[LossReason::kNestedInSignal];
  OnThread([&] {
    const RecordingOn on(recorder_);
    Interrupt(&RecordBoth);
    EXPECT_EQ(t_writer->kind, WriterKind::kNone);
  });
  EXPECT_EQ(LostBy(0)[LossReason::kNestedInSignal], lost + 2);
  EXPECT_TRUE(drain_.Chunks().empty());
}

TEST_F(SignalRecords, AreRecordedOnceTheThreadHasAskedForItsId) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    ASSERT_NE(ThreadId(), 0u);
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(ThreadId()).total(), 0u);
  });
  EXPECT_EQ(CountOf(Read(), RecordType::kScopeBegin), 1u);
  EXPECT_EQ(CountOf(Read(), RecordType::kInstant), 1u);
}

TEST_F(SignalRecords, OpenNoChunkWhenTheThreadsIsFull) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    ThreadId();
    while (static_cast<uint32_t>(CurrentState()->cursor - CurrentState()->chunk) + kInstantBytes <=
           CurrentState()->current->begin_limit()) {
      Interrupt([] { InstantFromSignal(g_moment); });
    }
    EXPECT_EQ(LostBy(ThreadId()).total(), 0u);
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(ThreadId())[LossReason::kNestedInSignal], 2u);
    EXPECT_EQ(drain_.Chunks().size(), 1u);
    Instant("gets the thread a new chunk");
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(ThreadId()).total(), 2u);
    EXPECT_EQ(drain_.Chunks().size(), 2u);
  });
}

// The 512 bytes for ends are for these ends too.
TEST_F(SignalRecords, WhoseBeginFilledTheChunkEndInItsReserve) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    ThreadId();
    Interrupt([] {
      const ThreadState* const state = CurrentState();
      while (static_cast<uint32_t>(state->cursor - state->chunk) + kBeginBytes <= state->current->begin_limit()) {
        const ScopeFromSignal scope(g_handling);
      }
      const ScopeFromSignal refused(g_handling);
    });
    EXPECT_EQ(LostBy(ThreadId()).total(), 1u);
  });
  EXPECT_EQ(CountOf(Read(), RecordType::kScopeBegin), CountOf(Read(), RecordType::kScopeEnd));
}

TEST_F(SignalRecords, InTheMiddleOfARecordAreDroppedAndCountedForTheThread) {
  g_body = &RecordBoth;
  SetThreadIdProvider(+[]() -> uint64_t {  // called with the gate closed
    raise(SIGUSR1);
    return 0;
  });
  OnThread([&] {
    const RecordingOn on(recorder_);
    Instant("opens a chunk");
    EXPECT_EQ(LostBy(ThreadId())[LossReason::kNestedInSignal], 2u);
  });
  EXPECT_EQ(CountOf(Read(), RecordType::kInstant), 1u);
}

TEST_F(SignalRecords, AfterANewEpochWaitForTheThreadsOwnNextRecord) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    Instant("in the first epoch");
    Recorder::NewEpoch();
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(ThreadId())[LossReason::kNestedInSignal], 2u);
    Instant("in the second one");
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(ThreadId())[LossReason::kNestedInSignal], 2u);
  });
}

TEST_F(SignalRecords, WhileNothingIsRecordedAreNoAttempts) {
  OnThread([&] {
    { const RecordingOn on(recorder_); Instant("before"); }
    const uint64_t lost = LostBy(CurrentState()->thread).total() + LostBy(0).total();
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(CurrentState()->thread).total() + LostBy(0).total(), lost);
    const uint64_t unowned = LostBy(0).total();
    const RecordingOn on(recorder_);
    Recorder::SuppressThisThread();
    Interrupt(&RecordBoth);
    EXPECT_EQ(LostBy(0).total(), unowned);
  });
}

TEST_F(SignalRecords, UnderANameThatFoundNoRoomAreDroppedAndCounted) {
  OnThread([&] {
    const RecordingOn on(recorder_);
    ThreadId();
    Interrupt([] {
      RecordInstantFromSignal(0);
      EndScopeFromSignal(BeginScopeFromSignal(0));
    });
    EXPECT_EQ(LostBy(ThreadId())[LossReason::kNestedInSignal], 2u);
  });
}

}  // namespace
}  // namespace ferret::internal
