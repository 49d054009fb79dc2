// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the Drain that is for crash files: batches that are cuts, and chunks that wait until they are settled.
//
//   read a slice ─► batch full, and no op waits for its link? ─► journal: each thread's position ─► deliver
//   chunk read to its end ─► held ─► its last batch settled: marks, carried scopes ─► recycled
//
// A batch that has an op that waits would lack it although its record was read. So threads are read in the order of time,
// up to the start of the pass, and one that comes to such an op stops before it. What can wait all the same are ops that
// end in the same nanosecond as another thread's, or are closed by force; the cut waits for them, up to a bound.

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/drain/drain.h"
#include "runtime/drain/record_reader.h"

namespace ferret::internal {
namespace {

// What is read before it is looked whether the batch is full: some hundred scopes.
constexpr uint32_t kSliceBytes = 8192;
// So many times the size of a batch is waited for links.
constexpr size_t kMostBatches = 16;

}  // namespace

void Drain::NoteAdvance(ThreadTrace& trace, const Chunk& chunk) {
  trace.position = CrashPosition(chunk.sequence, chunk.read_offset);
  if (trace.advanced) return;
  trace.advanced = true;
  advanced_.push_back(&trace);
}

bool Drain::ReadFrontInSlices(ThreadTrace& trace) {
  Chunk* const chunk = trace.chunks.front();
  if (chunk->read_offset == chunk->header_bytes) {
    builder_.NumberScopes(trace, chunk);
    log_->SetNext(static_cast<uint64_t>(builder_.next_id()), static_cast<uint64_t>(builder_.linker().next_flow()));
  }
  builder_.EnterWindow(trace, chunk->window, chunk->window == recorder_->first_window());
  bool blocked = false;
  while (chunk->read_offset < trace.readable && !blocked) {
    const uint32_t from = chunk->read_offset;
    const uint32_t to = std::min(trace.readable, from + kSliceBytes);
    const char* const reached = builder_.Consume(trace, chunk->bytes() + from, chunk->bytes() + to);
    chunk->read_offset = static_cast<uint32_t>(reached - chunk->bytes());
    pass_bytes_ += chunk->read_offset - from;
    blocked = chunk->read_offset < to;
    NoteAdvance(trace, *chunk);
    Cut(false);
  }
  if (chunk->read_offset < trace.readable) return true;
  if (!trace.front_sealed) return false;
  trace.chunks.pop_front();
  Hold(trace, chunk);
  return !trace.chunks.empty() && LookAtFront(trace);
}

void Drain::Cut(bool even_if_small) {
  const size_t size = builder_.BatchSize();
  if (!even_if_small && size < batch_events_) return;
  if (!builder_.IsAtCut()) {
    if (size < kMostBatches * batch_events_) return;
    builder_.HurryLinks();
  }
  if (!builder_.BatchIsEmpty()) {
    if (!log_->HasRoom(advanced_.size())) return;
    // Before anybody can have the batch.
    for (ThreadTrace* trace : advanced_) {
      log_->Append(builder_.BatchNumber(), trace->crash_slot, trace->thread, trace->position);
    }
    log_->SetNext(static_cast<uint64_t>(builder_.next_id()), static_cast<uint64_t>(builder_.linker().next_flow()));
  }
  for (ThreadTrace* trace : advanced_) trace->advanced = false;
  advanced_.clear();
  builder_.DeliverBatch();
}

void Drain::Hold(ThreadTrace& trace, Chunk* chunk) {
  const bool remote_ends = trace.remote_ends != trace.remote_ends_held;
  trace.remote_ends_held = trace.remote_ends;
  std::vector<CarriedScope> open = builder_.OpenScopes(trace, kMaxCarriedScopes);
  const size_t beyond = trace.open.size() + trace.open_async.size() - open.size();
  trace.held.push_back({chunk, builder_.LastBatch(), remote_ends, std::move(open), beyond,
                        builder_.StepsAfter(trace, chunk->sequence)});
  // A pass over a full pool takes its time, in which threads may wait for chunks that could go.
  if (log_->Settled() != settled_) ReleaseHeldChunks();
  if (recorder_->pool().RunningLow()) sink_->WantSettled();
}

void Drain::ReleaseHeldChunks() {
  const uint64_t settled = settled_ = log_->Settled();
  log_->Settle(settled);
  builder_.ForEachTrace([&](ThreadTrace& trace) {
    while (!trace.held.empty() && Release(trace, trace.held.front(), settled)) trace.held.pop_front();
  });
}

void Drain::RecycleHeldChunks() {
  builder_.ForEachTrace([this](ThreadTrace& trace) {
    for (const ThreadTrace::HeldChunk& held : trace.held) recorder_->pool().Recycle(held.chunk);
    trace.held.clear();
  });
}

bool Drain::Release(ThreadTrace& trace, ThreadTrace::HeldChunk& held, uint64_t settled) {
  if (held.batch > settled) return false;
  const bool low = recorder_->pool().RunningLow();
  // An end that came before its begin is still needed, unless the memory is needed more.
  if (held.remote_ends && builder_.HasRecentEarlyEnds() && !low) {
    held.batch = builder_.LastBatch() + 1;
    return false;
  }
  if (held.remote_ends) MarkRemoteEnds(*held.chunk);
  // The name may be in this chunk.
  log_->NameThread(trace.crash_slot, trace.name);
  // First: whoever finds that the scopes are carried takes the chunk for gone.
  if (held.steps) log_->Carry(*held.steps);
  const uint32_t sequence = held.chunk->sequence;
  if (!log_->Carry(trace.crash_slot, trace.thread, sequence, held.open, held.open_beyond)) {
    // Others may give blocks back; but no chunk waits for that when threads wait for chunks.
    if (!low) return false;
    log_->CarryWhatFits(trace.crash_slot, trace.thread, sequence, &held.open, held.open_beyond);
  }
  recorder_->pool().Recycle(held.chunk);
  return true;
}

void Drain::MarkRemoteEnds(const Chunk& chunk) {
  for (uint32_t offset = chunk.header_bytes; offset < chunk.read_offset;) {
    const char* const record = chunk.bytes() + offset;
    const uint64_t header = Word(record, 0);
    if (TypeOf(header) == RecordType::kRemoteEnd) {
      ThreadTrace* const owner = builder_.FindTrace(static_cast<uint32_t>(Word(record, 2)));
      if (owner != nullptr) MarkEndedElsewhere(*owner, PayloadOf(header));
    }
    offset += RecordBytes(header);
  }
}

// The begin is in a block, if its chunk is gone, or else in a chunk that is still there.
void Drain::MarkEndedElsewhere(ThreadTrace& trace, uint32_t handle) {
  if (log_->EndCarried(trace.crash_slot, handle)) return;
  for (ThreadTrace::HeldChunk& held : trace.held) {
    for (CarriedScope& scope : held.open) {
      if (scope.handle == handle) scope.ended = 1;
    }
  }
  Chunk* holder = nullptr;
  const auto look = [&](Chunk* chunk) {
    // Signed, since handles wrap around.
    if (static_cast<int32_t>(handle - chunk->begins) > 0) holder = chunk;
  };
  for (const ThreadTrace::HeldChunk& held : trace.held) look(held.chunk);
  for (Chunk* chunk : trace.chunks) look(chunk);
  if (holder == nullptr) return;
  uint32_t begins = holder->begins;
  for (uint32_t offset = holder->header_bytes; offset < holder->read_offset;) {
    char* const record = holder->bytes() + offset;
    const uint64_t header = Word(record, 0);
    const RecordType type = TypeOf(header);
    if ((type == RecordType::kScopeBegin || type == RecordType::kOpBegin) && (begins += 2) == handle) {
      Put(record, 0, RecordHeader(type, RecordBytes(header), FlagsOf(header) | kEndedElsewhere, PayloadOf(header)));
      return;
    }
    offset += RecordBytes(header);
  }
}

}  // namespace ferret::internal
