// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// How the cost of a scope, and of its event in the drain, grows with what there is of something.
//
//     scaling threads|depth|names|events|links [LARGEST]
//
// Prints a line of name=value pairs for each size. Threads record bursts in turn with the drain, which runs by hand on the
// main thread, and both are measured in processor time of their own thread: the figures are those of a thread that has a
// core, however many there are.

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "bench/counting_sink.h"
#include "bench/process_figures.h"
#include "ferret/scope.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/drain/drain.h"
#include "runtime/record/name_table.h"
#include "runtime/record/recorder.h"

namespace ferret {
namespace {

using internal::Drain;
using internal::Recorder;

constexpr int64_t kBurst = 1000;
constexpr int64_t kScopes = 400'000;  // of a row, unless its size is larger

class Measurement {
 public:
  Measurement() {
    static Recorder* const recorder = Recorder::Create({});
    if (recorder == nullptr) std::abort();
    recorder->Start(CheckCycleCounter().fit);
    drain_ = std::make_unique<Drain>(internal::EventBuilder::Config{}, recorder, &clock_, &sink_);
  }
  ~Measurement() {
    Recorder::Stop();
    drain_->Finish(ReadTicks(Recorder::uses_cycle_counter()));
  }

  // Reads what was recorded so far.
  void Pass() {
    const int64_t start = ThreadCpuNs();
    drain_->Pass(ReadTicks(Recorder::uses_cycle_counter()));
    drain_ns_ += ThreadCpuNs() - start;
  }
  // On this thread, drained at once.
  template <typename Record>
  void Burst(int64_t scopes, Record record) {
    const int64_t start = ThreadCpuNs();
    record();
    Add(scopes, ThreadCpuNs() - start);
    Pass();
  }
  void Add(int64_t scopes, int64_t ns) {
    scopes_ += scopes;
    record_ns_ += ns;
  }
  // What was done so far was to warm up.
  void Forget() {
    scopes_ = record_ns_ = drain_ns_ = 0;
    sink_.events = sink_.links = 0;
  }

  void Print(const char* axis, int64_t size, const std::string& more = "") const {
    const double events = static_cast<double>(std::max<uint64_t>(sink_.events, 1));
    std::printf("axis=%s size=%lld ns/scope=%.2f ns/event=%.2f%s\n", axis, static_cast<long long>(size),
                static_cast<double>(record_ns_) / static_cast<double>(scopes_), static_cast<double>(drain_ns_) / events,
                more.c_str());
    std::fflush(stdout);
  }
  uint64_t events() const { return sink_.events; }
  uint64_t links() const { return sink_.links; }

