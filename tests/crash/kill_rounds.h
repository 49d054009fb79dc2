// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Kills a recording program at random moments, recovers, and compares with what the program had said by then.

#ifndef FERRET_TESTS_CRASH_KILL_ROUNDS_H_
#define FERRET_TESTS_CRASH_KILL_ROUNDS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/crash/kill_figures.h"
#include "tests/tools/program.h"

namespace ferret {

struct KillRound {
  int threads = 1;
  bool slow_exporter = false;
  bool on_disk = false;
  bool under_run = false;  // `ferret run` recovers by itself
  bool gzip = false;
  uint64_t ops = 0;        // the kill comes when all threads together have done so many
  std::string buffer = "8M";
};

// Where the killed program keeps account.
class Markers {
 public:
  explicit Markers(const std::string& path) : path_(path) {
    WriteFile(path, std::string(4096, '\0'));
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    memory_ = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
  }
  ~Markers() { munmap(memory_, 4096); }
  Markers(const Markers&) = delete;
  Markers& operator=(const Markers&) = delete;

  const std::string& path() const { return path_; }
  void Clear() { std::memset(memory_, 0, 4096); }
  uint64_t of(int thread) const {
    return static_cast<const std::atomic<uint64_t>*>(memory_)[thread].load(std::memory_order_acquire);
  }
  uint64_t sum(int threads) const {
    uint64_t sum = 0;
    for (int i = 0; i < threads; ++i) sum += of(i);
    return sum;
  }

 private:
  const std::string path_;
  void* memory_;
};

// What the trace has of each name: how often each op number, and how many events.
struct TraceOps {
  std::map<std::string, std::map<int64_t, int>> numbers;
  std::map<std::string, int> events;
  int arrow_starts = 0;
  int arrow_ends = 0;
};

// Of a plain or gzipped file.
inline std::string ReadText(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "r");
  if (file == nullptr) return "";
  std::string text;
  std::vector<char> piece(1 << 20);
  for (int count; (count = gzread(file, piece.data(), static_cast<unsigned>(piece.size()))) > 0;) {
    text.append(piece.data(), static_cast<size_t>(count));
  }
  EXPECT_EQ(gzclose(file), Z_OK) << path;
  return text;
}

// How many spans of each name are in a file of OTLP lines; each id once.
inline void ReadSpans(const std::string& path, std::map<std::string, int>* spans) {
  std::set<std::string> ids;
  std::istringstream lines(ReadText(path));
  for (std::string line; std::getline(lines, line);) {
    rapidjson::Document document;
    document.Parse(line.data(), line.size());
    ASSERT_FALSE(document.HasParseError()) << path;
    for (const rapidjson::Value& resource : document["resourceSpans"].GetArray()) {
      for (const rapidjson::Value& scope : resource["scopeSpans"].GetArray()) {
        for (const rapidjson::Value& span : scope["spans"].GetArray()) {
          ++(*spans)[span["name"].GetString()];
          ASSERT_TRUE(ids.insert(span["spanId"].GetString()).second) << span["name"].GetString();
        }
      }
    }
  }
}

inline void ReadOps(const std::string& path, TraceOps* ops) {
  rapidjson::Document document;
  const std::string text = ReadText(path);
  ASSERT_FALSE(text.empty()) << path;
  document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
  ASSERT_FALSE(document.HasParseError()) << path << " at " << document.GetErrorOffset();
  for (const rapidjson::Value& event : document["traceEvents"].GetArray()) {
    const std::string phase = event["ph"].GetString();
    ops->arrow_starts += phase == "s";
    ops->arrow_ends += phase == "f";
    if (phase != "X" || std::string(event["cat"].GetString()) == "Trace") continue;
    const std::string name = event["name"].GetString();
    ++ops->events[name];
    ASSERT_GE(event["dur"].GetDouble(), 0);
    if (event.HasMember("args") && event["args"].HasMember("Sequence number")) {
      ++ops->numbers[name][event["args"]["Sequence number"].GetInt64()];
    }
  }
}

// Everything up to the marker once, and at most one more. Adds what it finds to `figures`, if there are any.
inline void ExpectWhole(const TraceOps& ops, const std::string& name, uint64_t marker, KillFigures* figures = nullptr) {
  const auto found = ops.numbers.find(name);
  const std::map<int64_t, int> numbers = found == ops.numbers.end() ? std::map<int64_t, int>() : found->second;
  uint64_t there = 0, doubled = 0;
  for (const auto& [number, times] : numbers) {
    EXPECT_GE(number, 1) << name;
    there += static_cast<uint64_t>(number) <= marker;
    doubled += static_cast<uint64_t>(times - 1);
  }
  EXPECT_EQ(there, marker) << name << " is missing";
  EXPECT_EQ(doubled, 0u) << name << " is there more than once";
  EXPECT_LE(numbers.size(), marker + 1) << name;
  // The one more is the next one.
  if (numbers.size() > marker && !numbers.empty()) {
    EXPECT_EQ(static_cast<uint64_t>(numbers.rbegin()->first), marker + 1) << name;
  }
  if (figures == nullptr) return;
  figures->ops += marker;
  figures->lost += marker - there;
  figures->doubled += doubled;
}

