// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the tests of recording share: a recorder of any size, a drain by hand for tests of single records, and a session
// with the real drain thread whose sink counts.

#ifndef FERRET_TESTS_RECORD_RECORDING_H_
#define FERRET_TESTS_RECORD_RECORDING_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ferret/loss.h"
#include "ferret/scope.h"
#include "runtime/drain/drain_thread.h"
#include "runtime/record/recorder.h"

// Where ThreadSanitizer watches, the stress tests do less.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool kUnderTsan = true;
#else
inline constexpr bool kUnderTsan = false;
#endif
// Sanitizers need memory of their own for what a test touches, and keep what it frees.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr int64_t kMemoryFactor = 10;
#else
inline constexpr int64_t kMemoryFactor = 1;
#endif

namespace ferret::internal {

struct Sizes {
  uint32_t chunks = 64;
  OverflowPolicy policy = OverflowPolicy::kDrop;
  uint32_t max_chunks = 0;  // 0: the same as chunks
  uint32_t chunk_bytes = kMinChunkBytes;
  int64_t block_limit_ns = 1'000'000;
};
Recorder* NewRecorder(const Sizes& sizes);

// Runs `body` on a thread of its own, which has a fresh thread state, to its end.
void OnThread(const std::function<void()>& body);

ThreadState* CurrentState();

// What a thread, 0 for none, lost since the process started.
LossCounts LostBy(uint32_t thread);

// Memory of the process that is in use, in bytes.
int64_t ResidentBytes();

struct ReadRecord {
  RecordType type{};
  uint8_t flags = 0;
  uint32_t payload = 0;
  uint32_t bytes = 0;
  uint64_t ticks = 0;
  std::vector<uint64_t> more;  // the words after the first two
};

// All records of a chunk. Fails the test when the lengths do not add up to the write offset.
std::vector<ReadRecord> Walk(const Chunk& chunk);
std::vector<ReadRecord> Walk(const std::vector<Chunk*>& chunks);
uint64_t CountOf(const std::vector<ReadRecord>& records, RecordType type);
// The text of a record with kInlineName.
std::string InlineText(const ReadRecord& record);

// Takes announced chunks when told to, in place of the drain thread.
class HandDrain {
 public:
  explicit HandDrain(Recorder* recorder) : recorder_(recorder) {}
  // Every chunk that was announced so far and not recycled, in order.
  const std::vector<Chunk*>& Chunks();
  size_t RecycleSealed();

 private:
  Recorder* const recorder_;
  std::vector<Chunk*> chunks_;
};

// Turns recording off when a test is over, however it ends.
struct RecordingOn {
  explicit RecordingOn(Recorder* recorder, bool cycle_counter = true) { recorder->Start(cycle_counter); }
  ~RecordingOn() { Recorder::Stop(); }
};

// What reached the sink, by shown thread id.
struct Delivered {
  uint64_t scopes = 0;
  uint64_t instants = 0;
  uint64_t counters = 0;
  uint64_t truncated = 0;
  LossCounts loss_records;
  uint64_t total() const { return scopes + instants + counters; }
};

class CountingSink final : public BatchSink {
 public:
  // Called on the drain thread, before an event is counted, and before a batch is.
  std::function<void(const FunctionEvent&)> on_event;
  std::function<void(const InstantEvent&)> on_instant;
  std::function<void()> on_push;
  // On the drain thread.
  std::function<void()> on_pass_ended;

  std::shared_ptr<EventBatch> NewBatch() override { return std::make_shared<EventBatch>(); }
  void Push(std::shared_ptr<EventBatch> batch) override;
  void PassEnded() override {
    if (on_pass_ended) on_pass_ended();
  }

  Delivered Of(uint32_t thread) const;
  Delivered All() const;
  // How many different threads delivered something.
  size_t threads() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint32_t, Delivered> threads_;
};

// A session without exporters.
class TestSession {
 public:
  // `look_for_threads_ns`: as DrainThread::Config.
  TestSession(Recorder* recorder, CountingSink* sink, bool cycle_counter = true,
              int64_t look_for_threads_ns = DrainThread::Config().look_for_threads_ns);
  ~TestSession();
  void StartDrain();
  bool Flush();
  // Turns recording off and reads the rest.
  DrainStats Stop();

 private:
  std::unique_ptr<DrainThread> drain_;
  bool drain_started_ = false;
  bool stopped_ = false;
};

}  // namespace ferret::internal

#endif  // FERRET_TESTS_RECORD_RECORDING_H_
