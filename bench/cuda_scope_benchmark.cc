// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a scope that is timed on a device costs the recording thread, beside the calls of the driver that it cannot do
// without. The driver is the tests' fake one, whose calls cost some tens of ns: so this is Ferret's own part. On a device
// each mark costs 0.5 to 1 µs more (bench/gpu_bench).

#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "ferret/cuda.h"
#include "ferret/session.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"

namespace {

using Event = struct CUevent_st*;
using Stream = CUstream_st*;

struct Driver {
  Driver() : fake(fake_cuda::Load().fake) {
    fake.Reset();
    fake.UseMonotonicClock();
    fake.MakeCurrent(fake.NewContext(0));
    record = fake_cuda::Symbol<int(Event, Stream)>("cuEventRecord");
    is_capturing = fake_cuda::Symbol<int(Stream, int*)>("cuStreamIsCapturing");
    const auto create = fake_cuda::Symbol<int(Event*, unsigned)>("cuEventCreate");
    const auto new_stream = fake_cuda::Symbol<int(Stream*, unsigned)>("cuStreamCreate");
    if (create(&begin, 0) != 0 || create(&end, 0) != 0 || new_stream(&stream, 0) != 0) std::abort();
  }

  fake_cuda::FakeCuda& fake;
  int (*record)(Event, Stream);
  int (*is_capturing)(Stream, int*);
  Event begin = nullptr;
  Event end = nullptr;
  Stream stream = nullptr;
};

Driver& TheDriver() {
  static Driver driver;
  return driver;
}

// Two marks, and before each a look at whether the stream is capturing.
void BM_BareDriverCalls(benchmark::State& state) {
  Driver& driver = TheDriver();
  for (auto _ : state) {
    int capturing;
    driver.is_capturing(driver.stream, &capturing);
    driver.record(driver.begin, driver.stream);
    driver.is_capturing(driver.stream, &capturing);
    driver.record(driver.end, driver.stream);
  }
}
BENCHMARK(BM_BareDriverCalls);

void BM_CudaScope(benchmark::State& state) {
  Driver& driver = TheDriver();
  setenv("FERRET_CUDA_LIBRARY", fake_cuda::Load().path.c_str(), 1);
  setenv("FERRET_CUDA_RATE", "0", 1);
  setenv("FERRET_LOG", "error", 1);
  const std::string error = ferret::Start("table:/dev/null");
  if (!error.empty()) {
    state.SkipWithError(error.c_str());
    return;
  }
  if (!ferret::cuda::Prepare(driver.stream)) state.SkipWithError(ferret::CudaStatus().c_str());
  for (auto _ : state) {
    FERRET_CUDA_SCOPE(driver.stream, "gemm");
  }
  ferret::Stop();
  const ferret::DeviceCounts counts = ferret::DeviceLosses();
  state.counters["timed"] = static_cast<double>(counts.timed) / static_cast<double>(counts.asked);
}
// Few enough for the events that there are, even if the device thread does not get to run meanwhile.
BENCHMARK(BM_CudaScope)->Iterations(4'000)->Repetitions(25)->ReportAggregatesOnly();

void BM_CudaScopeWhileNothingIsRecorded(benchmark::State& state) {
  Driver& driver = TheDriver();
  for (auto _ : state) {
    FERRET_CUDA_SCOPE(driver.stream, "gemm");
  }
}
BENCHMARK(BM_CudaScopeWhileNothingIsRecorded);

}  // namespace
