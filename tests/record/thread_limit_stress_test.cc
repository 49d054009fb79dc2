// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "runtime/record/thread_registry.h"
#include "tests/record/recording.h"

namespace ferret::internal {
namespace {

// Threads with small stacks that record, and then live until they are let go.
class Crowd {
 public:
  explicit Crowd(size_t count) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    for (size_t i = 0; i < count; ++i) {
      pthread_t thread;
      int error = 0;
      // Other processes of the machine may hold the last thread numbers for a while.
      for (int attempt = 0; attempt < 1000; ++attempt) {
        error = pthread_create(&thread, &small, &Crowd::Live, this);
        if (error != EAGAIN) break;
        usleep(10'000);
      }
      if (error != 0) break;
      threads_.push_back(thread);
    }
    pthread_attr_destroy(&small);
    std::unique_lock<std::mutex> lock(mutex_);
    recorded_all_.wait(lock, [&] { return recorded_ == threads_.size(); });
  }
  ~Crowd() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    let_go_.notify_all();
    for (const pthread_t thread : threads_) pthread_join(thread, nullptr);
  }
  size_t size() const { return threads_.size(); }

 private:
  static void* Live(void* self) {
    auto* crowd = static_cast<Crowd*>(self);
    // No attempt, and so no loss if it is refused.
    ThreadId();
    { FERRET_SCOPE("one of a crowd"); }
    std::unique_lock<std::mutex> lock(crowd->mutex_);
    ++crowd->recorded_;
    crowd->recorded_all_.notify_one();
    crowd->let_go_.wait(lock, [crowd] { return crowd->over_; });
    { FERRET_SCOPE("one of a crowd, again"); }
    return nullptr;
  }

  std::vector<pthread_t> threads_;
  std::mutex mutex_;
  std::condition_variable recorded_all_, let_go_;
  size_t recorded_ = 0;
  bool over_ = false;
};

TEST(ThreadLimit, ThreadsBeyondTheLimitAreRefusedAndCountedAndLaterOnesFindRoomAgain) {
  constexpr size_t kBeyond = 10;
  Recorder* const recorder = NewRecorder({.chunks = 2 * ThreadRegistry::kMaxThreads});
  CountingSink sink;
  TestSession session(recorder, &sink);
  session.StartDrain();
  {
    const Crowd crowd(ThreadRegistry::kMaxThreads + kBeyond);
    ASSERT_EQ(crowd.size(), ThreadRegistry::kMaxThreads + kBeyond) << "the machine allows no more threads";
    EXPECT_EQ(ThreadRegistry::Global().live_threads(), ThreadRegistry::kMaxThreads);
    EXPECT_EQ(LostBy(0)[LossReason::kTooManyThreads], kBeyond);
  }
  EXPECT_EQ(LostBy(0)[LossReason::kTooManyThreads], 2 * kBeyond) << "a refused thread stays refused";
  EXPECT_EQ(ThreadRegistry::Global().live_threads(), 0u);
  uint32_t thread = 0;
  OnThread([&] {
    FERRET_SCOPE("afterwards");
    thread = ThreadId();
  });
  session.Stop();
  EXPECT_EQ(sink.All().scopes, 2 * ThreadRegistry::kMaxThreads + 1);
  EXPECT_EQ(sink.Of(thread).scopes, 1u);
  EXPECT_EQ(LostBy(0).total(), 2 * kBeyond);
}

}  // namespace
}  // namespace ferret::internal
