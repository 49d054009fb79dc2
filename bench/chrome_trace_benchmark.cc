// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the Chrome-trace exporter costs its thread per function event: the text alone, that of kernels with their launches
// and arrows, into a file, gzipped. Beside it, in the same run:
//
//   RapidJson        the same fields of the same events, written by a JSON library's writer
//   RapidJsonToFile  its text appended to a file by plain writes: nothing closes the document before its end
//   WritesOnly       as many bytes as the exporter's text, made before, appended by plain writes: the file system's share
//
// Every row has a stream of batches: 128 names of framework length, eight threads, one event in four with a sequence
// number, one in five an annotation. `bytes/event` is what lies on disk, or would. That the exporter and its peer write the
// same events is checked before anything is measured.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <benchmark/benchmark.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "bench/chrome_trace_events.h"
#include "bench/rapidjson_trace.h"
#include "exporters/chrome_trace/chrome_trace_exporter.h"

namespace ferret {
namespace {

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
  // Whoever watches the file finds all of it.
  int Stat(int, struct stat* status) override {
    *status = {};
    status->st_nlink = 1;
    status->st_size = written;
    return 0;
  }

  int64_t written = 0;
};

// A file that is gone afterwards.
class TemporaryFile {
 public:
  explicit TemporaryFile(const char* name) {
    if (mkdtemp(folder_) == nullptr) std::abort();
    path_ = std::string(folder_) + "/" + name;
  }
  ~TemporaryFile() {
    unlink(path_.c_str());
    rmdir(folder_);
  }
  const std::string& path() const { return path_; }
  double size() const {
    struct stat status = {};
    stat(path_.c_str(), &status);
    return static_cast<double>(status.st_size);
  }

