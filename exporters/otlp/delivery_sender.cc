// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery_sender.h"

#include <pthread.h>

#include <algorithm>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/request_split.h"
#include "runtime/export/file/target_path.h"

namespace ferret::otlp {
namespace {

// A receiver that takes nothing new is tried with what is on disk no more often than this.
constexpr absl::Duration kReplayPause = absl::Seconds(30);

RunnerClock* RealClock() {
  static RunnerClock* const clock = new RunnerClock;  // leaked: abandoned threads may read it until the process is gone
  return clock;
}

DeliveryOptions WithDefaults(DeliveryOptions options) {
  if (options.clock == nullptr) options.clock = RealClock();
  if (!options.diagnostic) options.diagnostic = &WriteLineToStderr;
  if (!options.random) {
    options.random = [engine = std::mt19937_64(std::random_device()())]() mutable {
      return std::uniform_real_distribution<double>()(engine);
    };
  }
  return options;
}

std::string OrElse(const std::string& text, const char* other) { return text.empty() ? other : text; }

}  // namespace

DeliverySender::DeliverySender(std::unique_ptr<Transport> transport, DeliveryOptions options)
    : options_(WithDefaults(std::move(options))),
      transport_(std::move(transport)),
      form_(transport_->form()),
      report_(transport_->Destination(), options_.spill_directory),
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
  if (!hand_.has_value()) {
    TakeNext(lock, now);
    return hand_.has_value() || abandoned || Idle(lock);
  }
  const Time earliest = std::max(now, hold_until_);
  if (off_[static_cast<size_t>(hand_->signal)]) {
    Lose(lock, RequestLoss::kUnsupported, "the receiver does not know the signal");
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

void DeliverySender::TakeNext(Lock& lock, Time now) {
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
  }
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

void DeliverySender::Judge(Lock& lock, SendOutcome outcome) {
  const Time now = clock().Now();
  if (outcome.kind == SendOutcome::Kind::kRetryable) {
    hold_until_ = clock().After(pause_.Next(outcome.retry_after));
    replay_from_ = std::max(hold_until_, clock().After(kReplayPause));
    if (hand_->replayed) {
      hand_.reset();  // it stays on disk
    } else {
      hand_->why = std::move(outcome.message);
    }
    return;
  }
  pause_.Reset();
  replay_from_ = Time::min();
  const Signal signal = hand_->signal;
  switch (outcome.kind) {
    case SendOutcome::Kind::kRetryable:  // above
    case SendOutcome::Kind::kDelivered: {
      const uint64_t rejected = std::min(outcome.rejected, hand_->items);
      const uint64_t delivered = hand_->items - rejected;
      if (!Settle(lock)) return;
      SignalCounts& of = counts[signal];
      of.delivered += {delivered, rejected == 0 ? 1u : 0u};
      of.rejected += {rejected, rejected == 0 ? 0u : 1u};
      if (rejected > 0) {
        report_.Rejected(now, signal, rejected, OrElse(outcome.message, "it does not say why"));
      } else if (!outcome.message.empty()) {
        report_.Warned(now, outcome.message);
      }
      return;
    }
    case SendOutcome::Kind::kUnsupported:
      if (signal == Signal::kMetrics) {
        off_[static_cast<size_t>(signal)] = true;
        Lose(lock, RequestLoss::kUnsupported,
             absl::StrCat(OrElse(outcome.message, "it does not know them"), "; no more metrics are sent"));
        return;
      }
      [[fallthrough]];  // without traces there is nothing to be gained by being quiet
    case SendOutcome::Kind::kRefused:
      Lose(lock, RequestLoss::kRefused, OrElse(outcome.message, "refused"));
      return;
    case SendOutcome::Kind::kTooLarge:
      Split(lock, OrElse(outcome.message, "too large"));
      return;
  }
}

void DeliverySender::Split(Lock& lock, const std::string& why) {
  lock.unlock();
  auto parts = SplitRequest(hand_->signal, form_, hand_->body);
  lock.lock();
  if (abandoned) return;
  if (!parts.has_value()) {
    Lose(lock, RequestLoss::kTooLarge, why);
    return;
  }
  const uint64_t items = hand_->items;
  PendingRequest pieces[2];
  for (size_t i = 0; i < 2; ++i) {
    pieces[i].signal = hand_->signal;
    pieces[i].sequence = hand_->sequence;
    pieces[i].body = std::move((*parts)[i].body);
  }
  // What was pushed is the measure, should the body have another number of items.
  pieces[0].items = std::min((*parts)[0].items, items);
  pieces[1].items = items - pieces[0].items;
  if (!Settle(lock)) return;
  ++counts[pieces[0].signal].split;
  for (size_t i = 2; i-- > 0;) {
    counts[pieces[i].signal].waiting += pieces[i].amount();
    counts.queue_bytes += pieces[i].body.size();
    pieces_.push_front(std::move(pieces[i]));
  }
}

bool DeliverySender::Settle(Lock& lock) {
  if (hand_->replayed) {
    lock.unlock();
    spill_->PopFront();
    lock.lock();
    if (abandoned) return false;
    counts[hand_->signal].spilled -= hand_->amount();
  } else {
    counts[hand_->signal].waiting -= hand_->amount();
    counts.queue_bytes -= hand_->body.size();
  }
  hand_.reset();
  done.notify_all();
  return true;
}

void DeliverySender::Lose(Lock& lock, RequestLoss reason, std::string_view why) {
  const Signal signal = hand_->signal;
  const Amount amount = hand_->amount();
  const std::string text(why);
  if (!Settle(lock)) return;
  counts[signal][reason] += amount;
  report_.Lost(clock().Now(), signal, amount, text);
}

void DeliverySender::Keep(Lock& lock, RequestLoss reason, std::string_view why) {
  if (hand_->replayed) {
    hand_.reset();
    return;
  }
  if (!spills()) return Lose(lock, reason, why);
  const std::string text(why);
  const absl::Status status = Store(lock, *hand_);
  if (abandoned) return;
  if (!status.ok()) {
    const bool full = absl::IsResourceExhausted(status);
    return Lose(lock, full ? RequestLoss::kSpillFull : RequestLoss::kSpillFailed,
                absl::StrCat(text, "; ", std::string(status.message())));
  }
  const Signal signal = hand_->signal;
  const Amount amount = hand_->amount();
  Settle(lock);
  counts[signal].spilled += amount;
  report_.Kept(clock().Now(), signal, amount, text);
}

absl::Status DeliverySender::Store(Lock& lock, const PendingRequest& request) {
  lock.unlock();
  const absl::Status status = spill_->Append(request.signal, form_, request.items, request.body);
  lock.lock();
  return status;
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
