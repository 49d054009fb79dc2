// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/crash_replay.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/drain/drain.h"

namespace ferret {
namespace {

using internal::Chunk;
using internal::ChunkPool;
using internal::CrashContents;
using internal::Drain;
using internal::EventBuilder;
using internal::Recorder;

class ReplaySink final : public internal::BatchSink {
 public:
  ReplaySink(const std::function<absl::Status(const EventBatch&)>& take, ReplayCounts* counts)
      : take_(take), counts_(counts) {}

  std::shared_ptr<EventBatch> NewBatch() override { return std::make_shared<EventBatch>(); }

  void Push(std::shared_ptr<EventBatch> batch) override {
    if (!open_) {
      // Each notice comes once, and is needed for what comes later.
      threads_.insert(threads_.end(), batch->threads.begin(), batch->threads.end());
      return;
    }
    Hand(batch.get());
  }

  // From here on batches are handed over.
  void Open() {
    open_ = true;
    EventBatch batch;
    batch.threads = std::move(threads_);
    if (!batch.empty()) Hand(&batch);
  }
  const absl::Status& status() const { return status_; }

 private:
  void Hand(EventBatch* batch) {
    if (!status_.ok()) return;
    batch->sequence = ++batches_;
    status_ = take_(*batch);
    counts_->events += batch->count();
    counts_->links += batch->links.size();
    for (const FunctionEvent& event : batch->events) counts_->truncated += event.is_truncated;
  }

  const std::function<absl::Status(const EventBatch&)>& take_;
  ReplayCounts* const counts_;
  bool open_ = false;
  uint64_t batches_ = 0;
  std::vector<ThreadInfo> threads_;
  absl::Status status_;
};

// One thread's chunks, on their way into the pool of the replay.
struct Played {
  const CrashContents::SavedThread* saved;
  size_t next = 0;        // to be announced
  Chunk* open = nullptr;  // in the pool: the last one, unless it was announced as sealed, for the drain then takes it away
};

// The end of the last whole record before `offset`.
uint32_t RecordEnd(const Chunk& chunk, uint32_t end, uint32_t offset) {
  uint32_t at = internal::kChunkHeaderBytes;
  while (at < end) {
    uint64_t header;
    std::memcpy(&header, chunk.bytes() + at, 8);
    const uint32_t next = at + internal::RecordBytes(header);
    if (next > offset) break;
    at = next;
  }
  return at;
}

class Replay {
 public:
  Replay(CrashContents* contents, std::unique_ptr<Recorder> recorder)
      : contents_(contents), recorder_(std::move(recorder)), token_(recorder_->pool().open_queue()) {
    for (auto& [thread, saved] : contents->threads()) {
      if (!saved.chunks.empty()) played_.push_back({&saved});
    }
  }

  Recorder* recorder() { return recorder_.get(); }

  // Announces what the batch has, up to the last record of it.
  void AnnounceSettled(uint64_t batch, Drain* drain) {
    for (Played& played : played_) {
      const uint64_t position = contents_->PositionAt(played.saved->chunks[0].chunk->thread, batch);
      for (const CrashContents::SavedChunk& saved : played.saved->chunks) {
        const uint32_t sequence = saved.chunk->sequence;
        if (sequence > internal::SequenceOf(position)) break;
        const bool whole = sequence < internal::SequenceOf(position);
        const uint32_t end = whole ? saved.end : RecordEnd(*saved.chunk, saved.end, internal::OffsetOf(position));
        Announce(&played, end, whole, drain);
      }
    }
  }

  // And then all the rest.
  void AnnounceRest(Drain* drain) {
    for (Played& played : played_) {
      if (played.open != nullptr) {  // announced in part
        played.open->write_offset.store(played.saved->chunks[played.next - 1].end, std::memory_order_release);
        played.open->sealed.store(played.next < played.saved->chunks.size(), std::memory_order_release);
      }
      while (played.next < played.saved->chunks.size()) {
        const CrashContents::SavedChunk& saved = played.saved->chunks[played.next];
        Announce(&played, saved.end, played.next + 1 < played.saved->chunks.size(), drain);
      }
    }
  }