 private:
  char folder_[sizeof("/tmp/chrome_trace_benchmark_XXXXXX")] = "/tmp/chrome_trace_benchmark_XXXXXX";
  std::string path_;
};

SessionInfo Info() {
  SessionInfo info;
  info.start_ns = kStartNs;
  info.pid = getpid();
  info.process_name = "benchmark";
  return info;
}

// The instant that the exporter's times count from: it is in every trace.
int64_t BaseNs() {
  constexpr int64_t kThreeMonthsNs = int64_t{7889238} * 1000000000;
  return kStartNs / kThreeMonthsNs * kThreeMonthsNs;
}

void CheckSameEvents() {
  using rapidjson::Document;
  const TemporaryFile file("trace.json");
  ChromeTraceOptions options;
  options.target = file.path();
  ChromeTraceExporter exporter(options);
  Source source(/*kernels=*/false);
  const EventBatch& batch = source.Next();
  if (!exporter.Open(Info()).ok() || !exporter.Export(batch).ok()) std::abort();
  if (!exporter.Close({}, absl::InfiniteFuture()).ok()) std::abort();
  std::ifstream stream(file.path());
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  std::string their_text;
  RapidJsonTrace theirs(getpid(), BaseNs());
  theirs.Add(batch, [&](std::string_view piece) { their_text.append(piece); });
  theirs.Finish([&](std::string_view piece) { their_text.append(piece); });

  Document ours, their_events;
  ours.Parse<rapidjson::kParseFullPrecisionFlag>(text.c_str());
  their_events.Parse<rapidjson::kParseFullPrecisionFlag>(their_text.c_str());
  if (ours.HasParseError() || their_events.HasParseError()) std::abort();
  rapidjson::SizeType same = 0;
  for (const Document::ValueType& event : ours["traceEvents"].GetArray()) {
    if (!event.HasMember("args") || !event["args"].HasMember("Ev Idx")) continue;
    if (same >= their_events.Size() || event != their_events[same++]) std::abort();
  }
  if (same != kBatchEvents || same != their_events.Size()) std::abort();
}

// `consume` is given a batch each time; what it takes is measured.
template <typename Consume>
void Measure(benchmark::State& state, bool kernels, const Consume& consume) {
  static const bool checked = (CheckSameEvents(), true);
  (void)checked;
  Source source(kernels);
  std::chrono::duration<double, std::nano> spent{};
  for (auto _ : state) {
    state.PauseTiming();
    const EventBatch& batch = source.Next();
    state.ResumeTiming();
    const auto begin = std::chrono::steady_clock::now();
    if (!consume(batch)) return state.SkipWithError("cannot write");
    spent += std::chrono::steady_clock::now() - begin;
  }
  const double events = static_cast<double>(state.iterations()) * kBatchEvents;
  state.SetItemsProcessed(static_cast<int64_t>(events));
  state.counters["ns/event"] = spent.count() / events;
}

void SetBytes(benchmark::State& state, double bytes) {
  state.counters["bytes/event"] = bytes / (static_cast<double>(state.iterations()) * kBatchEvents);
}

void Run(benchmark::State& state, const char* file_name, int level, bool to_disk, bool kernels = false) {
  const TemporaryFile file(file_name);
  NullIo null_io;
  ChromeTraceOptions options;
  options.target = file.path();
  options.gzip_level = level;
  if (!to_disk) options.io = &null_io;
  ChromeTraceExporter exporter(options);
  if (!exporter.Open(Info()).ok()) return state.SkipWithError("cannot open");
  Measure(state, kernels, [&](const EventBatch& batch) { return exporter.Export(batch).ok(); });
  if (!exporter.Close({}, absl::InfiniteFuture()).ok()) return state.SkipWithError("cannot close");
  SetBytes(state, to_disk ? file.size() : static_cast<double>(null_io.written));
}

bool WriteAllTo(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(fd, bytes.data(), bytes.size());
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

void RunRapidJson(benchmark::State& state, bool to_disk) {
  const TemporaryFile file("trace.json");
  const int fd = open(file.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  RapidJsonTrace trace(getpid(), BaseNs());
  double bytes = 0;
  bool written = true;
  const auto take = [&](std::string_view piece) {
    bytes += static_cast<double>(piece.size());
    benchmark::DoNotOptimize(piece.data());
    if (to_disk) written &= WriteAllTo(fd, piece);
  };
  Measure(state, /*kernels=*/false, [&](const EventBatch& batch) {
    trace.Add(batch, take);
    return written;
  });
  trace.Finish(take);
  SetBytes(state, bytes);
  close(fd);
}

void RunWritesOnly(benchmark::State& state) {
  const TemporaryFile file("bytes");
  const int fd = open(file.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::string piece(64 * 1024, ' ');
  constexpr size_t kEventBytes = 230;  // of the exporter's text
  size_t due = 0;
  Measure(state, /*kernels=*/false, [&](const EventBatch& batch) {
    bool written = true;
    for (due += batch.events.size() * kEventBytes; due >= piece.size(); due -= piece.size()) {
      written &= WriteAllTo(fd, piece);
    }
    return written;
  });
  SetBytes(state, file.size());
  close(fd);
}

void BM_Text(benchmark::State& state) { Run(state, "trace.json", 1, false); }
void BM_KernelText(benchmark::State& state) { Run(state, "trace.json", 1, false, true); }
void BM_TextToFile(benchmark::State& state) { Run(state, "trace.json", 1, true); }
void BM_GzipToFile(benchmark::State& state) { Run(state, "trace.json.gz", static_cast<int>(state.range(0)), true); }

void BM_RapidJson(benchmark::State& state) { RunRapidJson(state, false); }
void BM_RapidJsonToFile(benchmark::State& state) { RunRapidJson(state, true); }
void BM_WritesOnly(benchmark::State& state) { RunWritesOnly(state); }

BENCHMARK(BM_Text)->Iterations(500)->UseRealTime();
BENCHMARK(BM_KernelText)->Iterations(50)->UseRealTime();
BENCHMARK(BM_TextToFile)->Iterations(500)->UseRealTime();
BENCHMARK(BM_RapidJson)->Iterations(100)->UseRealTime();
BENCHMARK(BM_RapidJsonToFile)->Iterations(500)->UseRealTime();
BENCHMARK(BM_WritesOnly)->Iterations(500)->UseRealTime();
BENCHMARK(BM_GzipToFile)->Arg(1)->Arg(3)->Arg(6)->Iterations(200)->UseRealTime();

}  // namespace
}  // namespace ferret
