// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/delivery.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/delivery/delivery_sender.h"
#include "runtime/threads/background_thread.h"

namespace ferret::otlp {
namespace {

// Head of the list of abandoned states, which nobody reads. Relaxed: each element is only ever looked at by its thread
// and by its Delivery.
std::atomic<DeliverySender*> g_abandoned{nullptr};

}  // namespace

Delivery::Delivery(std::unique_ptr<Transport> transport, DeliveryOptions options)
    : sender_(new DeliverySender(std::move(transport), std::move(options))) {}

Delivery::~Delivery() {
  Close(sender_->clock().After(absl::Seconds(2)));
  if (!abandoned_) delete sender_;
}

uint64_t Delivery::Push(Signal signal, std::string body, uint64_t items) {
  std::unique_lock<std::mutex> lock(sender_->mutex);
  sender_->Add(signal, std::move(body), items);
  const uint64_t number = sender_->last_sequence;
  if (sender_->closing) return number;
  const std::string failure = StartThread();
  // The thread speaks between requests. One that a receiver holds may last for as long as the run.
  const std::string report = sender_->sending ? sender_->TakeReportIfDue() : "";
  sender_->work.notify_one();
  lock.unlock();
  if (!failure.empty()) sender_->Say(failure);
  if (!report.empty()) sender_->Say(report);
  return number;
}

bool Delivery::IsUndecided(uint64_t number) const {
  std::lock_guard<std::mutex> lock(sender_->mutex);
  return sender_->IsUndecided(number);
}

std::string Delivery::StartThread() {
  if (started_) return "";
  const auto& start = sender_->options().start_thread;
  const auto run = [sender = sender_] { sender->Run(); };
  const BlockSignalsForNewThread block;
  try {
    thread_ = start ? start(run) : std::thread(run);
    started_ = true;
  } catch (const std::system_error& error) {
    if (std::exchange(start_failed_, true)) return "";
    return absl::StrCat("no thread could be started, what is to be sent waits for one: ", error.what());
  }
  return "";
}

absl::Status Delivery::Flush(RunnerClock::Time deadline) {
  std::unique_lock<std::mutex> lock(sender_->mutex);
  const uint64_t last = sender_->last_sequence;
  while (sender_->IsUndecided(last)) {
    if (sender_->abandoned) return absl::DeadlineExceededError("the receiver was left behind");
    if (!started_) return absl::UnavailableError("no thread could be started to send anything");
    if (sender_->clock().Now() >= deadline) return absl::DeadlineExceededError("not everything was sent in time");
    sender_->clock().WaitUntil(sender_->done, lock, deadline);
  }
  return absl::OkStatus();
}

void Delivery::BeginClose(RunnerClock::Time deadline) {
  if (closing_) return;
  closing_ = true;
  std::lock_guard<std::mutex> lock(sender_->mutex);
  const RunnerClock::Time now = sender_->clock().Now();
  close_deadline_ = std::max(now, deadline);
  sender_->closing = true;
  sender_->send_until = now + (close_deadline_ - now) / 4 * 3;
  sender_->work.notify_one();
}

void Delivery::Close(RunnerClock::Time deadline) {
  if (closed_) return;
  closed_ = true;
  BeginClose(deadline);
  deadline = close_deadline_;
  DeliverySender& sender = *sender_;
  RunnerClock& clock = sender.clock();
  std::unique_lock<std::mutex> lock(sender.mutex);
  if (!started_) {
    sender.SpillRest(lock, deadline);
    sender.LoseRest();
    const std::string report = sender.TakeReport();
    lock.unlock();
    if (!report.empty()) sender.Say(report);
    return;
  }
  const auto wait_until = [&](RunnerClock::Time until) {
    while (!sender.finished && clock.Now() < until) clock.WaitUntil(sender.done, lock, until);
  };
  wait_until(sender.send_until);
  if (!sender.finished) sender.CancelTransport();
  // A transport that hangs all the same keeps the thread from the disk, and the caller from the next Delivery: some time is
  // left for them.
  const RunnerClock::Time now = clock.Now();
  wait_until(now + (std::max(now, deadline) - now) / 2);
  if (!sender.finished && !sender.sending) wait_until(deadline);
  if (!sender.finished) return Abandon(std::move(lock), deadline);
  lock.unlock();
  thread_.join();
}

void Delivery::Abandon(std::unique_lock<std::mutex> lock, RunnerClock::Time deadline) {
  DeliverySender& sender = *sender_;
  sender.abandoned = abandoned_ = true;
  if (sender.sending) sender.SpillRest(lock, deadline);
  sender.LoseRest();
  const std::string report = sender.TakeReport();
  sender.done.notify_all();
  lock.unlock();

  sender.next_abandoned = g_abandoned.load(std::memory_order_relaxed);
  while (!g_abandoned.compare_exchange_weak(sender.next_abandoned, &sender, std::memory_order_relaxed)) {
  }
  thread_.detach();
  sender.Say(absl::StrCat("the connection did not return in time and was left behind", report.empty() ? "" : "; ", report));
}

DeliveryCounts Delivery::counts() const {
  std::lock_guard<std::mutex> lock(sender_->mutex);
  return sender_->counts;
}

}  // namespace ferret::otlp
