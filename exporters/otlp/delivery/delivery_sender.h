// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeliverySender: what Delivery's thread does, and the state that it shares with its Delivery.
//
// A part of delivery.cc, apart only so that each side of the lock can be read alone: Run and what is below "the thread's"
// belong to the thread, the public members are guarded by `mutex`, which is never held during a call of the transport's
// Send, of the disk or of the diagnostic.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_SENDER_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_SENDER_H_

#include <array>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/otlp/delivery/delivery_counts.h"
#include "exporters/otlp/delivery/delivery_options.h"
#include "exporters/otlp/delivery/delivery_report.h"
#include "exporters/otlp/delivery/retry_pause.h"
#include "exporters/otlp/delivery/spill.h"

namespace ferret::otlp {

struct PendingRequest {
  Signal signal = Signal::kTraces;
  std::string body;
  uint64_t items = 0;
  uint64_t sequence = 0;  // of the push that it came with
  bool replayed = false;  // it is on disk
  int cuts = 0;           // that it came out of
  bool tried = false;
  RunnerClock::Time give_up;  // if it was tried
  std::string why;            // it was not taken the last time

  Amount amount() const { return {items, 1}; }
};

class DeliverySender {
 public:
  using Time = RunnerClock::Time;
  using Lock = std::unique_lock<std::mutex>;

  DeliverySender(std::unique_ptr<Transport> transport, DeliveryOptions options);

  // The body of the thread.
  void Run();

  RunnerClock& clock() const { return *options_.clock; }
  const DeliveryOptions& options() const { return options_; }
  bool spills() const { return spill_ != nullptr; }
  void Say(const std::string& text) const;

  // With the lock:

  // Takes the request, or counts it as lost.
  void Add(Signal signal, std::string body, uint64_t items);
  // Whether a request with this sequence or an earlier one is not decided.
  bool IsUndecided(uint64_t sequence) const;
  // Spills what waits as long as there is time, for want of a thread that could. What the thread has in its hands too if
  // it is in the transport. Gives the lock up meanwhile.
  void SpillRest(Lock& lock, Time deadline);
  // Counts everything that waits as lost.
  void LoseRest();
  // For the transport to return from Send.
  void CancelTransport();
  std::string TakeReport() { return report_.Take(clock().Now()); }
  std::string TakeReportIfDue() {
    const auto due = report_.due();
    return due.has_value() && *due <= clock().Now() ? TakeReport() : "";
  }

  std::mutex mutex;
  std::condition_variable work;  // to the thread: a request, or closing
  std::condition_variable done;  // to callers of Flush and Close: a request is decided, or finished
  DeliveryCounts counts;
  uint64_t last_sequence = 0;
  bool closing = false;    // set by BeginClose, with the time below
  Time send_until;
  bool abandoned = false;  // set by Close: the thread may touch nothing any more
  bool finished = false;   // the transport is destroyed, the thread is about to end
  bool sending = false;    // the thread is in the transport, and uses nothing else

  // Keeps an abandoned state reachable, for leak checkers. Written once, by Close.
  DeliverySender* next_abandoned = nullptr;

 private:
  // The thread's. With the lock; all that give it up meanwhile may find the state abandoned afterwards.
  bool Step(Lock& lock);  // false when there is nothing more to do
  bool Idle(Lock& lock);
  bool TakeNext(Lock& lock, Time now);  // false if there is nothing to be taken
  bool MayReplay(Time now) const;
  void TakeReplay(Lock& lock);
  void Attempt(Lock& lock, Time now);
  void Judge(Lock& lock, SendOutcome outcome);
  void Split(Lock& lock, const std::string& why);
  void Wait(Lock& lock, Time until);
  void Speak(Lock& lock, const std::string& text);

  static std::string OrElse(const std::string& text, const char* other) { return text.empty() ? other : text; }
  // More waits than the disk should be spared.
  bool Crowded() const { return spills() && waiting_bytes_ > options_.queue_bytes / 2; }
  // The request in hand cannot be sent now: to the disk with it, or it is lost.
  void Keep(Lock& lock, RequestLoss reason, std::string_view why);
  void Lose(Lock& lock, RequestLoss reason, std::string_view why);
  // Takes the request in hand off the books on which it is. False if abandoned.
  bool Settle(Lock& lock);
  absl::Status Store(Lock& lock, const PendingRequest& request);

  const DeliveryOptions options_;
  std::unique_ptr<Transport> transport_;
  const Form form_;
  std::unique_ptr<Spill> spill_;  // or null; used by the thread, or by Close when it does not
  DeliveryReport report_;

  std::deque<PendingRequest> queue_;
  std::deque<PendingRequest> pieces_;  // of a request that was split: before all others
  std::optional<PendingRequest> hand_;
  uint64_t waiting_bytes_ = 0;  // of queue_
  std::array<bool, kSignalCount> off_{};
  std::string off_why_;

  RetryPause pause_;
  Time hold_until_ = Time::min();    // nothing is sent before
  Time replay_from_ = Time::min();   // nothing is replayed before
  bool new_one_next_ = false;        // new requests and replayed ones take turns
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_SENDER_H_
