// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What only a GPU can tell about timing it: one JSON document on standard output within five minutes, progress on
// standard error. Needs a driver and glibc. Without a driver or a device the document has an "error", and that is all.
//
// `--short` measures next to nothing, for tests.

#include <cstdio>
#include <cstring>

#include "bench/gpu_bench/bench.h"

int main(int argc, char** argv) {
  const bool short_run = argc == 2 && std::strcmp(argv[1], "--short") == 0;
  if (argc > 1 && !short_run) {
    std::fprintf(stderr, "usage: gpu_bench [--short]\n");
    return 2;
  }
  std::printf("%s\n", gpu_bench::RunAll(short_run).text().c_str());
  return 0;
}
