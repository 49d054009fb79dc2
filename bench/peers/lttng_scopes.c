/* Copyright The Ferret Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bursts of scopes through LTTng-UST; prints the median of the bursts in processor time of the thread, ns= a scope. */

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_events.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kBurst = 1000, kBursts = 300 };

static int64_t ThreadCpuNs(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int Compare(const void* a, const void* b) {
  const int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

int main(void) {
  static int64_t ns[kBursts];
  for (int burst = 0; burst < kBursts; ++burst) {
    const int64_t start = ThreadCpuNs();
    for (int i = 0; i < kBurst; ++i) {
      lttng_ust_tracepoint(ferret_bench, begin, 1);
      lttng_ust_tracepoint(ferret_bench, end, 1);
    }
    ns[burst] = ThreadCpuNs() - start;
  }
  qsort(ns, kBursts, sizeof(ns[0]), Compare);
  printf("ns=%.2f\n", (double)ns[kBursts / 2] / kBurst);
  return 0;
}
