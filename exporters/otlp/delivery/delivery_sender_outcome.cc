// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the request in the sender's hand goes: what an answer means, and the books.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/delivery/delivery_sender.h"
#include "exporters/otlp/delivery/request_split.h"

namespace ferret::otlp {
namespace {

// A receiver that takes nothing new is tried with what is on disk no more often than this.
constexpr absl::Duration kReplayPause = absl::Seconds(30);

// So often is a request cut, into 64 pieces at most: a receiver that finds everything too large is not asked thousands of
// times, one after the other, about each request.
constexpr int kMostCuts = 6;

}  // namespace

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
        report_.Warned(now, signal, outcome.message);
      }
      return;
    }
    case SendOutcome::Kind::kUnsupported:
      if (signal == Signal::kMetrics) {
        off_[static_cast<size_t>(signal)] = true;
        off_why_ = absl::StrCat(OrElse(outcome.message, "it does not know them"), "; no more metrics are sent");
        Lose(lock, RequestLoss::kUnsupported, off_why_);
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
  if (hand_->cuts == kMostCuts || hand_->body.size() <= options_.least_cut_bytes) {
    Lose(lock, RequestLoss::kTooLarge, why);
    return;
  }
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
    pieces[i].cuts = hand_->cuts + 1;
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

}  // namespace ferret::otlp
