// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of the drain put in the place of recording threads and exporters. Time is what the records say: one tick
// is one nanosecond, and nothing here reads a clock.

#ifndef FERRET_TESTS_DRAIN_DRAIN_HARNESS_H_
#define FERRET_TESTS_DRAIN_DRAIN_HARNESS_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "concurrentqueue/concurrentqueue.h"
#include "runtime/clock/clock_map.h"
#include "runtime/drain/drain.h"
#include "runtime/record/name_table.h"

namespace ferret::internal {

// Keeps everything that is delivered, with copies of the names, and checks what holds for every delivery.
class CollectingSink final : public BatchSink {
 public:
  std::shared_ptr<EventBatch> NewBatch() override { return std::make_shared<EventBatch>(); }
  void Push(std::shared_ptr<EventBatch> batch) override {
    ++batches;
    count += batch->count();
    for (FunctionEvent event : batch->events) {
      event.name = texts_.emplace_back(event.name);
      EXPECT_TRUE(place_.emplace(event.id, events.size()).second) << "id " << event.id << " delivered twice";
      events.push_back(event);
    }
    for (InstantEvent instant : batch->instants) {
      instant.name = texts_.emplace_back(instant.name);
      instants.push_back(instant);
    }
    memory.insert(memory.end(), batch->memory.begin(), batch->memory.end());
    // What details point to lives in their batch.
    if (!batch->details.empty() || !batch->device_times.empty()) with_details_.push_back(batch);
    device_times.insert(device_times.end(), batch->device_times.begin(), batch->device_times.end());
    devices.insert(devices.end(), batch->devices.begin(), batch->devices.end());
    streams.insert(streams.end(), batch->streams.begin(), batch->streams.end());
    extra += batch->extra;
    if (on_batch) on_batch(*batch);
    links.insert(links.end(), batch->links.begin(), batch->links.end());
    threads.insert(threads.end(), batch->threads.begin(), batch->threads.end());
  }

  const FunctionEvent* ById(int64_t id) const {
    const auto found = place_.find(id);
    return found == place_.end() ? nullptr : &events[found->second];
  }
  // The only event of that name; fails the test, with an empty event, when there is none or another one.
  const FunctionEvent& Named(std::string_view name) const {
    static const FunctionEvent nothing;
    const FunctionEvent* found = nullptr;
    for (const FunctionEvent& event : events) {
      if (event.name != name) continue;
      EXPECT_EQ(found, nullptr) << name << " delivered twice";
      found = &event;
    }
    EXPECT_NE(found, nullptr) << name << " not delivered";
    return found != nullptr ? *found : nothing;
  }
  std::vector<FunctionEvent> Steps() const {
    std::vector<FunctionEvent> steps;
    for (const FunctionEvent& event : events) {
      if (event.is_synthesized) steps.push_back(event);
    }
    return steps;
  }

  std::vector<FunctionEvent> events;
  std::vector<InstantEvent> instants;
  std::vector<MemoryEvent> memory;
  std::vector<ForwardBackwardLink> links;
  std::vector<ThreadInfo> threads;
  std::vector<DeviceTimeShare> device_times;
  std::vector<DeviceInfo> devices;
  std::vector<StreamInfo> streams;
  size_t batches = 0;
  size_t count = 0;
  size_t extra = 0;
  std::function<void(const EventBatch&)> on_batch;

 private:
  std::deque<std::string> texts_;
  std::vector<std::shared_ptr<EventBatch>> with_details_;
  std::map<int64_t, size_t> place_;
};

struct OpRecord {
  int64_t sequence_nr = -1;
  uint32_t fwd_thread = 0;
  RecordScope scope = RecordScope::kFunction;
};

inline uint32_t NameId(std::string_view name) { return NameTable::Global().Intern(name); }

// A thread's records, written into chunks as a recording thread would, at the times that the test says.
class ThreadWriter {
 public:
  ThreadWriter(ChunkPool* pool, uint32_t thread, int32_t os_tid)
      : pool_(pool), token_(pool->open_queue()), thread_(thread), os_tid_(os_tid) {}

  uint32_t thread() const { return thread_; }
  void set_framework_thread(uint32_t id) { framework_thread_ = id; }

