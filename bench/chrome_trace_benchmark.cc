// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the Chrome-trace exporter costs its thread per function event: the text alone, that of kernels with their launches
// and arrows, into a file, gzipped.
//
// Every row hands the same batch over again and again: 128 names of framework length, eight threads, one event in four
// with a sequence number, one in five an annotation. `bytes/event` is what lies on disk.

#include <sys/stat.h>
#include <unistd.h>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "exporters/chrome_trace/chrome_trace_exporter.h"

namespace ferret {
namespace {

constexpr int kBatchEvents = 4096;
constexpr int kNames = 128;
constexpr int64_t kStartNs = 1751410836123456789;

// Takes everything and keeps nothing: what remains is the work of making text.
class NullIo final : public FileIo {
 public:
  ssize_t PWrite(int, const char*, size_t size, int64_t offset) override {
    written = std::max(written, offset + static_cast<int64_t>(size));
    return static_cast<ssize_t>(size);
  }
  ssize_t Write(int, const char*, size_t size) override { return static_cast<ssize_t>(size); }
  int Truncate(int, int64_t size) override {
    written = size;
    return 0;
  }

  int64_t written = 0;
};

std::vector<std::string> Names() {
  const char* const stems[] = {"aten::add_",
                               "aten::_foreach_lerp_",
                               "autograd::engine::evaluate_function: AddmmBackward",
                               "aten::native_layer_norm_backward",
                               "aten::copy_",
                               "Optimizer.step#AdamW.step"};
  std::vector<std::string> names;
  for (int i = 0; i < kNames; ++i) names.push_back(stems[i % 6] + std::to_string(i));
  return names;
}

// A stream of batches whose times go on, so that a compressor sees what it would see in a run.
class Source {
 public:
  // Of scopes, or of kernels that were timed: launches and arrows come with them.
  explicit Source(bool kernels) : kernels_(kernels), names_(Names()) {}

  const EventBatch& Next() {
    batch_.Clear();
    for (int i = 0; i < kBatchEvents; ++i) {
      seed_ = seed_ * 6364136223846793005 + 1442695040888963407;
      const uint32_t random = static_cast<uint32_t>(seed_ >> 33);
      FunctionEvent event;
      event.id = next_id_++;
      event.name_id = 1 + random % kNames;
      event.name = names_[event.name_id - 1];
      now_ += 200 + random % 4000;
      event.start_ns = now_;
      event.end_ns = now_ + 100 + random % 90000;
      event.device_resource_id = 4000 + (i / 512) % 8;
      event.sequence_nr = random % 4 == 0 ? next_id_ / 4 : -1;
      event.is_user_annotation = random % 5 == 0;
      if (kernels_) MakeKernel(&event);
      batch_.events.push_back(event);
    }
    return batch_;
  }

 private:
  void MakeKernel(FunctionEvent* event) {
    event->end_ns = event->start_ns + 150;
    event->device_type = event->use_device = DeviceType::kCuda;
    event->device_resource_id = 7;
    event->activity_type = ActivityType::kKernel;
    event->is_user_annotation = false;
    EventDetails& details = batch_.details.emplace_back();
    const int64_t start_ns = event->start_ns - 5000;
    details.launch = &batch_.launches.emplace_back(
        DeviceLaunch{event->id, 1, 4000, event->id, start_ns, start_ns + 1000, 300, 1});
    event->details = &details;
  }

  const bool kernels_;
  const std::vector<std::string> names_;
  EventBatch batch_;
  uint64_t seed_ = 1;
  int64_t next_id_ = 1;
  int64_t now_ = kStartNs;
};

void Run(benchmark::State& state, const char* file_name, int level, bool to_disk, bool kernels = false) {
  char folder[] = "/tmp/chrome_trace_benchmark_XXXXXX";
  if (mkdtemp(folder) == nullptr) return state.SkipWithError("no temporary folder");
  NullIo null_io;
  ChromeTraceOptions options;
  options.target = std::string(folder) + "/" + file_name;
  options.gzip_level = level;
  if (!to_disk) options.io = &null_io;
  SessionInfo info;
  info.start_ns = kStartNs;
  info.pid = getpid();
  info.process_name = "benchmark";
  std::chrono::duration<double, std::nano> spent{};
  {
    ChromeTraceExporter exporter(options);
    if (!exporter.Open(info).ok()) return state.SkipWithError("cannot open");
    Source source(kernels);
    for (auto _ : state) {
      state.PauseTiming();
      const EventBatch& batch = source.Next();
      state.ResumeTiming();
      const auto begin = std::chrono::steady_clock::now();
      if (!exporter.Export(batch).ok()) return state.SkipWithError("cannot export");
      spent += std::chrono::steady_clock::now() - begin;
    }
    if (!exporter.Close({}, absl::InfiniteFuture()).ok()) return state.SkipWithError("cannot close");
  }
  const double events = static_cast<double>(state.iterations()) * kBatchEvents;
  struct stat status = {};
  if (to_disk) stat(options.target.c_str(), &status);
  const double bytes = static_cast<double>(to_disk ? status.st_size : null_io.written);
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["ns/event"] = spent.count() / events;
  state.counters["bytes/event"] = bytes / events;
  unlink(options.target.c_str());
  rmdir(folder);
}

void BM_Text(benchmark::State& state) { Run(state, "trace.json", 1, false); }
void BM_KernelText(benchmark::State& state) { Run(state, "trace.json", 1, false, true); }
void BM_TextToFile(benchmark::State& state) { Run(state, "trace.json", 1, true); }
void BM_GzipToFile(benchmark::State& state) { Run(state, "trace.json.gz", static_cast<int>(state.range(0)), true); }

BENCHMARK(BM_Text)->Iterations(500)->UseRealTime();
BENCHMARK(BM_KernelText)->Iterations(50)->UseRealTime();
BENCHMARK(BM_TextToFile)->Iterations(500)->UseRealTime();
BENCHMARK(BM_GzipToFile)->Arg(1)->Arg(3)->Arg(6)->Iterations(200)->UseRealTime();

}  // namespace
}  // namespace ferret
