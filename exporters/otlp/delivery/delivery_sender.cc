// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/delivery_sender.h"

#include <pthread.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/target_path.h"

namespace ferret::otlp {
namespace {

DeliveryOptions WithDefaults(DeliveryOptions options) {
  if (options.clock == nullptr) options.clock = RealRunnerClock();
  if (!options.diagnostic) options.diagnostic = &WriteLineToStderr;
  if (!options.random) {
    options.random = [engine = std::mt19937_64(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>()(engine);
    };
  }
  return options;
}

}  // namespace

DeliverySender::DeliverySender(std::unique_ptr<Transport> transport, DeliveryOptions options)
    : options_(WithDefaults(std::move(options))),
      transport_(std::move(transport)),
      form_(transport_->form()),
      report_({transport_->DestinationOf(Signal::kTraces), transport_->DestinationOf(Signal::kMetrics)}, options_.spill_directory),
      pause_(options_.random) {
  if (!options_.spill_directory.empty()) {
    spill_ = std::make_unique<Spill>(SpillOptions{options_.spill_directory, options_.spill_bytes, options_.io});
  }
  counts.queue_capacity = options_.queue_bytes;
}

void DeliverySender::Run() {
  pthread_setname_np(pthread_self(), "ferret-otlp");
  if (options_.on_thread_start != nullptr) options_.on_thread_start();

  Lock lock(mutex);
  while (!abandoned && Step(lock)) {
  }
  if (abandoned) return;
  Speak(lock, report_.Take(clock().Now()));
  if (abandoned) return;

  std::unique_ptr<Transport> transport = std::move(transport_);  // from now on it is not cancelled
  lock.unlock();
  transport.reset();  // here, since it may block as any other call may
  lock.lock();
  if (abandoned) return;
  finished = true;
  done.notify_all();
}

bool DeliverySender::Step(Lock& lock) {
  const Time now = clock().Now();
  // At the end there is one line for all that is left.
  if (const auto due = report_.due(); !closing && due.has_value() && *due <= now) {
    Speak(lock, report_.Take(now));
    return true;
  }
  if (!hand_.has_value()) return TakeNext(lock, now) || Idle(lock);
  const Time earliest = std::max(now, hold_until_);
  if (off_[static_cast<size_t>(hand_->signal)]) {
    Lose(lock, RequestLoss::kUnsupported, off_why_);
  } else if (closing && earliest >= send_until) {
    Keep(lock, RequestLoss::kClosed, OrElse(hand_->why, "no time was left for them at the end"));
  } else if (Crowded()) {
    Keep(lock, RequestLoss::kQueueFull, OrElse(hand_->why, "the receiver is too slow"));
  } else if (hand_->tried && earliest >= hand_->give_up) {
    Keep(lock, RequestLoss::kTimeout, OrElse(hand_->why, "no answer in time"));
  } else if (now < hold_until_) {
    Wait(lock, hold_until_);
  } else {
    Attempt(lock, now);
  }
  return true;
}

bool DeliverySender::Idle(Lock& lock) {
  if (closing) return false;
  const bool replays = spills() && !spill_->empty();
  Wait(lock, replays ? replay_from_ : Time::max());
  return true;
}

void DeliverySender::Wait(Lock& lock, Time until) {
  if (const auto due = report_.due(); !closing && due.has_value()) until = std::min(until, *due);
  if (until == Time::max()) {
    work.wait(lock);
  } else {
    clock().WaitUntil(work, lock, until);
  }
}

bool DeliverySender::TakeNext(Lock& lock, Time now) {
  if (!pieces_.empty()) {
    hand_ = std::move(pieces_.front());
    pieces_.pop_front();
  } else if (MayReplay(now)) {
    new_one_next_ = true;
    TakeReplay(lock);
  } else if (!queue_.empty()) {
    new_one_next_ = false;
    hand_ = std::move(queue_.front());
    queue_.pop_front();
    waiting_bytes_ -= hand_->body.size();
  } else {
    return false;
  }
  return true;
}

bool DeliverySender::MayReplay(Time now) const {
  if (!spills() || spill_->empty() || Crowded() || now < replay_from_) return false;
  if (closing && (pause_.failing() || now >= send_until)) return false;
  return queue_.empty() || (!pause_.failing() && !new_one_next_);
}

void DeliverySender::TakeReplay(Lock& lock) {
  PendingRequest request;
  request.signal = spill_->front_signal();
  request.items = spill_->front_items();
  request.replayed = true;
  lock.unlock();
  absl::StatusOr<SpilledRequest> stored = spill_->Front();
  lock.lock();
  if (abandoned) return;
  if (stored.ok()) request.body = std::move(stored->body);
  hand_ = std::move(request);
  if (!stored.ok()) Lose(lock, RequestLoss::kSpillFailed, std::string(stored.status().message()));
}

void DeliverySender::Attempt(Lock& lock, Time now) {
  if (!hand_->tried) {
    hand_->tried = true;
    hand_->give_up = clock().After(options_.timeouts[static_cast<size_t>(hand_->signal)]);
  }
  const Time deadline = closing ? std::min(hand_->give_up, send_until) : hand_->give_up;
  sending = true;
  counts.in_flight = 1;
  counts.in_flight_items = hand_->items;
  counts.in_flight_signal = hand_->signal;
  lock.unlock();
  SendOutcome outcome = transport_->Send(hand_->signal, hand_->body, deadline);
  lock.lock();
  if (abandoned) return;
  sending = false;
  counts.in_flight = counts.in_flight_items = 0;
  counts.operation_time += absl::FromChrono(clock().Now() - now);
  ++counts.attempts;
  Judge(lock, std::move(outcome));
}

void DeliverySender::Speak(Lock& lock, const std::string& text) {
  if (text.empty()) return;
  lock.unlock();
  Say(text);
  lock.lock();
}

void DeliverySender::Say(const std::string& text) const {
  std::string line = absl::StrCat("exporter otlp: ", text);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  options_.diagnostic(line);
}

}  // namespace ferret::otlp
