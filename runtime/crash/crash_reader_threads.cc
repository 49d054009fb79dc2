// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashContents: the threads, each with what it had at one moment, and the ids of what they had.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <new>
#include <utility>

#include "ferret/record_scope.h"
#include "runtime/crash/crash_bounds.h"
#include "runtime/crash/crash_reader.h"

namespace ferret::internal {

void CrashContents::ReadThreads(std::string_view threads, std::string_view carried, std::string_view chunks) {
  const auto lowest_there = [&](uint32_t thread) {
    const std::vector<SavedChunk>& read = read_chunks_[thread];
    size_t i = 0;
    while (i < read.size() && !IsStillThere(chunks, read[i].copy)) ++i;
    return i;
  };
  // Each block is read for the one thread that it names: an entry is not copied for a thread that has one.
  threads = threads.substr(0, sizeof(CrashThread) * kCrashThreads);
  carried = carried.substr(0, sizeof(CarriedBlock) * kCarriedBlocks);
  for (uint64_t at = 0; at + sizeof(CrashThread) <= threads.size(); at += sizeof(CrashThread)) {
    uint32_t number = 0;
    CopyFrom(threads, at + offsetof(CrashThread, thread), &number);
    ThreadCopy copy;
    if (number == 0 || threads_.count(number) != 0 || !CopyThread(threads, carried, at, &copy)) continue;
    if (copy.thread == 0 || threads_.count(copy.thread) != 0) continue;
    const uint32_t thread = copy.thread;
    // Each round in which it moves some of what was copied goes, so there is an end.
    size_t lowest = lowest_there(thread);
    bool known = true;
    for (;;) {
      known = CopyThread(threads, carried, at, &copy) && copy.thread == thread;
      const size_t then = lowest_there(thread);
      if (then == lowest) break;
      lowest = then;
    }
    std::vector<SavedChunk>& read = read_chunks_[thread];
    read.erase(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(known ? lowest : read.size()));
    // Not there any more, it has exited and nothing of it was left.
    if (known) ReadThread(copy);
  }
  for (auto& [number, read] : read_chunks_) {
    // Without an entry: there were too many threads, or nothing of it was read yet. Else it has exited meanwhile.
    if (read.empty() || threads_.count(number) != 0 || lowest_there(number) != 0) continue;
    threads_[number].chunks = std::move(read);
  }
  for (auto& [number, thread] : threads_) {
    std::vector<SavedChunk>& own = thread.chunks;
    chunks_used_ += own.size();
    for (size_t i = 1; i < own.size(); ++i) chunks_missing_ += own[i].chunk->sequence - own[i - 1].chunk->sequence - 1;
    if (!own.empty() && thread.os_tid == 0) thread.os_tid = own[0].chunk->os_tid;
    if (own.empty() && !thread.carried.empty()) AddEmptyChunk(number, &thread);
  }
  read_chunks_.clear();
}

void CrashContents::ReadThread(const ThreadCopy& copy) {
  SavedThread& saved = threads_[copy.thread];
  saved.os_tid = copy.os_tid;
  saved.name = TextOf(copy.name, sizeof(copy.name));
  saved.position = copy.position;
  saved.has_carried = !copy.carried.empty();
  scopes_not_kept_ += copy.not_carried;
  if (saved.has_carried) saved.after_sequence = copy.carried[0].after_sequence;
  int64_t inner_id = 0;
  int64_t inner_start_ns = 0;
  for (const CarriedBlock& block : copy.carried) {
    for (uint32_t i = 0; i < std::min(block.count, CarriedBlock::kScopes); ++i) {
      CarriedScope scope = block.scopes[i];
      if (scope.id < 1 || scope.id >= kMostId || scope.parent_id < 0 || scope.parent_id >= scope.id ||
          scope.start_ns < 0 || scope.start_ns > kMostNs || scope.children_ns < 0 || scope.children_ns > kMostNs / 4 ||
          (scope.is_async == 0 && (scope.id <= inner_id || scope.start_ns < inner_start_ns)) ||
          scope.scope > static_cast<uint8_t>(RecordScope::kStaticRuntimeModel)) {
        ++scopes_bad_;
        continue;
      }
      if (scope.name_id != 0) scope.name_id = names_.IdOf(scope.name_id);
      if (scope.sequence_nr < 0) scope.sequence_nr = -1;
      if (scope.is_async == 0) {
        inner_id = scope.id;
        inner_start_ns = scope.start_ns;
      }
      next_id_ = std::max(next_id_, scope.id + 1);
      saved.carried.push_back(scope);
    }
  }
  // Killed between the two: the scopes that it left open are carried already, and everybody has the rest.
  for (SavedChunk& chunk : read_chunks_[copy.thread]) {
    if (saved.has_carried && chunk.chunk->sequence <= saved.after_sequence) continue;
    saved.chunks.push_back(std::move(chunk));
  }
}

// The thread has exited, and asynchronous scopes of it are open; or its next chunk was opened only afterwards.
void CrashContents::AddEmptyChunk(uint32_t number, SavedThread* thread) {
  SavedChunk empty;
  MakeCopyRoom(chunk_bytes_, &empty.copy);
  empty.chunk = new (empty.copy.chunk) Chunk{};
  empty.chunk->epoch = first_epoch_;
  empty.chunk->window = windows_->current();
  empty.chunk->thread = number;
  empty.chunk->os_tid = thread->os_tid;
  empty.chunk->sequence = thread->after_sequence + 1;
  empty.chunk->begins = thread->carried.back().handle;
  empty.end = kChunkHeaderBytes;
  thread->chunks.push_back(std::move(empty));
}

void CrashContents::ReadSteps(const CrashHeader& header) {
  const uint64_t count = header.steps_count.load(std::memory_order_relaxed);
  if (count == 0) return;
  counts_steps_ = false;
  const auto is_time = [](int64_t ns) { return ns >= 0 && ns <= kMostNs; };
  const auto is_sum = [](int64_t ns) { return ns >= 0 && ns <= kMostNs / 4; };
  const auto is_id = [](int64_t id) { return id >= 0 && id < kMostId; };
  // Killed after the newer one was written, before its chunk was gone: then it is the older one that is needed.
  for (uint64_t i = count; i > 0 && i + 2 > count; --i) {
    CarriedSteps steps = header.steps[(i - 1) % 2];
    const auto found = threads_.find(steps.thread);
    if (found == threads_.end()) continue;
    SavedThread& thread = found->second;
    const uint32_t first = thread.chunks.empty() ? steps.after_sequence + 1 : thread.chunks.front().chunk->sequence;
    if (first != steps.after_sequence + 1) continue;
    if (!is_time(steps.boundary_ns) || !is_time(steps.clear_from_ns) || !is_sum(steps.base_children_ns) ||
        !is_sum(steps.root_children_ns) || !is_id(steps.boundary_next_id) || !is_id(steps.base_id)) {
      return;
    }
    thread.steps = steps;
    counts_steps_ = true;
    return;
  }
}

void CrashContents::CheckIds() {
  std::map<uint64_t, uint64_t> taken;  // from, to
  const auto take = [&taken](uint64_t from, uint64_t count) {
    const auto next = taken.lower_bound(from);
    if (next != taken.end() && next->first < from + count) return false;
    if (next != taken.begin() && std::prev(next)->second > from) return false;
    taken.emplace(from, from + count);
    return true;
  };
  for (auto& [number, thread] : threads_) {
    const auto good = std::remove_if(thread.carried.begin(), thread.carried.end(), [&take](const CarriedScope& scope) {
      return !take(static_cast<uint64_t>(scope.id), 1);
    });
    scopes_bad_ += static_cast<uint64_t>(thread.carried.end() - good);
    thread.carried.erase(good, thread.carried.end());
  }
  const uint64_t count = (chunk_bytes_ - kChunkHeaderBytes) / kBeginBytes;
  for (auto& [number, thread] : threads_) {
    uint64_t least = 1;
    for (const CarriedScope& scope : thread.carried) least = std::max(least, static_cast<uint64_t>(scope.id) + 1);
    bool good = true;
    // A chunk may have been copied before the drain of a process that lives gave it ids, and later ones afterwards.
    bool has_ids = true;
    for (SavedChunk& saved : thread.chunks) {
      const uint64_t first = saved.chunk->first_id;
      has_ids = has_ids && first != 0;
      good = good && first >= least && take(first, count);
      if (good) {
        least = first + count;
      } else {
        chunks_renumbered_ += has_ids;
        saved.chunk->first_id = 0;
      }
    }
  }
}

}  // namespace ferret::internal
