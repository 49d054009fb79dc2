// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/record/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "runtime/clock/cpu_clock.h"
#include "runtime/record/thread_registry.h"

namespace ferret::internal {

Recorder* NewRecorder(const Sizes& sizes) {
  Recorder::Config config;
  config.pool.chunk_bytes = sizes.chunk_bytes;
  config.pool.chunks = sizes.chunks;
  config.pool.max_chunks = std::max(sizes.chunks, sizes.max_chunks);
  config.policy = sizes.policy;
  config.block_limit_ns = sizes.block_limit_ns;
  Recorder* const recorder = Recorder::Create(config);
  // Recorders are never freed. Kept here, so that a leak checker finds the one that is not current.
  static std::mutex mutex;
  static auto* const all = new std::vector<Recorder*>;
  std::lock_guard<std::mutex> lock(mutex);
  all->push_back(recorder);
  return recorder;
}

void OnThread(const std::function<void()>& body) { std::thread(body).join(); }

ThreadState* CurrentState() {
  return t_writer->kind == WriterKind::kLive ? static_cast<ThreadState*>(t_writer) : nullptr;
}

LossCounts LostBy(uint32_t thread) { return ThreadRegistry::Global().Losses()[thread]; }

int64_t ResidentBytes() {
  int64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

std::vector<ReadRecord> Walk(const Chunk& chunk) {
  std::vector<ReadRecord> records;
  const uint32_t end = chunk.write_offset.load(std::memory_order_acquire);
  EXPECT_LE(end, chunk.chunk_bytes);
  uint32_t offset = kChunkHeaderBytes;
  while (offset < end) {
    uint64_t words[2];
    std::memcpy(words, chunk.bytes() + offset, sizeof(words));
    ReadRecord record;
    record.type = TypeOf(words[0]);
    record.flags = FlagsOf(words[0]);
    record.payload = PayloadOf(words[0]);
    record.bytes = RecordBytes(words[0]);
    record.ticks = words[1];
    if (record.bytes < sizeof(words)) {
      ADD_FAILURE() << "a record of " << record.bytes << " bytes at " << offset;
      return records;
    }
    record.more.resize(record.bytes / 8 - 2);
    if (!record.more.empty()) {
      std::memcpy(record.more.data(), chunk.bytes() + offset + sizeof(words), record.bytes - sizeof(words));
    }
    records.push_back(record);
    offset += record.bytes;
  }
  EXPECT_EQ(offset, end) << "the lengths add up to the write offset";
  return records;
}

std::vector<ReadRecord> Walk(const std::vector<Chunk*>& chunks) {
  std::vector<ReadRecord> all;
  for (const Chunk* chunk : chunks) {
    std::vector<ReadRecord> records = Walk(*chunk);
    std::move(records.begin(), records.end(), std::back_inserter(all));
  }
  return all;
}

uint64_t CountOf(const std::vector<ReadRecord>& records, RecordType type) {
  return static_cast<uint64_t>(
      std::count_if(records.begin(), records.end(), [type](const ReadRecord& record) { return record.type == type; }));
}

std::string InlineText(const ReadRecord& record) {
  const size_t fixed = record.type == RecordType::kOpBegin ? 2 : record.type == RecordType::kCounter ? 1 : 0;
  if ((record.flags & kInlineName) == 0 || record.more.size() <= fixed) return "(none)";
  const char* text = reinterpret_cast<const char*>(record.more.data() + fixed + 1);
  return std::string(text, std::min<size_t>(record.more[fixed], 8 * (record.more.size() - fixed - 1)));
}

const std::vector<Chunk*>& HandDrain::Chunks() {
  Chunk* taken[64];
  while (const size_t count = recorder_->pool().TakeAnnounced(taken, std::size(taken))) {
    chunks_.insert(chunks_.end(), taken, taken + count);
  }
  return chunks_;
}

size_t HandDrain::RecycleSealed() {
  Chunks();
  const auto sealed = [](Chunk* chunk) { return chunk->sealed.load(std::memory_order_acquire) != 0; };
  const auto first = std::stable_partition(chunks_.begin(), chunks_.end(), [&](Chunk* c) { return !sealed(c); });
  const size_t count = static_cast<size_t>(chunks_.end() - first);
  for (auto chunk = first; chunk != chunks_.end(); ++chunk) recorder_->pool().Recycle(*chunk);
  chunks_.erase(first, chunks_.end());
  return count;
}

void CountingSink::Push(std::shared_ptr<EventBatch> batch) {
  if (on_push) on_push();
  std::lock_guard<std::mutex> lock(mutex_);
  for (const FunctionEvent& event : batch->events) {
    if (event.is_synthesized) continue;
    if (on_event) on_event(event);
    Delivered& thread = threads_[event.thread];
    ++thread.scopes;
    thread.truncated += event.is_truncated;
  }
  for (const InstantEvent& instant : batch->instants) {
    if (on_instant) on_instant(instant);
    Delivered& thread = threads_[instant.thread];
    if (instant.kind == InstantEvent::Kind::kInstant) ++thread.instants;
    if (instant.kind == InstantEvent::Kind::kCounter) ++thread.counters;
    if (instant.kind != InstantEvent::Kind::kLoss) continue;
    for (size_t i = 0; i < kLossReasonCount; ++i) {
      const auto reason = static_cast<LossReason>(i);
      if (instant.name == LossReasonText(reason)) thread.loss_records[reason] += static_cast<uint64_t>(instant.value);
    }
  }
}

Delivered CountingSink::Of(uint32_t thread) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = threads_.find(thread);
  return found == threads_.end() ? Delivered{} : found->second;
}

Delivered CountingSink::All() const {
  std::lock_guard<std::mutex> lock(mutex_);
  Delivered all;
  for (const auto& [thread, delivered] : threads_) {
    all.scopes += delivered.scopes;
    all.instants += delivered.instants;
    all.counters += delivered.counters;
    all.truncated += delivered.truncated;
    all.loss_records += delivered.loss_records;
  }
  return all;
}

size_t CountingSink::threads() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return threads_.size();
}

TestSession::TestSession(Recorder* recorder, CountingSink* sink, bool cycle_counter, int64_t look_for_threads_ns) {
  DrainThread::Config config;
  config.look_for_threads_ns = look_for_threads_ns;
  config.builder.link_table_entries = 64;
  config.cycle_counter = cycle_counter;
  drain_ = std::make_unique<DrainThread>(config, recorder, sink);
  recorder->Start(cycle_counter);
}

TestSession::~TestSession() { Stop(); }

void TestSession::StartDrain() {
  drain_started_ = true;
  drain_->Start();
}

bool TestSession::Flush() { return drain_->Flush(std::chrono::steady_clock::now() + std::chrono::minutes(1)); }

DrainStats TestSession::Stop() {
  Recorder::Stop();
  if (!stopped_) {
    stopped_ = true;
    if (!drain_started_) StartDrain();
    EXPECT_TRUE(drain_->Finish(std::chrono::steady_clock::now() + std::chrono::minutes(1)));
  }
  return drain_->stats();
}

}  // namespace ferret::internal
