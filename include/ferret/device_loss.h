// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What became of the scopes whose time on a device was asked for. As with the scopes themselves nothing is lost silently:
//
//     asked = timed + sum over reasons
//
// holds exactly once a session has stopped. The scope itself, with its time on the CPU, is recorded in every case but one
// (kScopeLost).

#ifndef FERRET_DEVICE_LOSS_H_
#define FERRET_DEVICE_LOSS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace ferret {

// Why a scope has no time on the device. Values are stored in files, so they are never renumbered.
enum class DeviceLoss : uint8_t {
  kDisabled = 0,         // FERRET_CUDA=off, no driver, no device, or a driver that cannot do it
  kForked = 1,           // in a forked child: a device is not usable there, so a child's session asks for nothing
  kBadStream = 2,        // a null stream, which does not say which of the two default streams it means
  kNoContext = 3,        // the stream has no context, or none is current for a default stream
  kGreenContext = 4,     // the stream belongs to a partition of the device
  kCapture = 5,          // the stream is capturing a graph: nothing runs
  kRateLimited = 6,      // more scopes a second than FERRET_CUDA_RATE
  kPoolExhausted = 7,    // as many as there are events for were waiting to be read
  kRecordFailed = 8,     // the driver refused to mark the stream
  kScopeLost = 9,        // the scope, or a mark of it, found no room in the buffer, or it ended on another thread
  kQueryFailed = 10,     // the driver gave no time for the marks
  kTimeout = 11,         // the stream did not get to the mark in time: destroyed, or stuck
  kDeviceLost = 12,      // the context was destroyed, or an error ended it
  kAbandonedAtStop = 13, // not over, or not known, when the session stopped
};

inline constexpr size_t kDeviceLossCount = 14;

// A short lower-case name for output, for example "pool_exhausted". Any thread.
constexpr const char* DeviceLossText(DeviceLoss reason) {
  switch (reason) {
    case DeviceLoss::kDisabled: return "disabled";
    case DeviceLoss::kForked: return "forked";
    case DeviceLoss::kBadStream: return "bad_stream";
    case DeviceLoss::kNoContext: return "no_context";
    case DeviceLoss::kGreenContext: return "green_context";
    case DeviceLoss::kCapture: return "capture";
    case DeviceLoss::kRateLimited: return "rate_limited";
    case DeviceLoss::kPoolExhausted: return "pool_exhausted";
    case DeviceLoss::kRecordFailed: return "record_failed";
    case DeviceLoss::kScopeLost: return "scope_lost";
    case DeviceLoss::kQueryFailed: return "query_failed";
    case DeviceLoss::kTimeout: return "timeout";
    case DeviceLoss::kDeviceLost: return "device_lost";
    case DeviceLoss::kAbandonedAtStop: return "abandoned_at_stop";
  }
  return "unknown";
}

// What the placing of times of devices on the CPU's clock met with. Nothing of it is lost.
struct DeviceClockCounts {
  uint64_t moved = 0;     // intervals that were moved, so as not to start before their launch, or end after they were seen to
  uint64_t suspect = 0;   // of which by more than the error that was expected
  uint64_t negative = 0;  // that ended before they began, by the driver's numbers: shown as empty
  uint64_t breaks = 0;    // times that the clocks' ratio changed by more than oscillators' can: one was set, or stood still
};

// Cumulative counts of one session.
struct DeviceCounts {
  uint64_t asked = 0;
  uint64_t timed = 0;
  std::array<uint64_t, kDeviceLossCount> lost{};
  // Of those abandoned at stop: whose thread was in the middle of the first mark when the session stopped.
  uint64_t late = 0;
  DeviceClockCounts clock;

  uint64_t& operator[](DeviceLoss reason) { return lost[static_cast<size_t>(reason)]; }
  uint64_t operator[](DeviceLoss reason) const { return lost[static_cast<size_t>(reason)]; }

  uint64_t total_lost() const {
    uint64_t sum = 0;
    for (uint64_t count : lost) sum += count;
    return sum;
  }
};

}  // namespace ferret

#endif  // FERRET_DEVICE_LOSS_H_
