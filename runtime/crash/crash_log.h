// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashLog: what the drain writes into the crash file, so that a reader knows what every exporter has already and what
// the drain knew of chunks that are gone.
//
//     batch built ─► Append: each thread's new position ─► batch handed over ─► exporters: durable up to batch n
//     Settle(n) ─► the positions of n become the threads' own ─► chunks before them are carried, then recycled
//
// A chunk is recycled only when everything that was built from it is settled. What it leaves open, scopes that began in
// it or were carried into it, is written into blocks first: *carried*. A kill between the two finds both, and the number
// of the chunk tells that the blocks are newer.
//
// Drain thread only.

#ifndef FERRET_RUNTIME_CRASH_CRASH_LOG_H_
#define FERRET_RUNTIME_CRASH_CRASH_LOG_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/clock/clock_map.h"
#include "runtime/crash/crash_file.h"

namespace ferret::internal {

class CrashLog {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  explicit CrashLog(CrashFile* file);

  // A slot for the thread; kNoSlot if none is free: what is exported of it may be recovered a second time.
  uint32_t AddThread(uint32_t thread, int32_t os_tid, std::string_view name);
  void NameThread(uint32_t slot, std::string_view name);
  void ForgetThread(uint32_t slot);

  // Up to which batch every exporter has everything durable, or has lost it.
  uint64_t Settled() const;

  // Whether so many entries can be appended.
  bool HasRoom(uint64_t entries) const { return end_ - begin_ + entries <= kCrashEntries; }
  void Append(uint64_t batch, uint32_t slot, uint32_t thread, uint64_t position);
  // Takes over what the journal has up to that batch.
  void Settle(uint64_t batch);

  // The scopes that the thread had open at the end of that chunk, which is recycled next, and how many more of them there
  // were. False, with nothing changed, when there are no blocks left for them.
  bool Carry(uint32_t slot, uint32_t thread, uint32_t after_sequence, const std::vector<CarriedScope>& scopes,
             size_t more = 0);
  // The same with as many of them as there are blocks for.
  void CarryWhatFits(uint32_t slot, uint32_t thread, uint32_t after_sequence, std::vector<CarriedScope>* scopes,
                     size_t more);
  // A carried scope of the thread was ended by a record of another thread, which is recycled next. False if no such scope
  // is carried.
  bool EndCarried(uint32_t slot, uint32_t handle);

  // Where the steps stood at the end of that chunk, which is recycled next.
  void Carry(const CarriedSteps& steps);

  // Copies what is new in it.
  void MirrorClock(const ClockMap& clock);
  void MirrorWindows();
  void SetNext(uint64_t id, uint64_t flow);
  // `steps`: the number of the last step that ended, plus one.
  void SetSteps(uint64_t steps, int64_t end_ns);
  void SetLastBatch(uint64_t batch) { file_->header().last_batch.store(batch, std::memory_order_release); }

 private:
  void FreeBlocks(uint32_t first);

  CrashFile* const file_;
  CrashThread* const threads_;
  CrashEntry* const entries_;
  CarriedBlock* const blocks_;
  CrashClock* const clock_;
  CrashWindows* const windows_;
  std::vector<uint32_t> free_slots_;
  std::vector<uint32_t> free_blocks_;  // 1 + index
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t segments_seen_ = 0;  // of the clock map
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_LOG_H_
