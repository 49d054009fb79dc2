// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/clock/cpu_clock.h"

#include <time.h>

#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ferret {
namespace {

#if defined(__x86_64__)
constexpr uint64_t kMostNsPerTick = 1;
#else
constexpr uint64_t kMostNsPerTick = 40;
#endif

int64_t ReadNs(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

uint64_t ReadCounter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

}  // namespace

CycleCounterFitness JudgeCycleCounter(bool invariant, const std::string& source) {
  if (!invariant) return {false, "the processor does not promise a constant rate of its cycle counter"};
  // Clock sources that are themselves computed from the counter: the kernel (or the hypervisor) found it good.
  for (const char* good : {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen", "arch_sys_counter"}) {
    if (source == good) return {true, ""};
  }
  return {false, "the kernel's clock source is '" + source + "', which it uses when it does not trust the cycle counter"};
}

CycleCounterFitness CheckCycleCounter() {
  std::string source;
  std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  const bool invariant = __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & 1u << 8) != 0;
  // Without /sys (some containers) the processor's promise has to do.
  return JudgeCycleCounter(invariant, source.empty() ? "tsc" : source);
#elif defined(__aarch64__)
  return JudgeCycleCounter(true, source.empty() ? "arch_sys_counter" : source);
#else
  return JudgeCycleCounter(false, source);
#endif
}

int64_t MonotonicNs() { return ReadNs(CLOCK_MONOTONIC); }

uint64_t ReadTicks(bool cycle_counter) {
  return cycle_counter ? ReadCounter() : static_cast<uint64_t>(MonotonicNs());
}

int64_t WallOffsetNs() {
  // The narrowest of a few readings, wall between two of monotonic.
  int64_t offset = 0;
  int64_t narrowest = INT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const int64_t before = ReadNs(CLOCK_MONOTONIC);
    const int64_t wall = ReadNs(CLOCK_REALTIME);
    const int64_t after = ReadNs(CLOCK_MONOTONIC);
    if (after - before < narrowest) {
      narrowest = after - before;
      offset = wall - (before + (after - before) / 2);
    }
  }
  return offset;
}

Anchor ReadAnchor(bool cycle_counter, int64_t wall_offset_ns, int tries) {
  if (!cycle_counter) {
    const int64_t now = ReadNs(CLOCK_MONOTONIC);
    return {static_cast<uint64_t>(now), now + wall_offset_ns, 0};
  }
  Anchor anchor;
  uint64_t narrowest = UINT64_MAX;
  for (int i = 0; i < tries; ++i) {
    const uint64_t before = ReadCounter();
    const int64_t now = ReadNs(CLOCK_MONOTONIC);
    const uint64_t width = ReadCounter() - before;
    if (width < narrowest) {
      narrowest = width;
      // An upper bound on every machine in question: a tick is half a ns on x86-64, up to 40 ns on AArch64.
      anchor = {before + width / 2, now + wall_offset_ns, static_cast<int64_t>(kMostNsPerTick * (width / 2 + 1))};
    }
  }
  return anchor;
}

ClockMap StartClockMap(bool cycle_counter, int64_t wall_offset_ns) {
  if (!cycle_counter) return ClockMap(ReadAnchor(false, wall_offset_ns, 1), 1.0);
  const Anchor first = ReadAnchor(true, wall_offset_ns, 32);
  Anchor second;
  do {
    second = ReadAnchor(true, wall_offset_ns, 16);
  } while (second.target_ns - first.target_ns < 500'000);
  return ClockMap(first, static_cast<double>(second.target_ns - first.target_ns) /
                             static_cast<double>(second.source - first.source));
}

}  // namespace ferret
