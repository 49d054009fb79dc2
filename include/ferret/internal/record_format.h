// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The bytes of a record, as a recording thread writes them and the drain reads them. Not for use by programs.
//
// Every record is a whole number of 8-byte words, never straddles chunks, and begins with two words:
//
//        63            32 31     24 23     16 15             0
//       +----------------+---------+---------+----------------+
//    0  |    payload     |  flags  |  type   | length, words  |
//       +----------------+---------+---------+----------------+
//    1  |               raw clock ticks                       |
//       +-----------------------------------------------------+
//
//    type           words  payload         further words
//    scope begin        2  name id
//    op begin           4  name id         2: sequence number   3: forward thread (32) | RecordScope (8)
//    scope end          2  handle
//    remote end         3  handle          2: thread that began the scope (32)
//    instant            2  name id
//    counter            3  name id         2: value (double)
//    step               3  0: ends here    2: number of the step, or kNextStep
//                          1: begins here
//    thread name        2  name id
//    loss               4  LossReason      2: how many scopes    3: ticks of the first
//    thread exit        2  0
//    details          2+n  length, bytes   2: of the innermost open scope, see detail_format.h
//    memory             7  DeviceType (8)  2: address    3: bytes (signed)    4: total allocated    5: total reserved
//                          | oom (8) << 8  6: device index (signed)
//    device begin       2  pair            ticks: just before the mark was put into the device's stream; of the innermost
//                                          open scope
//    device end         3  pair            ticks: as above    2: place of the stream (32) | outcome (8) << 32
//
// With kInlineName set, the name did not fit into the name table: payload is 0 and the words above are followed by the
// text, an 8-byte length first, padded with zero bytes to whole words.
//
// The handle of a scope is its number among the begins of its thread, 2n+1: odd, so never 0. It is not stored in the
// begin record, since the reader counts along; chunks carry the count at which they start.

#ifndef FERRET_INTERNAL_RECORD_FORMAT_H_
#define FERRET_INTERNAL_RECORD_FORMAT_H_

#include <cstdint>

namespace ferret::internal {

// Changes whenever the meaning of any byte of a record or of a chunk header does.
inline constexpr uint16_t kRecordFormatVersion = 1;

enum class RecordType : uint8_t {
  kScopeBegin = 1,
  kOpBegin = 2,
  kScopeEnd = 3,
  kRemoteEnd = 4,
  kInstant = 5,
  kCounter = 6,
  kStep = 7,
  kThreadName = 8,
  kLoss = 9,
  kThreadExit = 10,
  kDetails = 11,
  kMemory = 12,
  kDeviceBegin = 13,
  kDeviceEnd = 14,
};

enum RecordFlags : uint8_t {
  kNoFlags = 0,
  kInlineName = 1,
  // The scope ends by a remote end, possibly on another thread: it nests in nothing and nothing nests in it.
  kAsync = 2,
  kUserAnnotation = 4,
  // If the next begin of this thread has RecordScope::kBackwardFunction, this scope takes over its sequence number and
  // forward thread (PyTorch's `autograd::engine::evaluate_function: …`).
  kInheritsBackward = 8,
  // sequence_nr and fwd_thread count in the framework's thread ids, not in Ferret's.
  kFrameworkThreads = 16,
  // The end of this scope ends a training step (`Optimizer.step#…`), unless the program marks steps itself.
  kEndsStep = 32,
  // A `ProfilerStep#N` annotation that the program made itself: a step that ends inside needs no slice.
  kMarksStep = 64,
  // Written into a record that was read, in a crash file only: another thread's record has ended the scope, everybody has
  // it, and that record is gone.
  kEndedElsewhere = 128,
};

inline constexpr uint32_t kBeginBytes = 16;
inline constexpr uint32_t kOpBeginBytes = 32;
inline constexpr uint32_t kEndBytes = 16;
inline constexpr uint32_t kRemoteEndBytes = 24;
inline constexpr uint32_t kInstantBytes = 16;
inline constexpr uint32_t kCounterBytes = 24;
inline constexpr uint32_t kStepBytes = 24;
inline constexpr uint32_t kThreadNameBytes = 16;
inline constexpr uint32_t kLossBytes = 32;
inline constexpr uint32_t kThreadExitBytes = 16;
inline constexpr uint32_t kDetailsBytes = 16;
inline constexpr uint32_t kMemoryBytes = 56;
inline constexpr uint32_t kDeviceBeginBytes = 16;
inline constexpr uint32_t kDeviceEndBytes = 24;

inline constexpr uint64_t kNextStep = ~uint64_t{0};
// Outcomes of a device end: the pair is to be timed; or there is none, for the DeviceLoss that is added.
inline constexpr uint64_t kDevicePairComplete = 0;
inline constexpr uint64_t kDevicePairLost = 1;
// Payloads of a step record.
inline constexpr uint32_t kStepEnds = 0;
inline constexpr uint32_t kStepBegins = 1;

// Inline names are cut here, so that a record always fits into the smallest chunk.
inline constexpr uint32_t kMaxInlineName = 1024;

constexpr uint64_t RecordHeader(RecordType type, uint32_t bytes, uint8_t flags, uint32_t payload) {
  return uint64_t{payload} << 32 | uint64_t{flags} << 24 | uint64_t{static_cast<uint8_t>(type)} << 16 | bytes / 8;
}
constexpr uint32_t RecordBytes(uint64_t header) { return static_cast<uint32_t>(header & 0xffff) * 8; }
constexpr RecordType TypeOf(uint64_t header) { return static_cast<RecordType>(header >> 16 & 0xff); }
constexpr uint8_t FlagsOf(uint64_t header) { return static_cast<uint8_t>(header >> 24 & 0xff); }
constexpr uint32_t PayloadOf(uint64_t header) { return static_cast<uint32_t>(header >> 32); }

static_assert(RecordBytes(RecordHeader(RecordType::kOpBegin, kOpBeginBytes, 0xff, ~0u)) == kOpBeginBytes,
              "length and payload do not overlap");

}  // namespace ferret::internal

#endif  // FERRET_INTERNAL_RECORD_FORMAT_H_
