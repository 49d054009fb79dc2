// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs one piece of work once where callgrind can tell it from everything else: inside of counted_work().
//
//     counted_work CASE      prints `units=` that ran in there, and whether they are `in_calls=`
//     counted_work           prints what it was built by and how

#include <cstdio>
#include <memory>

#include "tests/instructions/work.h"

extern "C" __attribute__((noipa)) void counted_work(ferret::Work* work) { work->Run(); }

int main(int argc, char** argv) {
#if defined(NDEBUG)
  const char* const asserts = "no";
#else
  const char* const asserts = "yes";
#endif
  if (argc != 2) {
    std::printf("compiler=%d.%d asserts=%s\n", __GNUC__, __GNUC_MINOR__, asserts);
    return 0;
  }
  std::unique_ptr<ferret::Work> work;
  for (auto* const make : {&ferret::RecordingWork, &ferret::DrainWork, &ferret::ExporterWork}) {
    if (work == nullptr) work = make(argv[1]);
  }
  if (work == nullptr) {
    std::fprintf(stderr, "counted_work: no case %s\n", argv[1]);
    return 2;
  }
  work->Prepare();
  counted_work(work.get());
  std::printf("units=%lld in_calls=%d\n", static_cast<long long>(work->units()), work->in_calls() ? 1 : 0);
  return 0;
}
