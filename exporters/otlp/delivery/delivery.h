// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Delivery: finished requests on their way to one receiver, through one Transport, from a thread of its own.
//
//   Delivery delivery(std::move(transport), options);
//   delivery.Push(Signal::kTraces, std::move(body), spans);
//   delivery.Flush(deadline);
//   delivery.Close(deadline);  // of several, BeginClose of all comes first
//
// One request at a time, in their order. Only a request that the receiver may take another time is sent again, with
// growing random pauses and never before the receiver wants it, until the signal's timeout is over. One that is too large
// is cut in two, a few times. A receiver that knows no metrics is asked once. Nothing is ever lost uncounted; see
// delivery_counts.h.
//
// With a spill directory, what cannot be delivered in its time, or is left at the end, is kept there and sent again once
// the receiver takes requests. Push never touches the disk: when more than half of the queue waits, the thread moves the
// oldest of it to the disk before it sends anything. What finds the whole queue full all the same is lost.
//
// Push, counts and Flush, any thread; BeginClose, Close and the destructor, one thread. In the child of a fork the thread
// does not exist: the child must not touch a Delivery, not even destroy it.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/status.h"
#include "exporters/otlp/delivery/delivery_counts.h"
#include "exporters/otlp/delivery/delivery_options.h"
#include "exporters/otlp/transport.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

class DeliverySender;

class Delivery {
 public:
  // No thread before the first Push.
  Delivery(std::unique_ptr<Transport> transport, DeliveryOptions options);
  // Close with a deadline of two seconds, unless it was called.
  ~Delivery();
  Delivery(const Delivery&) = delete;
  Delivery& operator=(const Delivery&) = delete;

  // Never waits for the receiver or the disk. The number of the request; that of the one before if it was lost at once.
  uint64_t Push(Signal signal, std::string body, uint64_t items);

  // Whether this request or an earlier one is neither delivered, nor on disk, nor lost.
  bool IsUndecided(uint64_t number) const;

  // Waits until all that was pushed before is decided: delivered, on disk or lost. DeadlineExceeded, or why there is
  // no thread to do it.
  absl::Status Flush(RunnerClock::Time deadline);

  // What is pushed from now on is lost, what waits is sent for three quarters of the time. Waits for nothing, so that
  // several can be closed by one deadline: Close then waits for each in turn. Later calls do nothing.
  void BeginClose(RunnerClock::Time deadline);

  // BeginClose, unless it was called: then its deadline holds. Waits until all is sent, or the three quarters are over;
  // what is left then is spilled, or else lost. Returns by the deadline also when the transport hangs: it is cancelled, and
  // if that does not help for half of the rest, it is left behind with the thread and everything that the thread uses,
  // which nobody touches again. Later calls do nothing.
  void Close(RunnerClock::Time deadline);

  DeliveryCounts counts() const;

 private:
  // With the lock. What there is to say if there is no thread; the next Push tries again.
  std::string StartThread();
  void Abandon(std::unique_lock<std::mutex> lock, RunnerClock::Time deadline);

  DeliverySender* const sender_;  // deleted by the destructor, unless the thread was left behind
  std::thread thread_;
  bool started_ = false;       // guarded by the sender's mutex, as start_failed_ is
  bool start_failed_ = false;  // and it was said
  bool closing_ = false;
  RunnerClock::Time close_deadline_;  // if closing_
  bool closed_ = false;
  bool abandoned_ = false;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_H_
