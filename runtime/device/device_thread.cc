// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/device_thread.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "runtime/threads/background_thread.h"

namespace ferret::internal {
namespace {

constexpr int64_t kShortestSleepNs = 1'000'000;
constexpr int64_t kLongestSleepNs = 10'000'000;
// With nothing to look after but what wakes it.
constexpr int64_t kIdleSleepNs = 500'000'000;
constexpr int64_t kLongestHaltNs = 200'000'000;

template <typename T>
void Append(std::vector<T>* to, std::vector<T>* from) {
  to->insert(to->end(), std::make_move_iterator(from->begin()), std::make_move_iterator(from->end()));
  from->clear();
}

}  // namespace

DeviceThread::DeviceThread(Config config) : config_(std::move(config)) {}

DeviceThread::~DeviceThread() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  config_.wake->Wake();
  thread_.join();
}

bool DeviceThread::Start() {
  const BlockSignalsForNewThread block;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {  // no more threads: the caller is told
  }
  return thread_.joinable();
}

bool DeviceThread::Submit(std::vector<SubmittedPair>* pairs) {
  if (pairs->empty()) return true;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return false;
    submitted_ += pairs->size();
    Append(&inbox_, pairs);
  }
  config_.wake->Wake();
  return true;
}

DeviceOutput DeviceThread::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(output_, DeviceOutput());
}

bool DeviceThread::BeginCalls() {
  in_calls_.store(true);
  if (!halted_.load()) return true;
  in_calls_.store(false);
  return false;
}

void DeviceThread::EndCalls() { in_calls_.store(false); }

void DeviceThread::Halt() {
  halted_.store(true);
  config_.wake->Wake();
  const timespec nap{0, 100'000};
  for (int64_t waited = 0; in_calls_.load() && waited < kLongestHaltNs; waited += nap.tv_nsec) nanosleep(&nap, nullptr);
}

void DeviceThread::Run() {
  pthread_setname_np(pthread_self(), "ferret-device");
  if (config_.on_thread_start) config_.on_thread_start();
  DeviceTimer* timer = nullptr;
  if (BeginCalls()) {
    timer = config_.open();
    EndCalls();
  }
  if (timer != nullptr) {
    PairTracker tracker(config_.tracker, timer, config_.now);
    Work(&tracker, timer);
  }
  // Only now, when nothing of the timer is in use any more, may another thread have it.
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = finished_ = true;
  changed_.notify_all();
}

void DeviceThread::Work(PairTracker* tracker, DeviceTimer* timer) {
  int64_t sleep_ns = kShortestSleepNs;
  for (;;) {
    std::vector<SubmittedPair> pairs;
    bool stop;
    bool settle;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      pairs = std::exchange(inbox_, {});
      stop = stop_;
      settle = settle_wanted_ != 0;
    }
    DeviceOutput output;
    bool moved = !pairs.empty();
    bool finish = stop;
    if (BeginCalls()) {
      for (const SubmittedPair& pair : pairs) tracker->Submit(pair);
      pairs.clear();
      moved |= timer->Maintain();
      moved |= tracker->Pass(settle, &output);
      EndCalls();
    } else {
      // Nothing can be asked any more. Domains that were never met cannot be described, so these have no result.
      finish = true;
    }
    if (finish) tracker->GiveUp(&output);
    Publish(std::move(output), *tracker, finish);
    if (finish) {
      // Handed in since, or when nothing could be asked any more. Nobody adds to the inbox now.
      Append(&pairs, &inbox_);
      for (const SubmittedPair& pair : pairs) timer->GiveUp(pair.pair);
      return;
    }
    sleep_ns = moved ? kShortestSleepNs : std::min(2 * sleep_ns, kLongestSleepNs);
    config_.wake->Wait(tracker->idle() ? kIdleSleepNs : sleep_ns);
  }
}

void DeviceThread::Publish(DeviceOutput output, const PairTracker& tracker, bool last) {
  std::lock_guard<std::mutex> lock(mutex_);
  resolved_ += output.results.size();
  Append(&output_.results, &output.results);
  Append(&output_.devices, &output.devices);
  Append(&output_.streams, &output.streams);
  counts_ = tracker.counts();
  closed_ = last;
  changed_.notify_all();
}

bool DeviceThread::Settle(TimePoint deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  ++settle_wanted_;
  config_.wake->Wake();
  const bool settled =
      changed_.wait_until(lock, deadline, [this] { return resolved_ >= submitted_ || finished_; });
  --settle_wanted_;
  return settled;
}

bool DeviceThread::Stop(TimePoint deadline) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    stop_ = true;
    config_.wake->Wake();
    if (!changed_.wait_until(lock, deadline, [this] { return finished_; })) {
      lock.unlock();
      thread_.detach();
      return false;
    }
  }
  thread_.join();
  return true;
}

bool DeviceThread::finished() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return finished_;
}

PairTracker::Counts DeviceThread::counts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

}  // namespace ferret::internal
