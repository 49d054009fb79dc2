// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of the sections, the whole document, and what ends a run that hangs.

#include <sys/utsname.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include "bench/gpu_bench/bench.h"

namespace gpu_bench {
namespace {

constexpr auto kLimit = std::chrono::seconds(290);

struct Section {
  const char* name;
  Json (*run)(const Bench& bench);
  double seconds;  // at most, about; most need far less
};

// What could disturb the others is last.
constexpr Section kSections[] = {
    {"call_costs", CallCosts, 20},
    {"kernel_gaps", KernelGaps, 10},
    {"durations", Durations, 15},
    {"elapsed_time", ElapsedVariants, 5},
    {"anchor_windows", AnchorWindows, 15},
    {"scope_costs", ScopeCosts, 30},
    {"many_pairs", ManyPairs, 10},
    {"workload", WorkloadCosts, 20},
    {"clock_drift", ClockDrift, 125},
    {"stream_kinds", StreamKinds, 5},
    {"captures", Captures, 5},
};

// Prints what there is and ends the process, unless it is destroyed in time: a call of the driver may never return.
class Guard {
 public:
  Guard() : thread_([this] { Watch(); }) {}
  ~Guard() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void Begin(const char* section) {
    const std::lock_guard<std::mutex> lock(mutex_);
    section_ = section;
  }
  template <typename Value>
  void Set(const std::string& key, const Value& value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    document_.Set(key, value);
  }
  Json document() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return document_;
  }

 private:
  void Watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, kLimit, [this] { return over_; })) return;
    document_.Set("error", std::string("out of time in ") + section_);
    std::printf("%s\n", document_.text().c_str());
    std::fflush(stdout);
    _exit(1);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  const char* section_ = "the beginning";
  Json document_ = Json::Object();
  std::thread thread_;  // last: starts when the rest is there
};

// The first value of a key in /proc/cpuinfo.
std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

Json Machine() {
  utsname names = {};
  uname(&names);
  return Json::Object()
      .Set("processor", ProcessorName())
      .Set("cores", std::thread::hardware_concurrency())
      .Set("system", std::string(names.sysname) + " " + names.release + " " + names.machine);
}

Json DeviceJson(const gpu::Driver& driver, gpu::Device device) {
  char name[256] = "";
  int major = 0, minor = 0, processors = 0;
  GPU_CALL(driver, cuDeviceGetName, name, static_cast<int>(sizeof(name)), device);
  GPU_CALL(driver, cuDeviceGetAttribute, &major, 75, device);       // COMPUTE_CAPABILITY_MAJOR
  GPU_CALL(driver, cuDeviceGetAttribute, &minor, 76, device);       // COMPUTE_CAPABILITY_MINOR
  GPU_CALL(driver, cuDeviceGetAttribute, &processors, 16, device);  // MULTIPROCESSOR_COUNT
  return Json::Object()
      .Set("name", name)
      .Set("compute_capability", std::to_string(major) + "." + std::to_string(minor))
      .Set("processors", processors);
}

Json RunSection(const Section& section, const Bench& bench) {
  try {
    return section.run(bench);
  } catch (const std::exception& error) {
    return Json::Object().Set("error", error.what());
  }
}

void Fill(bool short_run, Guard* guard) {
  guard->Set("machine", Machine());
  if (const char* other = std::getenv("FERRET_CUDA_LIBRARY")) guard->Set("not_the_real_driver", other);
  gpu::Driver driver;
  gpu::Device device = 0;
  gpu::Context context = nullptr;
  std::string why = driver.Load();
  if (why.empty()) why = gpu::OpenFirstDevice(driver, &device, &context);
  if (why.empty()) {
    why = Bench::Lacks("the event functions", driver.cuEventCreate, driver.cuEventDestroy, driver.cuEventRecord,
                       driver.cuEventQuery, driver.cuEventElapsedTime);
  }
  if (!why.empty()) return guard->Set("error", why);
  int version = 0;
  GPU_CALL(driver, cuDriverGetVersion, &version);
  guard->Set("driver_version", version);
  guard->Set("device", DeviceJson(driver, device));
  guard->Set("short", short_run);
  Bench bench(driver, device, context, short_run);
  const int64_t begin = NowNs();
  for (const Section& section : kSections) {
    std::fprintf(stderr, "%6.1f s: %s\n", static_cast<double>(NowNs() - begin) / 1e9, section.name);
    guard->Begin(section.name);
    bench.BeginSection(section.seconds);
    guard->Set(section.name, RunSection(section, bench));
  }
  guard->Set("seconds", static_cast<double>(NowNs() - begin) / 1e9);
}

}  // namespace

Json RunAll(bool short_run) {
  Guard guard;
  try {
    Fill(short_run, &guard);
  } catch (const std::exception& error) {
    guard.Set("error", error.what());
  }
  return guard.document();
}

}  // namespace gpu_bench