 private:
  // The drain reads a thread's chunks by number, without gaps.
  void Announce(Played* played, uint32_t end, bool sealed, Drain* drain) {
    const CrashContents::SavedChunk& saved = played->saved->chunks[played->next];
    Chunk* const chunk = recorder_->pool().TakeFree();
    if (chunk == nullptr) return;  // there is one for each
    std::memcpy(chunk->bytes() + internal::kChunkHeaderBytes, saved.chunk->bytes() + internal::kChunkHeaderBytes,
                saved.end - internal::kChunkHeaderBytes);
    chunk->magic = internal::kChunkMagic;
    chunk->version = internal::kRecordFormatVersion;
    chunk->header_bytes = internal::kChunkHeaderBytes;
    chunk->chunk_bytes = contents_->chunk_bytes();
    chunk->epoch = saved.chunk->epoch;
    chunk->window = saved.chunk->window;
    chunk->thread = saved.chunk->thread;
    chunk->os_tid = saved.chunk->os_tid;
    chunk->framework_thread = saved.chunk->framework_thread;
    chunk->sequence = static_cast<uint32_t>(played->next);
    chunk->begins = saved.chunk->begins;
    chunk->first_id = saved.chunk->first_id;
    chunk->write_offset.store(end, std::memory_order_relaxed);
    chunk->sealed.store(sealed, std::memory_order_relaxed);
    chunk->owner.store(chunk->thread, std::memory_order_release);
    if (played->next == 0 && drain != nullptr) {
      internal::ThreadTrace& trace = drain->builder().TraceOf(*chunk);
      for (const internal::CarriedScope& scope : played->saved->carried) drain->builder().Reopen(trace, scope);
      if (played->saved->steps) drain->builder().RestoreSteps(trace, *played->saved->steps);
    }
    recorder_->pool().Announce(token_, chunk);
    played->open = sealed ? nullptr : chunk;
    ++played->next;
  }

  CrashContents* const contents_;
  std::unique_ptr<Recorder> recorder_;
  moodycamel::ProducerToken token_;
  std::vector<Played> played_;
};

std::unique_ptr<Recorder> MakeRecorder(const CrashContents& contents) {
  Recorder::Config config;
  config.pool.chunk_bytes = contents.chunk_bytes();
  config.pool.chunks = 1;
  for (const auto& [thread, saved] : contents.threads()) {
    config.pool.chunks += static_cast<uint32_t>(saved.chunks.size());
  }
  config.pool.max_chunks = config.pool.chunks;
  std::unique_ptr<Recorder> recorder(Recorder::Create(config));
  if (recorder != nullptr) recorder->SetFirstWindow(contents.first_window());
  return recorder;
}

EventBuilder::Config BuilderConfig(CrashContents* contents) {
  EventBuilder::Config config;
  config.chunk_ids = true;
  config.steps = contents->counts_steps();
  config.names = &contents->names();
  config.windows = &contents->windows();
  config.thread_name = [contents](const Chunk& chunk) {
    const auto found = contents->threads().find(chunk.thread);
    return found == contents->threads().end() ? std::string() : found->second.name;
  };
  config.next_id = contents->next_id();
  config.next_flow = contents->next_flow();
  return config;
}

}  // namespace

absl::Status ReplayCrash(CrashContents* contents, std::optional<uint64_t> settled, bool with_flops,
                         const std::function<absl::Status(const EventBatch&)>& take, ReplayCounts* counts) {
  if (settled && contents->IsComplete(*settled)) return absl::OkStatus();
  std::unique_ptr<Recorder> recorder = MakeRecorder(*contents);
  if (recorder == nullptr) return absl::ResourceExhaustedError("no memory for what is to be recovered");

  EventBuilder::Config builder = BuilderConfig(contents);
  builder.with_flops = with_flops;
  const ClockMap clock = contents->Clock();
  ReplaySink sink(take, counts);
  Replay replay(contents, std::move(recorder));
  Drain drain(builder, replay.recorder(), &clock, &sink);
  if (settled) {
    replay.AnnounceSettled(*settled, &drain);
    drain.Pass(contents->last_ticks());
    drain.builder().HurryLinks();
    drain.builder().DeliverBatch();
  }
  sink.Open();
  replay.AnnounceRest(&drain);
  drain.Finish(contents->last_ticks());
  return sink.status();
}

bool ViewCrash(CrashContents* contents, const std::function<void(const EventBatch&)>& take,
               const std::function<void(const internal::ThreadTrace&)>& visit) {
  std::unique_ptr<Recorder> recorder = MakeRecorder(*contents);
  if (recorder == nullptr) return false;
  const ClockMap clock = contents->Clock();
  ReplayCounts counts;
  const std::function<absl::Status(const EventBatch&)> hand = [&take](const EventBatch& batch) {
    take(batch);
    return absl::OkStatus();
  };
  ReplaySink sink(hand, &counts);
  Replay replay(contents, std::move(recorder));
  Drain drain(BuilderConfig(contents), replay.recorder(), &clock, &sink);
  sink.Open();
  replay.AnnounceRest(&drain);
  drain.Pass(contents->last_ticks());
  drain.builder().HurryLinks();
  drain.builder().DeliverBatch();
  drain.builder().ForEachTrace(visit);
  return true;
}

}  // namespace ferret
