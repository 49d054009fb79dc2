// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A receiver and a clock for tests of Delivery. Neither is ever freed, since a thread that was left behind may still look
// at them.

#ifndef FERRET_TESTS_OTLP_DELIVERY_FAKES_H_
#define FERRET_TESTS_OTLP_DELIVERY_FAKES_H_

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "exporters/otlp/delivery/delivery.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

inline SendOutcome Delivered(uint64_t rejected = 0, std::string message = "") {
  SendOutcome outcome;
  outcome.rejected = rejected;
  outcome.message = std::move(message);
  return outcome;
}
inline SendOutcome NotTaken(SendOutcome::Kind kind, std::string message = "HTTP 503: overloaded") {
  SendOutcome outcome;
  outcome.kind = kind;
  outcome.message = std::move(message);
  return outcome;
}
inline SendOutcome Retryable(std::optional<absl::Duration> retry_after = std::nullopt) {
  SendOutcome outcome = NotTaken(SendOutcome::Kind::kRetryable);
  outcome.retry_after = retry_after;
  return outcome;
}

// Stands still but for Delivery's thread: when that waits for a moment, the moment has come, up to a limit. Waits that are
// long may be left out: a thread with nothing to do but to look again now and then would run away with the time.
class FlowingClock final : public RunnerClock {
 public:
  static FlowingClock* Create() {
    static auto* const all = new std::vector<std::unique_ptr<FlowingClock>>;
    all->push_back(std::make_unique<FlowingClock>());
    return all->back().get();
  }

  Time Now() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return now_;
  }
  void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Time until) override {
    char name[16] = "";
    pthread_getname_np(pthread_self(), name, sizeof(name));
    bool come = false;
    {
      std::lock_guard<std::mutex> own(mutex_);
      if ((std::strcmp(name, "ferret-otlp") == 0 || callers_too_) && until <= limit_ &&
          until <= now_ + longest_) {
        now_ = std::max(now_, until);
        come = true;
      }
    }
    if (!come) condition.wait_for(lock, std::chrono::milliseconds(1));
  }
  void Advance(absl::Duration by) {
    std::lock_guard<std::mutex> lock(mutex_);
    now_ += absl::ToChronoNanoseconds(by);
    limit_ = std::max(limit_, now_);
  }
  // No moment after this one comes by itself.
  void FlowFor(absl::Duration duration) {
    std::lock_guard<std::mutex> lock(mutex_);
    limit_ = now_ + absl::ToChronoNanoseconds(duration);
  }
  void FlowOnlyForWaitsUpTo(absl::Duration duration) {
    std::lock_guard<std::mutex> lock(mutex_);
    longest_ = absl::ToChronoNanoseconds(duration);
  }
  // Whether moments come for the callers of Flush and Close too: for them to wait for a thread that hangs.
  void FlowForCallers(bool on) {
    std::lock_guard<std::mutex> lock(mutex_);
    callers_too_ = on;
  }
  double SecondsAt(Time time) const { return absl::ToDoubleSeconds(absl::FromChrono(time - kStart)); }
  double Seconds() { return SecondsAt(Now()); }

 private:
  static constexpr Time kStart = Time(std::chrono::seconds(1'000'000));

  std::mutex mutex_;
  Time now_ = kStart;
  Time limit_ = kStart + std::chrono::hours(10);
  std::chrono::nanoseconds longest_ = std::chrono::hours(10);
  bool callers_too_ = false;
};

// What a FakeTransport does and what it saw.
class Receiver {
 public:
  struct Call {
    Signal signal = Signal::kTraces;
    std::string body;
    double at = 0;        // seconds since the clock's start
    double deadline = 0;
  };

  static Receiver* Create(FlowingClock* clock) {
    static auto* const all = new std::vector<std::unique_ptr<Receiver>>;
    all->push_back(std::make_unique<Receiver>(clock));
    return all->back().get();
  }
  explicit Receiver(FlowingClock* on) : clock(on) {}

  // Set before the first request.
  std::function<SendOutcome(const Call&)> on_send = [](const Call&) { return Delivered(); };
  std::function<void()> on_cancel;
  Form form = Form::kJson;

  std::vector<Call> calls() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> bodies;
    for (const Call& call : calls()) bodies.push_back(call.body);
    return bodies;
  }
  void WaitForCalls(size_t count) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (calls_.size() < count) called_.wait(lock);
  }
  bool destroyed() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return destroyed_;
  }

  FlowingClock* const clock;

 private:
  friend class FakeTransport;

  mutable std::mutex mutex_;
  std::condition_variable called_;
  std::vector<Call> calls_;
  bool destroyed_ = false;
};

class FakeTransport final : public Transport {
 public:
  explicit FakeTransport(Receiver* receiver) : receiver_(receiver) {}
  ~FakeTransport() override {
    std::lock_guard<std::mutex> lock(receiver_->mutex_);
    receiver_->destroyed_ = true;
  }

  SendOutcome Send(Signal signal, std::string_view body, RunnerClock::Time deadline) override {
    Receiver::Call call;
    call.signal = signal;
    call.body = std::string(body);
    call.at = receiver_->clock->Seconds();
    call.deadline = receiver_->clock->SecondsAt(deadline);
    {
      std::lock_guard<std::mutex> lock(receiver_->mutex_);
      receiver_->calls_.push_back(call);
      receiver_->called_.notify_all();
    }
    return receiver_->on_send(call);
  }
  void Cancel() override {
    if (receiver_->on_cancel) receiver_->on_cancel();
  }
  Form form() const override { return receiver_->form; }
  std::string Destination() const override { return "http://there:4318/v1/traces"; }
  std::string DestinationOf(Signal signal) const override {
    return signal == Signal::kTraces ? Destination() : "http://there:4318/v1/metrics";
  }

 private:
  Receiver* const receiver_;
};

// Lines that a Delivery said. Never freed, for the same reason.
class Lines {
 public:
  static Lines* Create() {
    static auto* const all = new std::vector<std::unique_ptr<Lines>>;
    all->push_back(std::make_unique<Lines>());
    return all->back().get();
  }
  void Add(const std::string& line) {
    std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(line);
  }
  std::vector<std::string> all() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A Delivery on fakes; options may be changed before Start.
struct Rig {
  Rig() {
    options.clock = clock;
    options.random = [] { return 0.5; };
    options.diagnostic = [lines = lines](const std::string& line) { lines->Add(line); };
  }
  Delivery& Start() {
    delivery = std::make_unique<Delivery>(std::make_unique<FakeTransport>(receiver), options);
    return *delivery;
  }
  absl::Status Flush() { return delivery->Flush(clock->After(absl::Hours(24 * 100))); }
  void Close(absl::Duration time = absl::Seconds(2)) { delivery->Close(clock->After(time)); }
  SignalCounts Traces() const { return delivery->counts()[Signal::kTraces]; }

  FlowingClock* clock = FlowingClock::Create();
  Receiver* receiver = Receiver::Create(clock);
  Lines* lines = Lines::Create();
  DeliveryOptions options;
  std::unique_ptr<Delivery> delivery;
};

// The invariant of delivery_counts.h.
inline void ExpectBalanced(const DeliveryCounts& counts) {
  for (const SignalCounts& of : counts.signals) {
    const Amount lost = of.all_lost();
    EXPECT_EQ(of.pushed.items,
              of.delivered.items + of.rejected.items + of.spilled.items + of.waiting.items + lost.items);
    EXPECT_EQ(of.pushed.requests + of.split,
              of.delivered.requests + of.rejected.requests + of.spilled.requests + of.waiting.requests + lost.requests);
  }
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_DELIVERY_FAKES_H_