  // Opens the next chunk; the old one is sealed now, or by the next record: both happen.
  void CutChunk(bool seal = true) {
    SealOld();
    Chunk* const chunk = pool_->TakeFree();
    if (chunk == nullptr) {
      ADD_FAILURE() << "the test needs a larger pool";
      abort();
    }
    chunk->magic = kChunkMagic;
    chunk->version = kRecordFormatVersion;
    chunk->header_bytes = kChunkHeaderBytes;
    chunk->chunk_bytes = pool_->config().chunk_bytes;
    chunk->epoch = 1;
    chunk->thread = thread_;
    chunk->os_tid = os_tid_;
    chunk->framework_thread = framework_thread_;
    chunk->sequence = sequence_++;
    chunk->begins = handle_;
    chunk->write_offset.store(kChunkHeaderBytes, std::memory_order_relaxed);
    chunk->sealed.store(0, std::memory_order_relaxed);
    chunk->owner.store(thread_, std::memory_order_release);
    ASSERT_TRUE(pool_->Announce(token_, chunk));
    old_ = chunk_;
    chunk_ = chunk;
    if (seal) SealOld();
  }

  // The handle of the scope.
  uint32_t Begin(uint64_t ticks, uint32_t name_id, uint8_t flags = kNoFlags) {
    Write({RecordHeader(RecordType::kScopeBegin, kBeginBytes, flags, name_id), ticks});
    return handle_ += 2;
  }
  uint32_t Begin(uint64_t ticks, std::string_view name, uint8_t flags = kNoFlags) {
    return Begin(ticks, NameId(name), flags);
  }
  uint32_t BeginOp(uint64_t ticks, uint32_t name_id, const OpRecord& op, uint8_t flags = kNoFlags) {
    Write({RecordHeader(RecordType::kOpBegin, kOpBeginBytes, flags, name_id), ticks,
           static_cast<uint64_t>(op.sequence_nr), uint64_t{static_cast<uint8_t>(op.scope)} << 32 | op.fwd_thread});
    return handle_ += 2;
  }
  uint32_t BeginOp(uint64_t ticks, std::string_view name, const OpRecord& op, uint8_t flags = kNoFlags) {
    return BeginOp(ticks, NameId(name), op, flags);
  }
  void End(uint64_t ticks, uint32_t handle) {
    Write({RecordHeader(RecordType::kScopeEnd, kEndBytes, kNoFlags, handle), ticks});
  }
  void RemoteEnd(uint64_t ticks, uint32_t thread, uint32_t handle) {
    Write({RecordHeader(RecordType::kRemoteEnd, kRemoteEndBytes, kNoFlags, handle), ticks, thread});
  }
  void Instant(uint64_t ticks, std::string_view name) {
    Write({RecordHeader(RecordType::kInstant, kInstantBytes, kNoFlags, NameId(name)), ticks});
  }
  void Step(uint64_t ticks, uint64_t number = kNextStep) {
    Write({RecordHeader(RecordType::kStep, kStepBytes, kNoFlags, 0), ticks, number});
  }
  void Details(uint64_t ticks, std::string_view bytes) {
    std::vector<uint64_t> words(2 + (bytes.size() + 7) / 8);
    words[0] = RecordHeader(RecordType::kDetails, static_cast<uint32_t>(8 * words.size()), kNoFlags,
                            static_cast<uint32_t>(bytes.size()));
    words[1] = ticks;
    std::memcpy(&words[2], bytes.data(), bytes.size());
    Write(words.data(), words.size());
  }
  void Memory(uint64_t ticks, int64_t bytes, DeviceType device = DeviceType::kCpu, bool out_of_memory = false) {
    const uint32_t payload = static_cast<uint8_t>(device) | uint32_t{out_of_memory} << 8;
    Write({RecordHeader(RecordType::kMemory, kMemoryBytes, kNoFlags, payload), ticks, 0x7f00, static_cast<uint64_t>(bytes),
           1000, 2000, static_cast<uint64_t>(int64_t{device == DeviceType::kCpu ? -1 : 3})});
  }
  // Marks around the innermost open scope's work on a device.
  void DeviceBegin(uint64_t ticks, PairId pair) {
    Write({RecordHeader(RecordType::kDeviceBegin, kDeviceBeginBytes, kNoFlags, pair), ticks});
  }
  void DeviceEnd(uint64_t ticks, PairId pair, uint32_t place = 0, uint64_t outcome = kDevicePairComplete) {
    Write({RecordHeader(RecordType::kDeviceEnd, kDeviceEndBytes, kNoFlags, pair), ticks, outcome << 32 | place});
  }
  void Loss(uint64_t ticks, LossReason reason, uint64_t count, uint64_t since) {
    Write({RecordHeader(RecordType::kLoss, kLossBytes, kNoFlags, static_cast<uint32_t>(reason)), ticks, count, since});
  }
  // The last record of the thread.
  void Exit(uint64_t ticks) {
    Write({RecordHeader(RecordType::kThreadExit, kThreadExitBytes, kNoFlags, 0), ticks});
    old_ = chunk_;
    SealOld();
    chunk_ = nullptr;
  }
  // A whole scope.
  void Scope(uint64_t from, uint64_t to, std::string_view name, uint8_t flags = kNoFlags) {
    const uint32_t handle = Begin(from, name, flags);
    End(to, handle);
  }
  void OpScope(uint64_t from, uint64_t to, std::string_view name, const OpRecord& op, uint8_t flags = kNoFlags) {
    const uint32_t handle = BeginOp(from, name, op, flags);
    End(to, handle);
  }

