// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that is killed at any moment leaves a trace that can be opened and has what was flushed.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include "exporters/chrome_trace/chrome_trace_exporter.h"
#include "tests/chrome_trace/trace_files.h"

namespace ferret {
namespace {

// In memory that both processes see: how many events have been flushed.
std::atomic<uint64_t>* SharedCounter() {
  void* memory = mmap(nullptr, sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (memory) std::atomic<uint64_t>(0);
}

[[noreturn]] void WriteUntilKilled(const std::string& target, uint32_t seed, std::atomic<uint64_t>* flushed) {
  ChromeTraceOptions options;
  options.target = target;
  ChromeTraceExporter exporter(options);
  if (!exporter.Open(TestSession()).ok()) _exit(1);
  std::mt19937 random(seed);
  const std::string names[] = {"aten::add", "aten::native_layer_norm_backward", "x\"\xff"};
  ExportProgress progress;
  for (;;) {
    // Between one event and several pieces, so that some kills fall into large writes and some into flushes.
    EventBatch batch;
    const uint32_t count = 1 + random() % (random() % 4 == 0 ? 2000 : 30);
    for (uint32_t i = 0; i < count; ++i) {
      const int64_t start = static_cast<int64_t>(progress.events_built + i) * 100;
      batch.events.push_back(TestEvent(names[random() % 3], start, start + 90));
      batch.events.back().name_id = 0;
    }
    progress.events_built += count;
    if (!exporter.Export(batch).ok() || !exporter.Flush(progress, absl::InfiniteFuture()).ok()) _exit(1);
    flushed->store(progress.events_built);
    usleep(20);
  }
}

struct Outcome {
  int killed = 0;
  int complete = 0;
};

Outcome KillWriters(const std::string& name, int rounds) {
  Outcome outcome;
  std::mt19937 random(17);
  std::atomic<uint64_t>* flushed = SharedCounter();
  for (int round = 0; round < rounds; ++round) {
    TempDir folder;
    flushed->store(0);
    const pid_t pid = fork();
    if (pid == 0) WriteUntilKilled(folder / name, static_cast<uint32_t>(round), flushed);
    while (flushed->load() == 0) usleep(100);
    usleep(random() % 40000);
    kill(pid, SIGKILL);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer gave up";
    ++outcome.killed;

    const std::string bytes = ReadFile(folder / (name + ".tmp"));
    const bool gzip = name.back() == 'z';
    const Inflated inflated = gzip ? Gunzip(bytes) : Inflated{bytes, true};
    const rapidjson::Document trace = ParseJson(inflated.text);
    if (inflated.whole && !trace.HasParseError()) {
      ++outcome.complete;
      EXPECT_GE(EventsWith(trace, "cat", "cpu_op").size(), flushed->load());
      EXPECT_GT(EventsWith(trace, "cat", "cpu_op").size(), 0u);
      EXPECT_EQ(EventsWith(trace, "name", "Ferret Record").size(), 1u);
      continue;
    }
    // Cut in the one write that was under way: what was flushed before is there all the same.
    size_t events = 0;
    for (size_t at = 0; (at = inflated.text.find("\"Ev Idx\"", at)) != std::string::npos; ++at) ++events;
    EXPECT_GE(events, flushed->load()) << round;
  }
  munmap(flushed, sizeof(*flushed));
  return outcome;
}

TEST(KilledWriter, APlainTraceIsACompleteDocument) {
  const Outcome outcome = KillWriters("t.json", 50);
  // The tail moves once per gap, in two small writes; a kill between them is a matter of one in tens of thousands.
  EXPECT_GE(outcome.complete, outcome.killed - 1);
}

TEST(KilledWriter, AGzippedTraceHasAllThatWasFlushedAndIsNearlyAlwaysWhole) {
  const Outcome outcome = KillWriters("t.json.gz", 50);
  // A kill inside one of the writes, which take microseconds each, cuts off the trailer.
  EXPECT_GE(outcome.complete, outcome.killed - 5);
}

}  // namespace
}  // namespace ferret
