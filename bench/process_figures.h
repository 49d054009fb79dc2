// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a thread has used and a process holds, for measurements on machines that are shared.

#ifndef FERRET_BENCH_PROCESS_FIGURES_H_
#define FERRET_BENCH_PROCESS_FIGURES_H_

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>

namespace ferret {

// Processor time of the calling thread: the same however many others want its core.
inline int64_t ThreadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

inline int64_t WallNs() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Memory that is in use now.
inline int64_t ResidentBytes() {
  long long pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%*s %lld", &pages) != 1) pages = 0;
  std::fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace ferret

#endif  // FERRET_BENCH_PROCESS_FIGURES_H_
