// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a scope costs the thread that records it, beside the floor and beside other ways to get a record to another
// thread. One iteration is one scope; a burst of kBurst scopes fits the pool, and the drain empties it between bursts,
// outside of the measured time.
//
//   Floor            two readings of the cycle counter and one 32-byte store into warm memory
//   Scope, OpScope   Ferret on
//   ScopeInCrashFile the same, with the chunks in a file in /dev/shm that survives a kill
//   ScopeDropping    Ferret on, every chunk taken: the scope is counted and nothing else
//   ScopeOff         Ferret off; EmptyLoop is what is left of the loop without it
//   Moodycamel       the floor's 32 bytes through a ConcurrentQueue with a producer token, per event
//   MutexVector      the same through a mutex and a vector

#include <benchmark/benchmark.h>
#include <concurrentqueue/concurrentqueue.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "bench/floor.h"
#include "ferret/scope.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/crash/crash_log.h"
#include "runtime/drain/drain_thread.h"
#include "runtime/record/name_table.h"
#include "runtime/record/recorder.h"

namespace ferret {
namespace {

using internal::DrainThread;
using internal::Recorder;

constexpr int kBurst = 1000;

// Takes batches and throws them away.
class NullSink final : public internal::BatchSink {
 public:
  std::shared_ptr<EventBatch> NewBatch() override {
    batch_->Clear();
    return batch_;
  }
  void Push(std::shared_ptr<EventBatch>) override {
    if (file == nullptr) return;
    internal::CrashFile::Output output;
    output.batch = ++batches_;
    file->SetOutput(0, output);
  }

  // An exporter that has everything at once.
  internal::CrashFile* file = nullptr;

 private:
  uint64_t batches_ = 0;
  std::shared_ptr<EventBatch> batch_ = std::make_shared<EventBatch>();
};

using TimePoint = std::chrono::steady_clock::time_point;
TimePoint Soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(10); }

// A recording session without exporters. `chunks` small enough and no drain: everything is dropped after a moment.
class Recording {
 public:
  Recording(uint32_t chunks, bool draining, bool in_crash_file = false) {
    Recorder::Config config;
    config.pool.chunks = config.pool.max_chunks = chunks;
    if (in_crash_file) {
      internal::CrashFile::Config file;
      file.directory = "/dev/shm";
      file.chunk_bytes = config.pool.chunk_bytes;
      file.chunks = file.min_chunks = chunks;
      file.name_bytes = internal::NameTable::Global().BytesInFile(1 << 20);
      file.outputs = 1;
      const auto created = internal::CrashFile::Create(file);
      if (!created.ok()) std::abort();
      sink_.file = *created;
    }
    recorder_ = Recorder::Create(config);
    if (recorder_ == nullptr) std::abort();
    if (in_crash_file && (!sink_.file->TakeNamesAndChunks(&recorder_->pool()).ok() || !sink_.file->Publish().ok())) {
      std::abort();
    }
    recorder_->Start(CheckCycleCounter().fit);
    if (!draining) return;
    DrainThread::Config drain;
    drain.cycle_counter = Recorder::uses_cycle_counter();
    drain.wall_offset_ns = WallOffsetNs();
    if (in_crash_file) {
      log_ = std::make_unique<internal::CrashLog>(sink_.file);
      drain.crash_log = log_.get();
      drain.builder.cuts = drain.builder.chunk_ids = true;
    }
    drain_ = std::make_unique<DrainThread>(drain, recorder_, &sink_);
    drain_->Start();
  }
  ~Recording() {
    Recorder::Stop();
    if (drain_ != nullptr) drain_->Finish(Soon());
    if (sink_.file != nullptr) sink_.file->Remove(false);
  }
  void Empty() { drain_->Flush(Soon()); }

 private:
  Recorder* recorder_;
  NullSink sink_;
  std::unique_ptr<internal::CrashLog> log_;
  std::unique_ptr<DrainThread> drain_;
};

// Runs bursts of `record`, timed by hand so that what happens between them does not count.
template <typename Record, typename Between>
void Bursts(benchmark::State& state, Record record, Between between) {
  while (state.KeepRunningBatch(kBurst)) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kBurst; ++i) {
      record();
      benchmark::ClobberMemory();
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    // Per iteration of the outer loop, which stands for kBurst scopes.
    state.SetIterationTime(time.count());
    between();
  }
}

void BM_Floor(benchmark::State& state) {
  Floor floor(1 << 21);  // 64 MiB, as Ferret's pool
  Bursts(
      state, [&] { floor.Record(); },
      [&] {
        if (!floor.HasRoom(kBurst)) floor.StartOver();
      });
}

void Scope(benchmark::State& state) {
  Recording recording(1024, true);
  Bursts(state, [] { FERRET_SCOPE("burst"); }, [&] { recording.Empty(); });
}

void ScopeInCrashFile(benchmark::State& state) {
  Recording recording(1024, true, true);
  Bursts(state, [] { FERRET_SCOPE("burst"); }, [&] { recording.Empty(); });
}

void OpScope(benchmark::State& state) {
  Recording recording(1024, true);
  int64_t n = 0;
  Bursts(state, [&] { FERRET_OP_SCOPE("burst", ForwardOp(++n)); }, [&] { recording.Empty(); });
}

void DynamicNameHit(benchmark::State& state) {
  Recording recording(1024, true);
  const std::string name = "a name that is made at run time";
  Bursts(state, [&] { const ::ferret::Scope scope(name); }, [&] { recording.Empty(); });
}

void ScopeDropping(benchmark::State& state) {
  Recording recording(2, false);
  for (int i = 0; i < 10'000; ++i) { FERRET_SCOPE("fill"); }
  Bursts(state, [] { FERRET_SCOPE("dropped"); }, [] {});
}

void ScopeOff(benchmark::State& state) {
  Bursts(state, [] { FERRET_SCOPE("off"); }, [] {});
}

void EmptyLoop(benchmark::State& state) {
  Bursts(state, [] {}, [] {});
}

void Moodycamel(benchmark::State& state) {
  moodycamel::ConcurrentQueue<FloorEvent> queue(1 << 16);
  moodycamel::ProducerToken token(queue);
  std::vector<FloorEvent> out(kBurst);
  Bursts(
      state,
      [&] {
        const uint64_t begin = internal::ReadCycleCounter();
        queue.enqueue(token, FloorEvent{1, begin, 0, internal::ReadCycleCounter()});
      },
      [&] { while (queue.try_dequeue_bulk(out.begin(), kBurst) != 0) {
      } });
}

void MutexVector(benchmark::State& state) {
  std::mutex mutex;
  std::vector<FloorEvent> events;
  events.reserve(kBurst);
  Bursts(
      state,
      [&] {
        const uint64_t begin = internal::ReadCycleCounter();
        const FloorEvent event{1, begin, 0, internal::ReadCycleCounter()};
        std::lock_guard<std::mutex> lock(mutex);
        events.push_back(event);
      },
      [&] { events.clear(); });
}

BENCHMARK(BM_Floor)->Name("Floor")->UseManualTime();
BENCHMARK(Scope)->UseManualTime();
BENCHMARK(ScopeInCrashFile)->UseManualTime();
BENCHMARK(OpScope)->UseManualTime();
BENCHMARK(DynamicNameHit)->UseManualTime();
BENCHMARK(ScopeDropping)->UseManualTime();
BENCHMARK(ScopeOff)->UseManualTime();
BENCHMARK(EmptyLoop)->UseManualTime();
BENCHMARK(Moodycamel)->UseManualTime();
BENCHMARK(MutexVector)->UseManualTime();

}  // namespace
}  // namespace ferret
