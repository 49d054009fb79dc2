// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a scope costs each of several threads, on average and at worst, while the drain thread runs.
//
//     latency CASE THREADS [SCOPES]
//
//     nothing     two readings of the cycle counter and no scope: what the rows below are to be held against
//     off, scope, op, shapes (an operator with two tensors)
//     dropping    every chunk taken, nothing drained
//     drop, block, grow     more than a small pool takes, under each overflow policy; the drain takes what it can
//
// Prints one line: ns= is processor time of the recording threads for each scope, in bursts; p50 to max are of the time
// from one reading of the counter to the next with one scope in between, less the median of two readings with nothing in
// between. A time includes whatever else the core did meanwhile: max is the machine's as much as Ferret's.

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "bench/counting_sink.h"
#include "bench/process_figures.h"
#include "ferret/scope.h"
#include "ferret/scope_details.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/drain/drain_thread.h"
#include "runtime/record/recorder.h"
#include "runtime/record/thread_registry.h"

namespace ferret {
namespace {

using internal::DrainThread;
using internal::OverflowPolicy;
using internal::ReadCycleCounter;
using internal::Recorder;

constexpr int kBurst = 1000;

struct Case {
  const char* name;
  void (*record)();
  bool on = true;
  bool draining = true;
  uint32_t chunks = 1024;
  uint32_t max_chunks = 1024;
  OverflowPolicy policy = OverflowPolicy::kDrop;
};

__attribute__((noinline)) void Nothing() { asm volatile(""); }
__attribute__((noinline)) void OneScope() { FERRET_SCOPE("scope"); }
__attribute__((noinline)) void OneOp() { FERRET_OP_SCOPE("op", ForwardOp(1)); }
__attribute__((noinline)) void OneOpWithShapes() {
  FERRET_OP_SCOPE("mm", ForwardOp(1));
  Attach(ScopeDetails().Tensor("float", {64, 32}).Tensor("float", {32, 16}));
}

const Case kCases[] = {
    {"nothing", &Nothing, false},
    {"off", &OneScope, false},
    {"scope", &OneScope},
    {"op", &OneOp},
    {"shapes", &OneOpWithShapes},
    {"dropping", &OneScope, true, false, 2, 2},
    {"drop", &OneScope, true, true, 32, 32},
    {"block", &OneScope, true, true, 32, 32, OverflowPolicy::kBlock},
    {"grow", &OneScope, true, true, 32, 4096, OverflowPolicy::kGrow},
};

struct Measured {
  int64_t cpu_ns = 0;
  std::vector<uint32_t> ticks;  // of each scope
};

void Record(const Case& what, int scopes, Measured* measured) {
  measured->ticks.reserve(static_cast<size_t>(scopes));
  for (int done = 0; done < scopes; done += kBurst) {
    const int64_t start = ThreadCpuNs();
    for (int i = 0; i < kBurst; ++i) what.record();
    measured->cpu_ns += ThreadCpuNs() - start;
  }
  uint64_t last = ReadCycleCounter();
  for (int i = 0; i < scopes; ++i) {
    what.record();
    const uint64_t now = ReadCycleCounter();
    measured->ticks.push_back(static_cast<uint32_t>(std::min<uint64_t>(now - last, UINT32_MAX)));
    // What push_back took is nobody's.
    last = ReadCycleCounter();
  }
}

uint64_t Lost() {
  uint64_t lost = 0;
  for (const auto& entry : internal::ThreadRegistry::Global().Losses()) lost += entry.second.total();
  return lost;
}

double Overhead() {
  Measured nothing;
  Record({"nothing", &Nothing, false}, 20 * kBurst, &nothing);
  std::nth_element(nothing.ticks.begin(), nothing.ticks.begin() + 10 * kBurst, nothing.ticks.end());
  return nothing.ticks[10 * kBurst];
}

int Main(const Case& what, int threads, int scopes) {
  const double overhead = Overhead();
  Recorder::Config config;
  config.pool.chunks = what.chunks;
  config.pool.max_chunks = what.max_chunks;
  config.policy = what.policy;
  Recorder* const recorder = Recorder::Create(config);
  if (recorder == nullptr || !CheckCycleCounter().fit) return 1;
  recorder->pool().Prefault(what.chunks);  // a long run's chunks are warm
  CountingSink sink;
  DrainThread::Config drain_config;
  drain_config.cycle_counter = true;
  drain_config.wall_offset_ns = WallOffsetNs();
  const ClockMap clock = StartClockMap(true, 0);
  DrainThread drain(drain_config, recorder, &sink);
  if (what.on) recorder->Start(true);
  if (what.on && what.draining) drain.Start();

  std::vector<Measured> measured(static_cast<size_t>(threads));
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, static_cast<unsigned>(threads));
  std::vector<std::thread> running;
  for (Measured& mine : measured) {
    running.emplace_back([&what, &barrier, &mine, scopes] {
      for (int i = 0; i < 10 * kBurst && !what.draining; ++i) what.record();
      what.record();
      pthread_barrier_wait(&barrier);
      Record(what, scopes, &mine);
    });
  }
  for (std::thread& thread : running) thread.join();
  pthread_barrier_destroy(&barrier);
  Recorder::Stop();
  if (what.on && what.draining) drain.Finish(std::chrono::steady_clock::now() + std::chrono::seconds(60));

  std::vector<uint32_t> all;
  int64_t cpu_ns = 0;
  for (const Measured& mine : measured) {
    cpu_ns += mine.cpu_ns;
    all.insert(all.end(), mine.ticks.begin(), mine.ticks.end());
  }
  std::sort(all.begin(), all.end());
  const auto percentile = [&](double share) {
    const auto place = static_cast<size_t>(share * static_cast<double>(all.size() - 1));
    return std::max(0.0, (all[place] - overhead) * clock.ns_per_tick());
  };
  // Of the scopes above; dropping had lost some before.
  const double lost = what.on ? std::min(100.0, 50 * static_cast<double>(Lost()) / static_cast<double>(all.size())) : 0;
  std::printf("case=%s threads=%d ns=%.2f p50=%.0f p99=%.0f p99.9=%.0f max=%.0f lost_%%=%.2f\n", what.name, threads,
              static_cast<double>(cpu_ns) / static_cast<double>(all.size()), percentile(0.5), percentile(0.99),
              percentile(0.999), percentile(1), lost);
  return 0;
}

}  // namespace
}  // namespace ferret

int main(int argc, char** argv) {
  for (const ferret::Case& what : ferret::kCases) {
    if (argc > 2 && std::strcmp(argv[1], what.name) == 0) {
      return ferret::Main(what, std::atoi(argv[2]), argc > 3 ? std::atoi(argv[3]) : 100'000);
    }
  }
  std::fprintf(stderr, "usage: latency nothing|off|scope|op|shapes|dropping|drop|block|grow THREADS [SCOPES]\n");
  return 2;
}
