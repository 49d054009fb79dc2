// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What Delivery's callers do with the sender's state. All of it with the lock.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/delivery/delivery_sender.h"

namespace ferret::otlp {

void DeliverySender::Add(Signal signal, std::string body, uint64_t items) {
  SignalCounts& of = counts[signal];
  const Amount amount = {items, 1};
  of.pushed += amount;
  if (closing) {
    of[RequestLoss::kClosed] += amount;
  } else if (off_[static_cast<size_t>(signal)]) {
    of[RequestLoss::kUnsupported] += amount;  // which was said when it was found out
  } else if (body.size() > options_.queue_bytes || counts.queue_bytes > options_.queue_bytes - body.size()) {
    of[RequestLoss::kQueueFull] += amount;
    report_.Lost(clock().Now(), signal, amount, "the queue is full");
  } else {
    of.waiting += amount;
    counts.queue_bytes += body.size();
    waiting_bytes_ += body.size();
    PendingRequest request;
    request.signal = signal;
    request.body = std::move(body);
    request.items = items;
    request.sequence = ++last_sequence;
    queue_.push_back(std::move(request));
  }
}

bool DeliverySender::IsUndecided(uint64_t sequence) const {
  if (hand_.has_value() && !hand_->replayed && hand_->sequence <= sequence) return true;
  if (!pieces_.empty() && pieces_.front().sequence <= sequence) return true;
  return !queue_.empty() && queue_.front().sequence <= sequence;
}

void DeliverySender::SpillRest(Lock& lock, Time deadline) {
  if (!spills()) return;
  const auto spill = [&](const PendingRequest& request) {
    if (clock().Now() >= deadline) return;
    const Amount amount = request.amount();
    const Signal signal = request.signal;
    const uint64_t bytes = request.body.size();
    const absl::Status status = Store(lock, request);
    SignalCounts& of = counts[signal];
    of.waiting -= amount;
    counts.queue_bytes -= bytes;
    if (status.ok()) {
      of.spilled += amount;
      report_.Kept(clock().Now(), signal, amount, "no time was left for them at the end");
    } else {
      of[absl::IsResourceExhausted(status) ? RequestLoss::kSpillFull : RequestLoss::kSpillFailed] += amount;
      report_.Lost(clock().Now(), signal, amount, std::string(status.message()));
    }
  };
  // The body in hand is read here and by the transport, and written by nobody.
  if (hand_.has_value() && !hand_->replayed) spill(*hand_);
  for (const PendingRequest& request : pieces_) spill(request);
  for (const PendingRequest& request : queue_) spill(request);
}

void DeliverySender::LoseRest() {
  for (size_t i = 0; i < kSignalCount; ++i) {
    SignalCounts& of = counts.signals[i];
    if (of.waiting.requests > 0) {
      report_.Lost(clock().Now(), static_cast<Signal>(i), of.waiting, "no time was left for them at the end");
    }
    of[RequestLoss::kClosed] += of.waiting;
    of.waiting = Amount();
  }
  queue_.clear();
  pieces_.clear();  // but not what is in hand: the transport may be reading it
  waiting_bytes_ = counts.queue_bytes = 0;
  counts.in_flight = counts.in_flight_items = 0;
}

void DeliverySender::CancelTransport() {
  if (transport_ != nullptr) transport_->Cancel();
}

}  // namespace ferret::otlp
