// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// On which streams events can be recorded at all, and what a poll does to a capture elsewhere.

#include <array>
#include <atomic>
#include <thread>

#include "bench/gpu_bench/bench.h"

namespace gpu_bench {
namespace {

// Two marks around a kernel: the result of each call up to the first that fails, and the time.
Json TryMarks(const Bench& bench, gpu::Stream stream, const std::vector<gpu::Event>& events) {
  const gpu::Driver& driver = bench.driver;
  Json json = Json::Object();
  const gpu::Result begin = driver.cuEventRecord(events[0], stream);
  json.Set("first_record", driver.ErrorName(begin));
  if (begin != 0) return json;
  try {
    bench.Spin(stream, 100'000);
    const gpu::Result end = driver.cuEventRecord(events[1], stream);
    json.Set("second_record", driver.ErrorName(end));
    if (end != 0) return json;
    GPU_CALL(driver, cuStreamSynchronize, stream);
    json.Set("elapsed_ns_of_100_us", bench.ElapsedNs(events[0], events[1]));
  } catch (const gpu::DriverError& error) {
    json.Set("error", error.what());
  }
  return json;
}

// A stream of a green context that is the whole device.
Json TryGreen(const Bench& bench, const std::vector<gpu::Event>& events) {
  const gpu::Driver& driver = bench.driver;
  const std::string lacks =
      bench.Lacks("cuGreenCtxCreate and its kind", driver.cuDeviceGetDevResource, driver.cuDevResourceGenerateDesc,
                  driver.cuGreenCtxCreate, driver.cuGreenCtxStreamCreate, driver.cuGreenCtxDestroy);
  if (!lacks.empty()) return Skipped(lacks);
  constexpr int kProcessors = 1;                   // CU_DEV_RESOURCE_TYPE_SM
  constexpr unsigned kDefaultStream = 1;           // CU_GREEN_CTX_DEFAULT_STREAM
  alignas(16) std::array<char, 1024> resource{};   // a CUdevResource, which has grown over the versions
  CUdevResourceDesc_st* description = nullptr;
  CUgreenCtx_st* green = nullptr;
  gpu::Stream stream = nullptr;
  GPU_CALL(driver, cuDeviceGetDevResource, bench.device, resource.data(), kProcessors);
  GPU_CALL(driver, cuDevResourceGenerateDesc, &description, resource.data(), 1u);
  GPU_CALL(driver, cuGreenCtxCreate, &green, description, bench.device, kDefaultStream);
  GPU_CALL(driver, cuGreenCtxStreamCreate, &stream, green, gpu::kNonBlockingStream, 0);
  Json json = Json::Object();
  json.Set("events_of_the_primary_context", TryMarks(bench, stream, events));
  gpu::Context context = nullptr;
  if (driver.cuCtxFromGreenCtx != nullptr && driver.cuCtxFromGreenCtx(&context, green) == 0) {
    GPU_CALL(driver, cuCtxSetCurrent, context);
    const std::vector<gpu::Event> own = bench.NewEvents(2);
    json.Set("events_of_the_green_context", TryMarks(bench, stream, own));
    bench.Destroy(own);
    GPU_CALL(driver, cuCtxSetCurrent, bench.context);
  }
  GPU_CALL(driver, cuStreamDestroy, stream);
  GPU_CALL(driver, cuGreenCtxDestroy, green);
  return json;
}

// One thread captures in GLOBAL mode while another polls; how both fared. Each result is counted by its name.
class CaptureTrial {
 public:
  explicit CaptureTrial(const Bench& bench)
      : bench_(bench), stream_(bench.NewStream()), other_(bench.NewStream()), events_(bench.NewEvents(2)) {
    for (const gpu::Event event : events_) GPU_CALL(bench.driver, cuEventRecord, event, other_);
    GPU_CALL(bench.driver, cuStreamSynchronize, other_);
  }
  ~CaptureTrial() {
    // Results do not matter: what is measured here may have spoiled the context.
    bench_.driver.cuStreamDestroy(stream_);
    bench_.driver.cuStreamDestroy(other_);
    for (const gpu::Event event : events_) bench_.driver.cuEventDestroy(event);
  }

  Json Run(bool relaxed) {
    const gpu::Driver& driver = bench_.driver;
    std::atomic<int> turn{0};  // 0: the capture begins, 1: the poll, 2: the capture ends
    gpu::Result begin = 0, launch = 0, end = 0, exchange = 0, query = 0, elapsed = 0, asked = 0, record = 0;
    int status = 0;
    OnThreads(bench_, 2, [&](int thread) {
      if (thread == 0) {
        begin = driver.cuStreamBeginCapture(stream_, gpu::kCaptureGlobal);
        launch = TrySpin();
        turn = 1;
        while (turn != 2) std::this_thread::yield();
        if (launch == 0) launch = TrySpin();
        void* graph = nullptr;
        end = driver.cuStreamEndCapture(stream_, &graph);
        if (graph != nullptr) driver.cuGraphDestroy(graph);
        return;
      }
      while (turn != 1) std::this_thread::yield();
      int mode = gpu::kCaptureRelaxed;
      if (relaxed) exchange = driver.cuThreadExchangeStreamCaptureMode(&mode);
      query = driver.cuEventQuery(events_[0]);
      float ms = 0;
      elapsed = driver.cuEventElapsedTime(&ms, events_[0], events_[1]);
      asked = driver.cuStreamIsCapturing(stream_, &status);
      record = driver.cuEventRecord(events_[1], other_);
      if (relaxed && exchange == 0) exchange = driver.cuThreadExchangeStreamCaptureMode(&mode);
      turn = 2;
    });
    return Json::Object()
        .Set("begin_capture", driver.ErrorName(begin))
        .Set("launches_in_capture", driver.ErrorName(launch))
        .Set("exchange_mode", driver.ErrorName(exchange))
        .Set("query", driver.ErrorName(query))
        .Set("elapsed", driver.ErrorName(elapsed))
        .Set("is_capturing", driver.ErrorName(asked))
        .Set("capture_status", status)
        .Set("record_elsewhere", driver.ErrorName(record))
        .Set("end_capture", driver.ErrorName(end))
        .Set("intact", begin == 0 && launch == 0 && end == 0);
  }

 private:
  gpu::Result TrySpin() {
    try {
      bench_.Spin(stream_, 1000);
    } catch (const gpu::DriverError& error) {
      return error.code;
    }
    return 0;
  }

  const Bench& bench_;
  const gpu::Stream stream_, other_;
  const std::vector<gpu::Event> events_;
};

}  // namespace

Json StreamKinds(const Bench& bench) {
  const std::vector<gpu::Event> events = bench.NewEvents(2);
  const gpu::Stream blocking = bench.NewStream(0), non_blocking = bench.NewStream();
  Json json = Json::Object();
  json.Set("legacy", TryMarks(bench, reinterpret_cast<gpu::Stream>(uintptr_t{1}), events));
  json.Set("per_thread", TryMarks(bench, reinterpret_cast<gpu::Stream>(uintptr_t{2}), events));
  json.Set("blocking", TryMarks(bench, blocking, events));
  json.Set("non_blocking", TryMarks(bench, non_blocking, events));
  try {
    json.Set("green", TryGreen(bench, events));
  } catch (const gpu::DriverError& error) {
    GPU_CALL(bench.driver, cuCtxSetCurrent, bench.context);
    json.Set("green", Json::Object().Set("error", error.what()));
  }
  bench.Destroy(blocking);
  bench.Destroy(non_blocking);
  bench.Destroy(events);
  return json;
}

Json Captures(const Bench& bench) {
  const gpu::Driver& driver = bench.driver;
  const std::string lacks =
      bench.Lacks("cuStreamBeginCapture and its kind", driver.cuStreamBeginCapture, driver.cuStreamEndCapture,
                  driver.cuGraphDestroy, driver.cuThreadExchangeStreamCaptureMode, driver.cuStreamIsCapturing);
  if (!lacks.empty()) return Skipped(lacks);
  Json json = Json::Object();
  CaptureTrial relaxed(bench);
  int64_t intact = 0;
  Rounds rounds(bench, 500);
  std::string first_bad;
  Json last = Json::Object();
  while (rounds.Next()) {
    last = relaxed.Run(true);
    const bool good = last.text().find("\"intact\": true") != std::string::npos;
    intact += good ? 1 : 0;
    if (!good && first_bad.empty()) first_bad = last.text();
  }
  json.Set("relaxed", Json::Object()
                          .Set("captures", rounds.done())
                          .Set("intact", intact)
                          .Set("first_not_intact", first_bad)
                          .Set("last", last));
  CaptureTrial strict(bench);
  json.Set("not_relaxed", strict.Run(false));
  return json;
}

}  // namespace gpu_bench
