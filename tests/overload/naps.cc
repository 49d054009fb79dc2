// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/overload/naps.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace ferret {
namespace {

thread_local int64_t t_nap_ns = 0;
thread_local int64_t t_naps = 0;
thread_local int64_t t_virtual_ns = 0;  // 0: the machine's clock
int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

int64_t MachineNs() {
  timespec now;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return Nanoseconds(now);
}

int Nap(const timespec* asked, timespec* left) {
  const int64_t ns = Nanoseconds(*asked);
  t_nap_ns += ns;
  ++t_naps;
  if (t_virtual_ns == 0) return static_cast<int>(syscall(SYS_nanosleep, asked, left));
  t_virtual_ns += ns;
  return 0;
}

int ReadClock(clockid_t clock, timespec* time) {
  if (clock != CLOCK_MONOTONIC || t_virtual_ns == 0) return static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  *time = {t_virtual_ns / 1'000'000'000, static_cast<long>(t_virtual_ns % 1'000'000'000)};
  return 0;
}

}  // namespace

int64_t NapNs() { return t_nap_ns; }
int64_t Naps() { return t_naps; }

VirtualTime::VirtualTime() { t_virtual_ns = MachineNs(); }
VirtualTime::~VirtualTime() { t_virtual_ns = 0; }

}  // namespace ferret

#define FERRET_IN_FRONT extern "C" __attribute__((visibility("default")))

FERRET_IN_FRONT int nanosleep(const timespec* asked, timespec* left) { return ferret::Nap(asked, left); }
FERRET_IN_FRONT int clock_gettime(clockid_t clock, timespec* time) noexcept { return ferret::ReadClock(clock, time); }
