// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/crash_log.h"

#include <algorithm>
#include <cstring>

namespace ferret::internal {
namespace {

template <typename Type>
Type* PartOf(CrashFile* file, CrashPart part) {
  return reinterpret_cast<Type*>(file->part(part));
}

// Taken from the back: the first ones are used first.
std::vector<uint32_t> Descending(uint32_t count, uint32_t first) {
  std::vector<uint32_t> numbers(count);
  for (uint32_t i = 0; i < count; ++i) numbers[i] = first + count - 1 - i;
  return numbers;
}

}  // namespace

CrashLog::CrashLog(CrashFile* file)
    : file_(file),
      threads_(PartOf<CrashThread>(file, CrashPart::kThreads)),
      entries_(PartOf<CrashEntry>(file, CrashPart::kJournal)),
      blocks_(PartOf<CarriedBlock>(file, CrashPart::kCarried)),
      clock_(PartOf<CrashClock>(file, CrashPart::kClock)),
      windows_(PartOf<CrashWindows>(file, CrashPart::kWindows)),
      free_slots_(Descending(kCrashThreads, 0)),
      free_blocks_(Descending(kCarriedBlocks, 1)) {}

uint32_t CrashLog::AddThread(uint32_t thread, int32_t os_tid, std::string_view name) {
  if (free_slots_.empty()) return kNoSlot;
  const uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  CrashThread& entry = threads_[slot];
  entry.os_tid = os_tid;
  entry.position.store(0, std::memory_order_relaxed);
  entry.carried.store(0, std::memory_order_relaxed);
  entry.not_carried.store(0, std::memory_order_relaxed);
  NameThread(slot, name);
  entry.thread.store(thread, std::memory_order_release);
  return slot;
}

void CrashLog::NameThread(uint32_t slot, std::string_view name) {
  if (slot == kNoSlot) return;
  char* const to = threads_[slot].name;
  const size_t size = std::min(name.size(), sizeof(threads_[slot].name) - 1);
  std::memcpy(to, name.data(), size);
  std::memset(to + size, 0, sizeof(threads_[slot].name) - size);
}

void CrashLog::ForgetThread(uint32_t slot) {
  if (slot == kNoSlot) return;
  CrashThread& entry = threads_[slot];
  entry.thread.store(0, std::memory_order_release);
  FreeBlocks(entry.carried.exchange(0, std::memory_order_release));
  free_slots_.push_back(slot);
}

uint64_t CrashLog::Settled() const {
  uint64_t settled = UINT64_MAX;
  const uint32_t outputs = file_->header().outputs;
  for (uint32_t i = 0; i < outputs; ++i) settled = std::min(settled, file_->OutputBatch(i));
  return settled;
}

void CrashLog::Append(uint64_t batch, uint32_t slot, uint32_t thread, uint64_t position) {
  if (slot == kNoSlot) return;
  entries_[end_ % kCrashEntries] = {batch, position, slot, thread};
  file_->header().journal_end.store(++end_, std::memory_order_release);
}

void CrashLog::Settle(uint64_t batch) {
  uint64_t begin = begin_;
  for (; begin != end_; ++begin) {
    const CrashEntry& entry = entries_[begin % kCrashEntries];
    if (entry.batch > batch) break;
    CrashThread& thread = threads_[entry.slot];
    // The slot may be another thread's by now.
    if (thread.thread.load(std::memory_order_relaxed) != entry.thread) continue;
    thread.position.store(entry.position, std::memory_order_relaxed);
  }
  if (begin == begin_) return;
  begin_ = begin;
  file_->header().journal_begin.store(begin, std::memory_order_release);
}

void CrashLog::FreeBlocks(uint32_t first) {
  while (first != 0) {
    free_blocks_.push_back(first);
    first = blocks_[first - 1].next;
  }
}

bool CrashLog::Carry(uint32_t slot, uint32_t thread, uint32_t after_sequence, const std::vector<CarriedScope>& scopes,
                     size_t more) {
  if (slot == kNoSlot) return true;
  const size_t needed = (scopes.size() + CarriedBlock::kScopes - 1) / CarriedBlock::kScopes;
  if (needed > free_blocks_.size()) return false;
  // The last block first: each names the next one.
  uint32_t first = 0;
  for (size_t block = needed; block-- > 0;) {
    const uint32_t number = free_blocks_.back();
    free_blocks_.pop_back();
    CarriedBlock& to = blocks_[number - 1];
    const size_t from = block * CarriedBlock::kScopes;
    to.thread = thread;
    to.after_sequence = after_sequence;
    to.count = static_cast<uint32_t>(std::min<size_t>(CarriedBlock::kScopes, scopes.size() - from));
    to.next = first;
    std::copy_n(scopes.begin() + static_cast<std::ptrdiff_t>(from), to.count, to.scopes);
    first = number;
  }
  threads_[slot].not_carried.store(static_cast<uint32_t>(std::min<size_t>(more, UINT32_MAX)), std::memory_order_relaxed);
  FreeBlocks(threads_[slot].carried.exchange(first, std::memory_order_release));
  return true;
}

void CrashLog::CarryWhatFits(uint32_t slot, uint32_t thread, uint32_t after_sequence, std::vector<CarriedScope>* scopes,
                             size_t more) {
  const size_t room = free_blocks_.size() * CarriedBlock::kScopes;
  if (scopes->size() > room) {
    more += scopes->size() - room;
    scopes->resize(room);
  }
  Carry(slot, thread, after_sequence, *scopes, more);
}

bool CrashLog::EndCarried(uint32_t slot, uint32_t handle) {
  if (slot == kNoSlot) return true;
  for (uint32_t block = threads_[slot].carried.load(std::memory_order_relaxed); block != 0;
       block = blocks_[block - 1].next) {
    CarriedBlock& carried = blocks_[block - 1];
    for (uint32_t i = 0; i < carried.count; ++i) {
      if (carried.scopes[i].handle != handle) continue;
      carried.scopes[i].ended = 1;
      return true;
    }
  }
  return false;
}

void CrashLog::Carry(const CarriedSteps& steps) {
  CrashHeader& header = file_->header();
  const uint64_t count = header.steps_count.load(std::memory_order_relaxed);
  const CarriedSteps& latest = header.steps[(count + 1) % 2];
  if (count > 0 && latest.thread == steps.thread && latest.after_sequence == steps.after_sequence) return;
  header.steps[count % 2] = steps;
  header.steps_count.store(count + 1, std::memory_order_release);
}

void CrashLog::MirrorClock(const ClockMap& clock) {
  const std::vector<ClockMap::Segment>& segments = clock.segments();
  const uint64_t fresh = std::min<uint64_t>(clock.segments_made() - segments_seen_, segments.size());
  if (fresh == 0) return;
  clock_->ns_per_tick = clock.ns_per_tick();
  uint64_t count = clock_->count.load(std::memory_order_relaxed);
  for (size_t i = segments.size() - fresh; i < segments.size(); ++i) {
    clock_->segments[count++ % kCrashSegments] = {segments[i].source, segments[i].target_ns, segments[i].slope};
    clock_->count.store(count, std::memory_order_release);
  }
  segments_seen_ = clock.segments_made();
}

void CrashLog::MirrorWindows() {
  const Windows& windows = Windows::Global();
  const uint32_t current = windows.current();
  const uint32_t seen = windows_->current.load(std::memory_order_relaxed);
  // From the one that may have ended since; as many as are remembered at most.
  for (uint32_t window = current - std::min(current - seen, Windows::kRemembered - 1);; ++window) {
    windows_->ends[window % Windows::kRemembered].store(windows.EndOf(window), std::memory_order_relaxed);
    if (window == current) break;
  }
  windows_->current.store(current, std::memory_order_release);
}

void CrashLog::SetNext(uint64_t id, uint64_t flow) {
  file_->header().next_id.store(id, std::memory_order_relaxed);
  file_->header().next_flow.store(flow, std::memory_order_relaxed);
}

void CrashLog::SetSteps(uint64_t steps, int64_t end_ns) {
  CrashHeader& header = file_->header();
  if (header.last_step.load(std::memory_order_relaxed) == steps) return;
  header.last_step_end_ns.store(end_ns, std::memory_order_relaxed);
  header.last_step.store(steps, std::memory_order_release);
}

}  // namespace ferret::internal
