// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Why a scope that a program asked for never became a function event.
//
// Ferret never loses silently: for every thread, and in every session,
//
//     scopes attempted = function events delivered + sum over reasons of lost
//
// holds exactly, for each exporter. The sums are shown in the output; ferret::LossesByThread() has them for each thread.

#ifndef FERRET_LOSS_H_
#define FERRET_LOSS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace ferret {

// The unit of every count is one scope, instant or counter, never bytes. Values are stored in files, so they are
// never renumbered.
enum class LossReason : uint8_t {
  kPoolExhausted = 0,     // no free chunk, policy drop
  kBlockTimeout = 1,      // no free chunk within the bounded wait, policy block
  kMemoryCap = 2,         // the hard cap is reached, policy grow
  kNestedInSignal = 3,    // a signal handler recorded while its own thread was writing a record (also ferret/signal.h)
  kAfterThreadExit = 4,   // recorded by a destructor that ran after the thread had left Ferret
  kTooManyThreads = 5,    // more live threads than thread states
  kStoppedRace = 6,       // recorded by a thread that passed the enabled test just before the session stopped
  kExporterDropped = 7,   // the event was built, and an exporter did not get it: its queue was full, or it hung
  kExporterFailed = 8,    // an exporter refused the batch
};

inline constexpr size_t kLossReasonCount = 9;

// A short lower-case name for output, for example "pool_exhausted". Any thread.
constexpr const char* LossReasonText(LossReason reason) {
  switch (reason) {
    case LossReason::kPoolExhausted: return "pool_exhausted";
    case LossReason::kBlockTimeout: return "block_timeout";
    case LossReason::kMemoryCap: return "memory_cap";
    case LossReason::kNestedInSignal: return "nested_in_signal";
    case LossReason::kAfterThreadExit: return "after_thread_exit";
    case LossReason::kTooManyThreads: return "too_many_threads";
    case LossReason::kStoppedRace: return "stopped_race";
    case LossReason::kExporterDropped: return "exporter_dropped";
    case LossReason::kExporterFailed: return "exporter_failed";
  }
  return "unknown";
}

// Cumulative counts of one session, of one thread or of the whole process.
struct LossCounts {
  std::array<uint64_t, kLossReasonCount> by_reason{};

  uint64_t& operator[](LossReason reason) { return by_reason[static_cast<size_t>(reason)]; }
  uint64_t operator[](LossReason reason) const { return by_reason[static_cast<size_t>(reason)]; }

  uint64_t total() const {
    uint64_t sum = 0;
    for (uint64_t count : by_reason) sum += count;
    return sum;
  }

  LossCounts& operator+=(const LossCounts& other) {
    for (size_t i = 0; i < kLossReasonCount; ++i) by_reason[i] += other.by_reason[i];
    return *this;
  }
};

}  // namespace ferret

#endif  // FERRET_LOSS_H_
