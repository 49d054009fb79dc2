// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What those who wait for the drain's thread, and its sink, are told.

#include "runtime/drain/drain_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>

#include "ferret/scope.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

std::chrono::steady_clock::time_point In(std::chrono::seconds time) { return std::chrono::steady_clock::now() + time; }

// Kept, as the process keeps its recorder.
Recorder* TheRecorder() {
  static Recorder* const recorder = Recorder::Create({});
  return recorder;
}

TEST(DrainThread, TellsItsSinkThatThereIsNoMoreForNow) {
  Recorder* const recorder = TheRecorder();
  ASSERT_NE(recorder, nullptr);
  CountingSink sink;
  std::atomic<bool> pushed{false}, ended{false};
  sink.on_push = [&] { pushed = true; };
  sink.on_pass_ended = [&] { ended = ended || pushed; };
  TestSession session(recorder, &sink);
  session.StartDrain();
  { FERRET_SCOPE("one"); }
  ASSERT_TRUE(session.Flush());
  EXPECT_TRUE(pushed);
  EXPECT_TRUE(ended);
  session.Stop();
}

// Or a dump that is made at that moment would never be written.
TEST(DrainThread, NobodyWaitsForOneThatHasBeenGivenUp) {
  Recorder* const recorder = TheRecorder();
  ASSERT_NE(recorder, nullptr);
  static CountingSink* const sink = new CountingSink;  // the thread goes on with them
  static DrainThread* const drain = new DrainThread({}, recorder, sink);
  std::promise<void> entered, release;
  std::atomic<int> pushes{0};
  sink->on_push = [&] {
    if (pushes++ > 0) return;
    entered.set_value();
    release.get_future().wait();
  };
  recorder->Start(false);
  ASSERT_TRUE(drain->Start());
  { FERRET_SCOPE("one"); }
  std::thread waiting([&] { EXPECT_EQ(drain->FlushAndListOpen(In(std::chrono::hours(1))), nullptr); });
  entered.get_future().wait();
  Recorder::Stop();
  EXPECT_FALSE(drain->Finish(In(std::chrono::seconds(0))));
  waiting.join();
  EXPECT_FALSE(drain->Flush(In(std::chrono::hours(1))));
  release.set_value();
  while (!drain->Flush(In(std::chrono::hours(1)))) std::this_thread::yield();  // until it has finished
}

}  // namespace
}  // namespace ferret::internal
