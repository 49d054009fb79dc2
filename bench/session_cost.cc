// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a session costs beyond its scopes: starting, stopping, memory for each thread and for each million events that the
// exporter `memory` keeps. Prints one line of name=value pairs.

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "bench/process_figures.h"
#include "ferret/collected_events.h"
#include "ferret/scope.h"
#include "ferret/session.h"

namespace ferret {
namespace {

constexpr int kThreads = 256;
constexpr int kEvents = 1'000'000;

void Expect(const Error& error) {
  if (error.empty()) return;
  std::fprintf(stderr, "session_cost: %s\n", error.c_str());
  std::exit(1);
}

double Median(std::vector<int64_t> values) {
  std::sort(values.begin(), values.end());
  return static_cast<double>(values[values.size() / 2]);
}

// Threads that are there anyway, before and after each has recorded its first scope.
double BytesForEachThread() {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads + 1);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&barrier] {
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
      { FERRET_SCOPE("first"); }
      pthread_barrier_wait(&barrier);
      pthread_barrier_wait(&barrier);
    });
  }
  pthread_barrier_wait(&barrier);
  const int64_t before = ResidentBytes();
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  Expect(Flush());
  const int64_t after = ResidentBytes();
  pthread_barrier_wait(&barrier);
  for (std::thread& thread : threads) thread.join();
  pthread_barrier_destroy(&barrier);
  return static_cast<double>(after - before) / kThreads;
}

int Main() {
  const int64_t bytes_before = ResidentBytes();
  const int64_t first_start = WallNs();
  Expect(Start("memory"));
  const int64_t first_start_ns = WallNs() - first_start;
  const int64_t session_bytes = ResidentBytes() - bytes_before;
  const double thread_bytes = BytesForEachThread();
  Expect(Stop());
  TakeCollectedEvents();

  std::vector<int64_t> starts, stops;
  for (int i = 0; i < 21; ++i) {
    const int64_t start = WallNs();
    Expect(Start("memory"));
    starts.push_back(WallNs() - start);
    { FERRET_SCOPE("scope"); }
    const int64_t stop = WallNs();
    Expect(Stop());
    stops.push_back(WallNs() - stop);
  }
  TakeCollectedEvents();

  Expect(Start("memory"));
  const int64_t before = ResidentBytes();
  for (int i = 0; i < kEvents; ++i) { FERRET_SCOPE("scope"); }
  const int64_t stop = WallNs();
  Expect(Stop(60'000));
  const int64_t stop_ns = WallNs() - stop;
  const int64_t event_bytes = ResidentBytes() - before;
  const size_t kept = TakeCollectedEvents().events.size();
  std::printf("first_start_us=%.0f start_us=%.0f stop_us=%.0f stop_after_a_million_ms=%.1f session_KiB=%.0f thread_KiB=%.1f "
              "million_events_MiB=%.1f kept=%zu lost=%llu\n",
              static_cast<double>(first_start_ns) / 1e3, Median(starts) / 1e3, Median(stops) / 1e3,
              static_cast<double>(stop_ns) / 1e6, static_cast<double>(session_bytes) / 1024, thread_bytes / 1024,
              static_cast<double>(event_bytes) / (1 << 20) * 1e6 / static_cast<double>(std::max<size_t>(kept, 1)), kept,
              static_cast<unsigned long long>(Losses().total()));
  return 0;
}

}  // namespace
}  // namespace ferret

int main() { return ferret::Main(); }