  // Any record, whatever its header says: published as so many words.
  void Write(std::initializer_list<uint64_t> words) { Write(words.begin(), words.size()); }
  void Write(const uint64_t* words, size_t count) {
    const uint32_t bytes = static_cast<uint32_t>(count * 8);
    if (chunk_ == nullptr || At() + bytes > chunk_->chunk_bytes) CutChunk();
    SealOld();
    std::memcpy(chunk_->bytes() + At(), words, bytes);
    chunk_->write_offset.store(At() + bytes, std::memory_order_release);
  }
  // A thread leaves its last chunk open; a test that throws its pool away need not care.
  void Seal() {
    SealOld();
    if (chunk_ != nullptr) chunk_->sealed.store(1, std::memory_order_release);
    chunk_ = nullptr;
  }

 private:
  uint32_t At() const { return chunk_->write_offset.load(std::memory_order_relaxed); }
  void SealOld() {
    if (old_ != nullptr) old_->sealed.store(1, std::memory_order_release);
    old_ = nullptr;
  }

  ChunkPool* const pool_;
  moodycamel::ProducerToken token_;
  const uint32_t thread_;
  const int32_t os_tid_;
  uint32_t framework_thread_ = 0;
  uint32_t sequence_ = 0;
  uint32_t handle_ = 1;
  Chunk* chunk_ = nullptr;
  Chunk* old_ = nullptr;  // not sealed yet
};

// A drain with a recorder that nobody records into but the writers, which have thread ids 1, 2, ….
class DrainHarness {
 public:
  static constexpr int32_t kNoSuchTid = 0x7f000000;  // beyond pid_max: the drain finds no name for it

  explicit DrainHarness(uint32_t thread_count, EventBuilder::Config config = {}, uint32_t chunks = 512)
      : clock_(Anchor{}, 1.0), recorder_(Recorder::Create({{kMinChunkBytes, chunks, chunks, thread_count + 1}})),
        drain_(config, recorder_.get(), &clock_, &sink) {
    for (uint32_t thread = 1; thread <= thread_count; ++thread) {
      writers_.emplace_back(&recorder_->pool(), thread, kNoSuchTid + static_cast<int32_t>(thread));
    }
  }

  ThreadWriter& thread(uint32_t id) { return writers_[id - 1]; }
  void Pass(uint64_t now_ticks) { drain_.Pass(now_ticks); }
  // Everything is delivered afterwards.
  void Finish(uint64_t now_ticks) { drain_.Finish(now_ticks); }
  const EventBuilder& builder() const { return drain_.builder(); }
  DeviceLinker& device() { return drain_.device(); }
  const ChunkPool& pool() const { return recorder_->pool(); }

  CollectingSink sink;

 private:
  const ClockMap clock_;
  const std::unique_ptr<Recorder> recorder_;
  std::deque<ThreadWriter> writers_;
  Drain drain_;
};

}  // namespace ferret::internal

#endif  // FERRET_TESTS_DRAIN_DRAIN_HARNESS_H_
