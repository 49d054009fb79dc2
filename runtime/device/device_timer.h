// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceTimer: one vendor's way to tell when a stream of a device passed a mark. Knows nothing of scopes and sessions.
//
//     recording thread ──marks──► stream of the device          pair: the marks before and after the work of a scope
//     device thread ──asks──► passed? how long between two?     anchor: a mark of the device thread's own
//     domain: what has a clock of its own (a CUDA context)      place: a stream's number in its domain
//
// All calls come from the device thread, none of them under a lock of Ferret's: each may take any time, and a driver that
// hangs keeps nobody but that thread.

#ifndef FERRET_RUNTIME_DEVICE_DEVICE_TIMER_H_
#define FERRET_RUNTIME_DEVICE_DEVICE_TIMER_H_

#include <cstdint>

#include "ferret/event_batch.h"

namespace ferret::internal {

// Of a pair in the process: its domain, from 1, and its number there. Never 0.
using PairId = uint32_t;
inline constexpr uint32_t kPairBits = 16;
constexpr PairId MakePairId(uint32_t domain, uint32_t index) { return domain << kPairBits | index; }
constexpr uint32_t DomainOf(PairId pair) { return pair >> kPairBits; }
constexpr uint32_t IndexOf(PairId pair) { return pair & ((1u << kPairBits) - 1); }

// A mark in its domain: the first and the second of each pair, and behind them those for anchors.
using MarkId = uint32_t;
constexpr MarkId BeginMark(PairId pair) { return 2 * IndexOf(pair); }
constexpr MarkId EndMark(PairId pair) { return 2 * IndexOf(pair) + 1; }

class DeviceTimer {
 public:
  enum class Passed : uint8_t {
    kYes,
    kNotYet,
    kNever,  // the driver will not tell of this mark
    kLost,   // nor of any other one of the domain
  };

  virtual ~DeviceTimer() = default;

  // Makes marks where they run low, and takes back those that were given up once the device is done with them. True if
  // there was anything to do.
  virtual bool Maintain() = 0;

  // Domains have the numbers 1 to domains(); more may come.
  virtual uint32_t domains() const = 0;
  virtual DeviceInfo Describe(uint32_t domain) = 0;
  // The number of the domain as a trace shows it.
  virtual int64_t ShownDomain(uint32_t domain) = 0;
  virtual StreamInfo DescribeStream(uint32_t domain, uint32_t place) = 0;

  // Whether the domain is gone for good. Asks nothing of the driver.
  virtual bool Lost(uint32_t domain) = 0;
  // Between Enter and Leave the functions below may be called for this domain. False if it is not to be asked now.
  virtual bool Enter(uint32_t domain) = 0;
  virtual void Leave(uint32_t domain) = 0;

  virtual Passed Poll(uint32_t domain, MarkId mark) = 0;
  // Both marks have been passed, `from` first. Time on the device's own clock, and the size of a step of the number it is
  // computed from. False if the driver does not tell.
  virtual bool Elapsed(uint32_t domain, MarkId from, MarkId to, int64_t* ns, int64_t* step_ns) = 0;

  // A mark on a stream of Ferret's own, which nothing else waits for. False if there is none now.
  virtual bool PutAnchor(uint32_t domain, MarkId* mark) = 0;
  // This and the rest ask nothing of the driver, and may be called at any time.
  virtual void FreeAnchor(uint32_t domain, MarkId mark) = 0;

  // The pair has been read, and may be used for other work.
  virtual void Return(PairId pair) = 0;
  // Nobody waits for it any more, but the device may.
  virtual void GiveUp(PairId pair) = 0;
};

// While it lives, the domain can be asked.
class DomainGuard {
 public:
  DomainGuard(DeviceTimer* timer, uint32_t domain) : timer_(timer), domain_(domain), usable_(timer->Enter(domain)) {}
  ~DomainGuard() { timer_->Leave(domain_); }
  DomainGuard(const DomainGuard&) = delete;
  DomainGuard& operator=(const DomainGuard&) = delete;
  bool usable() const { return usable_; }

 private:
  DeviceTimer* const timer_;
  const uint32_t domain_;
  const bool usable_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_DEVICE_TIMER_H_
