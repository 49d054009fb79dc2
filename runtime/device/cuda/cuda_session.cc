// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/cuda/cuda_session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/device/cuda/cuda_switch.h"
#include "runtime/device/cuda/cuda_timer.h"
#include "runtime/device/device_counter.h"

namespace ferret::internal {
namespace {

// How soon after a look for a driver that was not initialised the next scope may lead to another one.
constexpr int64_t kNextLookNs = 100'000'000;

// The thread that must be kept from calling the driver when the process ends.
struct AtExit {
  std::mutex mutex;
  DeviceThread* thread = nullptr;
  bool registered = false;
  // Of sessions that went on without them. Never freed.
  std::vector<DeviceThread*> hung;
};

AtExit& TheAtExit() {
  static AtExit* const at_exit = new AtExit;
  return *at_exit;
}

void HaltAtExit() {
  // In a forked child there is no thread, and the lock may be one that another thread held.
  if (CudaSwitch::Global().forked.load(std::memory_order_relaxed)) return;
  AtExit& at_exit = TheAtExit();
  std::lock_guard<std::mutex> lock(at_exit.mutex);
  CudaSwitch::Global().state.store(CudaState::kOff);
  CudaTimer::Global().StopCalls();
  if (at_exit.thread != nullptr) at_exit.thread->Halt();
}

// While one thread hangs in the driver another one could only hang, too.
bool OneHangs() {
  std::lock_guard<std::mutex> lock(TheAtExit().mutex);
  const std::vector<DeviceThread*>& hung = TheAtExit().hung;
  return std::any_of(hung.begin(), hung.end(), [](const DeviceThread* thread) { return !thread->finished(); });
}

}  // namespace

uint64_t CudaSession::NewSession() {
  std::atomic<uint64_t>& session = CudaSwitch::Global().session;
  const uint64_t number = session.load(std::memory_order_relaxed) + 1;
  DeviceCounter::OfSession(number).Reset();
  // Release, acquired by recording threads: the counts are 0.
  session.store(number, std::memory_order_release);
  return number;
}

CudaSession::CudaSession(Config config) : config_(std::move(config)) {
  CudaSwitch& cuda = CudaSwitch::Global();
  uint64_t ticks = 0;
  if (config_.scopes_per_second != 0) {
    ticks = static_cast<uint64_t>(1e9 / config_.ns_per_tick / static_cast<double>(config_.scopes_per_second));
    ticks = std::max<uint64_t>(1, ticks);
  }
  cuda.rate.Set(ticks, config_.scopes_per_second);
  CudaTimer::Global().SetWaker([] { CudaSwitch::Global().wake.Wake(); });
  if (!OneHangs()) cuda.state.store(CudaState::kUnused, std::memory_order_release);
}

CudaSession::~CudaSession() {
  TurnOff();
  std::lock_guard<std::mutex> lock(TheAtExit().mutex);
  if (TheAtExit().thread == thread()) TheAtExit().thread = nullptr;
}

// On the device thread.
DeviceTimer* CudaSession::Open() {
  CudaTimer& timer = CudaTimer::Global();
  const bool opened = timer.Open(config_.library.empty() ? kDriverLibrary : config_.library);
  const DriverStatus status = timer.status();
  CudaSwitch& cuda = CudaSwitch::Global();
  if (!opened) {
    CudaState expected = CudaState::kStarting;
    const bool not_yet = status.outcome == DriverOutcome::kNotInitialized;
    cuda.state.compare_exchange_strong(expected, not_yet ? CudaState::kUnused : CudaState::kOff);
    if (!not_yet && config_.on_driver) config_.on_driver(status);
    return nullptr;
  }
  if (config_.on_driver) config_.on_driver(status);
  {
    // Registered after the driver's own, which the program has initialised by now: it runs before them.
    std::lock_guard<std::mutex> lock(TheAtExit().mutex);
    if (!TheAtExit().registered) TheAtExit().registered = std::atexit(&HaltAtExit) == 0;
  }
  // Release, acquired by recording threads: the driver's table is complete. Not if the session has ended meanwhile.
  CudaState expected = CudaState::kStarting;
  cuda.state.compare_exchange_strong(expected, CudaState::kReady, std::memory_order_release,
                                     std::memory_order_relaxed);
  return &timer;
}

void CudaSession::Pump() {
  CudaSwitch& cuda = CudaSwitch::Global();
  if (cuda.state.load(std::memory_order_relaxed) != CudaState::kStarting) return;
  const int64_t now = config_.now();
  // One that found the driver not ready has ended, or is about to.
  if (thread() != nullptr && (now < next_start_ns_ || !thread()->finished())) return;
  next_start_ns_ = now + kNextLookNs;
  DeviceThread::Config config;
  config.tracker = config_.tracker;
  config.now = config_.now;
  config.open = [this] { return Open(); };
  config.on_thread_start = config_.on_thread_start;
  config.wake = &cuda.wake;
  auto started = std::make_unique<DeviceThread>(std::move(config));
  std::lock_guard<std::mutex> start_lock(start_mutex_);
  if (turned_off_) return;
  std::lock_guard<std::mutex> lock(TheAtExit().mutex);
  if (!started->Start()) return;  // no more threads: tried again in the next pass
  thread_.store(started.get(), std::memory_order_release);
  TheAtExit().thread = started.get();
  threads_.push_back(std::move(started));
}

void CudaSession::Submit(std::vector<SubmittedPair>* pairs) {
  if (thread() != nullptr && thread()->Submit(pairs)) return;
  // Of an earlier session, or of a thread that was late with its last record.
  for (const SubmittedPair& pair : *pairs) CudaTimer::Global().GiveUp(pair.pair);
  pairs->clear();
}

DeviceOutput CudaSession::Take() { return thread() == nullptr ? DeviceOutput() : thread()->Take(); }

// Once: by the time that its last user is gone, the next recording may be on.
void CudaSession::TurnOff() {
  std::lock_guard<std::mutex> lock(start_mutex_);
  if (turned_off_) return;
  turned_off_ = true;
  CudaSwitch::Global().state.store(CudaState::kOff, std::memory_order_release);
}

bool CudaSession::Settle(TimePoint deadline) { return thread() == nullptr || thread()->Settle(deadline); }

bool CudaSession::Stop(TimePoint deadline) {
  TurnOff();
  if (thread() == nullptr || thread()->Stop(deadline)) return true;
  std::lock_guard<std::mutex> lock(TheAtExit().mutex);
  TheAtExit().hung.push_back(thread());
  return false;
}

PairTracker::Counts CudaSession::counts() const {
  return thread() == nullptr ? PairTracker::Counts() : thread()->counts();
}

void CudaSession::PrepareForFork() {
  CudaSwitch::Global();
  CudaTimer::Global();
  TheAtExit();
}

void CudaSession::AfterForkInChild() {
  CudaSwitch& cuda = CudaSwitch::Global();
  cuda.forked.store(true, std::memory_order_relaxed);
  cuda.state.store(CudaState::kOff, std::memory_order_relaxed);
  // Scopes that the parent timed are none of the child's sessions'.
  cuda.session.fetch_add(1, std::memory_order_relaxed);
  // Other threads, which are not here, may have held them.
  new (&TheAtExit().mutex) std::mutex;
  CudaTimer::Global().AfterForkInChild();
}

std::string CudaSession::StatusText() { return CudaTimer::Global().status().text; }

}  // namespace ferret::internal