 private:
  ClockMap clock_ = StartClockMap(CheckCycleCounter().fit, WallOffsetNs());
  CountingSink sink_;
  std::unique_ptr<Drain> drain_;
  int64_t scopes_ = 0;
  int64_t record_ns_ = 0;
  int64_t drain_ns_ = 0;
};

void RecordBurst() {
  for (int64_t i = 0; i < kBurst; ++i) { FERRET_SCOPE("scope"); }
}

void Threads(int64_t count) {
  Measurement measurement;
  const int64_t rounds = std::max<int64_t>(3, kScopes / kBurst / count) + 1;
  std::vector<int64_t> ns(static_cast<size_t>(count));
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(count) + 1);
  std::vector<std::thread> threads;
  for (int64_t& mine : ns) {
    threads.emplace_back([&barrier, &mine, rounds] {
      for (int64_t round = 0; round < rounds; ++round) {
        const int64_t start = ThreadCpuNs();
        RecordBurst();
        // The first one opens the thread's first chunk.
        if (round > 0) mine += ThreadCpuNs() - start;
        pthread_barrier_wait(&barrier);
        pthread_barrier_wait(&barrier);  // while the drain reads
      }
    });
  }
  for (int64_t round = 0; round < rounds; ++round) {
    pthread_barrier_wait(&barrier);
    measurement.Pass();
    if (round == 0) measurement.Forget();
    pthread_barrier_wait(&barrier);
  }
  for (std::thread& thread : threads) thread.join();
  for (const int64_t mine : ns) measurement.Add((rounds - 1) * kBurst, mine);
  pthread_barrier_destroy(&barrier);
  measurement.Print("threads", count);
}

void Nest(int64_t depth) {
  FERRET_SCOPE("nested");
  if (depth > 1) Nest(depth - 1);
  asm volatile("" ::: "memory");  // no loop instead of the calls
}

void Depth(int64_t depth) {
  Measurement measurement;
  const auto record = [depth] {
    for (int64_t i = 0; i < kBurst / depth; ++i) Nest(depth);
  };
  measurement.Burst(kBurst, record);
  measurement.Forget();
  for (int64_t done = 0; done < kScopes; done += kBurst) measurement.Burst(kBurst / depth * depth, record);
  measurement.Print("depth", depth);
}

void Names(int64_t count) {
  Measurement measurement;
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back("aten::an_operator_of_usual_length_" + std::to_string(i));
  size_t next = 0;
  const auto record = [&] {
    for (int64_t i = 0; i < kBurst; ++i) {
      const Scope scope(names[next]);
      if (++next == names.size()) next = 0;
    }
  };
  // Each once, then as many again.
  for (int64_t done = 0; done < count; done += kBurst) measurement.Burst(kBurst, record);
  measurement.Forget();
  for (int64_t done = 0; done < std::max(count, kScopes); done += kBurst) measurement.Burst(kBurst, record);
  measurement.Print("names", count, " in_name_table=" + std::to_string(internal::NameTable::Global().size()));
}

void Events(int64_t count) {
  Measurement measurement;
  for (int i = 0; i < 100; ++i) measurement.Burst(kBurst, RecordBurst);
  measurement.Forget();
  const int64_t before = ResidentBytes();
  for (int64_t done = 0; done < count; done += kBurst) measurement.Burst(kBurst, RecordBurst);
  if (measurement.events() != static_cast<uint64_t>(count)) std::abort();
  measurement.Print("events", count, " grown_bytes=" + std::to_string(ResidentBytes() - before));
}

// So many forward ops before the first backward op.
void Links(int64_t outstanding) {
  Measurement measurement;
  static int64_t number = 0;
  const uint32_t thread = ThreadId();
  const int64_t burst = std::min(outstanding, kBurst);
  const int64_t rounds = std::max<int64_t>(1, kScopes / 2 / outstanding);
  for (int64_t round = 0; round <= rounds; ++round) {
    // The first one touches the table's memory.
    if (round == 1) measurement.Forget();
    const int64_t first = number;
    for (int64_t i = 0; i < outstanding; i += burst) {
      measurement.Burst(burst, [burst] {
        for (int64_t k = 0; k < burst; ++k) { FERRET_OP_SCOPE("forward", ForwardOp(number + k)); }
        number += burst;
      });
    }
    for (int64_t i = number; i > first; i -= burst) {
      measurement.Burst(burst, [i, burst, thread] {
        for (int64_t k = 1; k <= burst; ++k) { FERRET_OP_SCOPE("backward", BackwardOp(i - k, thread)); }
      });
    }
  }
  const double linked = 200 * static_cast<double>(measurement.links()) / static_cast<double>(measurement.events());
  measurement.Print("links", outstanding, " linked_%=" + std::to_string(linked));
}

struct Axis {
  const char* name;
  void (*measure)(int64_t);
  std::vector<int64_t> sizes;
};

int Main(const char* name, int64_t largest) {
  const Axis axes[] = {
      {"threads", &Threads, {1, 2, 4, 16, 64, 256}},
      {"depth", &Depth, {1, 10, 100, 1000}},
      {"names", &Names, {10, 100, 1000, 10'000, 100'000, 1'000'000}},
      {"events", &Events, {100'000, 1'000'000, 10'000'000, 100'000'000}},
      {"links", &Links, {100, 1000, 10'000, 100'000, 1'000'000}},
  };
  for (const Axis& axis : axes) {
    if (std::strcmp(axis.name, name) != 0) continue;
    for (const int64_t size : axis.sizes) {
      if (size <= largest) axis.measure(size);
    }
    return 0;
  }
  std::fprintf(stderr, "usage: scaling threads|depth|names|events|links [LARGEST]\n");
  return 2;
}

}  // namespace
}  // namespace ferret

int main(int argc, char** argv) {
  return ferret::Main(argc > 1 ? argv[1] : "", argc > 2 ? std::strtoll(argv[2], nullptr, 10) : INT64_MAX);
}