inline void RunRound(const KillRound& round, KillFigures* figures) {
  SCOPED_TRACE(testing::Message() << round.threads << " threads, " << round.ops << " ops, slow " << round.slow_exporter
                                  << ", on disk " << round.on_disk << ", under ferret run " << round.under_run << ", gzip " << round.gzip);
  const TemporaryFolder folder;
  const TemporaryFolder memory("/dev/shm");
  const std::string crash_dir = round.on_disk ? folder.path() : memory.path();
  ++figures->rounds;
  figures->threads += round.threads;
  ++figures->file_systems[FileSystemOf(crash_dir)];
  const std::string trace = folder / (round.gzip ? "trace.json.gz" : "trace.json");
  const std::string spans = folder / (round.gzip ? "spans.jsonl.gz" : "spans.jsonl");
  {
    const Markers markers(folder / "markers");
    std::vector<std::string> command = {DataFile("tests/crash/killed_program"), std::to_string(round.threads),
                                        round.slow_exporter ? "1" : "0", markers.path()};
    if (round.under_run) {
      const std::vector<std::string> run = {DataFile("tools/ferret"), "run", "--no-torch", "--"};
      command.insert(command.begin(), run.begin(), run.end());
    }
    Program program(command, {"FERRET_EXPORT=chrome_trace:" + trace + ",otlp_file:" + spans, "FERRET_CRASH_DIR=" + crash_dir,
                              "FERRET_BUFFER_SIZE=" + round.buffer, "FERRET_OVERFLOW=block", "FERRET_BLOCK_LIMIT=10s"});
    while (markers.sum(round.threads) < round.ops && program.Lives()) sched_yield();
    if (round.under_run) {
      // The crash file has the program's pid in its name.
      for (const auto& entry : std::filesystem::directory_iterator(crash_dir)) {
        const std::string name = entry.path().filename().string();
        if (name.rfind("ferret-", 0) == 0) kill(std::stoi(name.substr(7)), SIGKILL);
      }
    } else {
      kill(program.pid(), SIGKILL);
    }
    const Outcome outcome = program.Wait();
    ASSERT_EQ(outcome.signal, SIGKILL) << outcome.exit_status << outcome.err;
    if (!round.under_run) {
      const Outcome recovered = RunProgram({DataFile("tools/ferret"), "recover", crash_dir});
      ASSERT_EQ(recovered.exit_status, 0) << recovered.err;
    }
    TraceOps ops;
    ReadOps(trace, &ops);
    if (testing::Test::HasFatalFailure()) return;
    for (int i = 0; i < round.threads; ++i) {
      ExpectWhole(ops, (i % 2 == 0 ? "f" : "b") + std::to_string(i), markers.of(i), figures);
      const std::string life = "life" + std::to_string(i);
      // A thread may not have come that far.
      if (markers.of(i) > 0) {
        EXPECT_EQ(ops.events[life], 1) << life;
      }
    }
    EXPECT_EQ(ops.arrow_starts, ops.arrow_ends);
    std::map<std::string, int> spans_by_name;
    ReadSpans(spans, &spans_by_name);
    for (const auto& [name, events] : ops.events) EXPECT_EQ(spans_by_name[name], events) << name;
  }
  // One file of each kind, and nothing else.
  for (const std::string& place : {folder.path(), memory.path()}) {
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      const std::string name = entry.path().filename().string();
      if (folder / name == trace || folder / name == spans || name == "markers") continue;
      ADD_FAILURE() << "left behind: " << entry.path();
    }
  }
}

// The same rounds in every run. Where all ops have room in the buffer, a disk that stands still fails none of them.
inline void RunRounds(int count, uint64_t most_ops, const std::string& buffer) {
  std::mt19937_64 random(20260417);
  KillFigures figures;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    KillRound round;
    round.threads = 1 + i % 8;
    round.slow_exporter = random() % 3 == 0;
    round.on_disk = random() % 3 == 0;
    round.under_run = random() % 4 == 0;
    round.gzip = random() % 3 == 0;
    round.ops = 1 + random() % most_ops;
    round.buffer = buffer;
    RunRound(round, &figures);
  }
  figures.Print();
}

}  // namespace ferret

#endif  // FERRET_TESTS_CRASH_KILL_ROUNDS_H_
