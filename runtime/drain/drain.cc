// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/drain.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <utility>

namespace ferret::internal {

Drain::Drain(const EventBuilder::Config& config, Recorder* recorder, const ClockMap* clock, BatchSink* sink,
             CrashLog* log)
    : recorder_(recorder),
      sink_(sink),
      log_(log),
      batch_events_(config.batch_events),
      builder_(config, clock, sink),
      stale_(std::move(recorder->leftover_chunks())) {
  recorder->leftover_chunks().clear();
}

void Drain::TakeAnnounced() {
  Chunk* chunks[64];
  for (;;) {
    const size_t count = recorder_->pool().TakeAnnounced(chunks, std::size(chunks));
    for (size_t i = 0; i < count; ++i) Admit(chunks[i]);
    if (count < std::size(chunks)) return;
  }
}

void Drain::Admit(Chunk* chunk) {
  // Acquire, released when the chunk was opened: the header is complete.
  const uint32_t owner = chunk->owner.load(std::memory_order_acquire);
  // A chunk in the open queue without an owner was announced twice, or recycled while it was open.
  assert(owner == chunk->thread);
  if (owner != chunk->thread) return;
  chunk->read_offset = chunk->header_bytes;
  if (chunk->epoch < recorder_->first_epoch()) {
    stale_.push_back(chunk);
    return;
  }
  ThreadTrace& trace = builder_.TraceOf(*chunk);
  // Out of order only if the queue were not first-in first-out for each producer.
  assert(trace.chunks.empty() || trace.chunks.back()->sequence + 1 == chunk->sequence);
  trace.chunks.push_back(chunk);
  if (log_ != nullptr && trace.crash_slot == CrashLog::kNoSlot) {
    trace.crash_slot = log_->AddThread(trace.thread, trace.os_tid, trace.name);
  }
}

uint64_t Drain::CountUnread(const Chunk& chunk) {
  uint64_t count = 0;
  const uint32_t end = chunk.write_offset.load(std::memory_order_acquire);
  for (uint32_t offset = chunk.read_offset; offset < end;) {
    uint64_t header;
    std::memcpy(&header, chunk.bytes() + offset, 8);
    const RecordType type = TypeOf(header);
    count += type == RecordType::kScopeBegin || type == RecordType::kOpBegin || type == RecordType::kInstant ||
             type == RecordType::kCounter || type == RecordType::kMemory;
    offset += RecordBytes(header);
  }
  return count;
}

void Drain::SubmitPairsOf(const Chunk& chunk) {
  const uint32_t end = chunk.write_offset.load(std::memory_order_acquire);
  for (uint32_t offset = chunk.read_offset; offset < end;) {
    uint64_t header, place;
    std::memcpy(&header, chunk.bytes() + offset, 8);
    if (TypeOf(header) == RecordType::kDeviceEnd) {
      std::memcpy(&place, chunk.bytes() + offset + 16, 8);
      if (place >> 32 == kDevicePairComplete) {
        device().submitted()->push_back({PayloadOf(header), static_cast<uint32_t>(place), 0, 0, 0});
      }
    }
    offset += RecordBytes(header);
  }
}

void Drain::ReleaseStaleChunks() {
  for (size_t i = 0; i < stale_.size();) {
    Chunk* const chunk = stale_[i];
    if (chunk->sealed.load(std::memory_order_acquire) == 0) {
      ++i;
      continue;
    }
    late_ += CountUnread(*chunk);
    SubmitPairsOf(*chunk);
    recorder_->pool().Recycle(chunk);
    stale_[i] = stale_.back();
    stale_.pop_back();
  }
}

bool Drain::LookAtFront(ThreadTrace& trace) {
  Chunk* const chunk = trace.chunks.front();
  // Sealed before offset: if sealed was set, the offset that is loaded afterwards is final. The other way round,
  // records written between the two loads would be lost with the chunk.
  trace.front_sealed = chunk->sealed.load(std::memory_order_acquire) != 0;
  trace.readable = chunk->write_offset.load(std::memory_order_acquire);
  return trace.readable > chunk->read_offset || trace.front_sealed;
}

uint64_t Drain::NextTicks(const ThreadTrace& trace) const {
  const Chunk* const chunk = trace.chunks.front();
  if (trace.readable == chunk->read_offset) return 0;  // only to be recycled: do it now
  uint64_t ticks;
  std::memcpy(&ticks, chunk->bytes() + chunk->read_offset + 8, 8);
  return ticks;
}

bool Drain::ReadFront(ThreadTrace& trace) {
  if (log_ != nullptr) return ReadFrontInSlices(trace);
  Chunk* const chunk = trace.chunks.front();
  if (builder_.numbers_chunks() && chunk->read_offset == chunk->header_bytes) builder_.NumberScopes(trace, chunk);
  builder_.EnterWindow(trace, chunk->window, chunk->window == recorder_->first_window());
  builder_.Consume(trace, chunk->bytes() + chunk->read_offset, chunk->bytes() + trace.readable);
  pass_bytes_ += trace.readable - chunk->read_offset;
  chunk->read_offset = trace.readable;
  // The thread opens the next chunk before it seals this one, so an unsealed chunk is the last one with records.
  if (!trace.front_sealed) return false;
  trace.chunks.pop_front();
  recorder_->pool().Recycle(chunk);
  return !trace.chunks.empty() && LookAtFront(trace);
}

uint64_t Drain::Pass(uint64_t now_ticks, bool deliver) {
  pass_bytes_ = 0;
  if (log_ != nullptr) ReleaseHeldChunks();
  TakeAnnounced();
  ReleaseStaleChunks();

  active_.clear();
  over_.clear();
  builder_.ForEachTrace([this](ThreadTrace& trace) {
    if (!trace.chunks.empty() && LookAtFront(trace)) active_.push_back(&trace);
    if (trace.exited) over_.push_back(&trace);
  });
  while (!active_.empty()) {
    size_t most_behind = 0;
    uint64_t ticks = UINT64_MAX;
    uint64_t others = now_ticks;  // the earliest that any other thread may still bring
    for (size_t i = 0; i < active_.size(); ++i) {
      const uint64_t next = NextTicks(*active_[i]);
      if (next < ticks) {
        others = std::min(others, ticks);
        ticks = next;
        most_behind = i;
      } else {
        others = std::min(others, next);
      }
    }
    // Nothing unread is older than the most backward thread's next record.
    builder_.AdvanceTo(std::min(ticks, now_ticks));
    builder_.ReadAloneTo(others);
    if (log_ != nullptr && !finishing_) {
      // What came after the pass began waits for the next one, so that nothing has to wait for its link at the end of this
      // one; and what could not be cut any more is not read.
      if (ticks >= now_ticks || !log_->HasRoom(builder_.trace_count())) break;
    }
    if (!ReadFront(*active_[most_behind])) {
      active_[most_behind] = active_.back();
      active_.pop_back();
    }
  }
  builder_.AdvanceTo(now_ticks);
  for (ThreadTrace* trace : over_) {
    if (!builder_.IsOver(*trace) || !trace->held.empty() || trace->advanced) continue;
    if (log_ != nullptr) log_->ForgetThread(trace->crash_slot);
    builder_.Remove(*trace);
  }
  if (log_ != nullptr) {
    // Of chunks, or of room to say what a batch has.
    const bool low = recorder_->pool().RunningLow() || !log_->HasRoom(2 * builder_.trace_count());
    Cut(deliver || low);
    if (low) sink_->WantSettled();
    log_->SetSteps(builder_.steps(), builder_.step_end_ns());
  } else if (deliver) {
    builder_.DeliverBatch();
  }
  return pass_bytes_;
}

void Drain::Finish(uint64_t now_ticks) {
  finishing_ = true;
  Pass(now_ticks);
  builder_.Finish(now_ticks);
  // Whoever has the batch in which everything is closed has everything.
  if (log_ != nullptr) log_->SetLastBatch(builder_.LastBatch());
  std::vector<Chunk*>& left = recorder_->leftover_chunks();
  left = std::move(stale_);
  builder_.ForEachTrace([&](ThreadTrace& trace) {
    left.insert(left.end(), trace.chunks.begin(), trace.chunks.end());
    trace.chunks.clear();
  });
}

}  // namespace ferret::internal
