// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Sessions with a crash file in a folder of their own, and the file as a kill at this moment would leave it.

#ifndef FERRET_TESTS_CRASH_CRASH_KIT_H_
#define FERRET_TESTS_CRASH_CRASH_KIT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/crash/crash_reader.h"
#include "tests/session/session_kit.h"
#include "tests/tools/program.h"
#include "tools/crash_files.h"
#include "tools/crash_replay.h"

namespace ferret {

// Lets everything through until it is closed; the next batch then hangs until it is opened for good.
class Gate {
 public:
  std::unique_ptr<Exporter> NewExporter() {
    return std::make_unique<FunctionExporter>([this] {
      std::unique_lock<std::mutex> lock(mutex_);
      while (closed_) changed_.wait(lock);
      return absl::OkStatus();
    });
  }
  void Set(bool closed) {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = closed;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
};

// What a replay hands over, with texts of its own.
struct Recovered {
  struct Event {
    std::string name;
    std::string trace_name;  // of a step
    int64_t id, parent_id, start_ns, end_ns, self_ns, sequence_nr;
    uint32_t thread;
    bool truncated, async;
  };
  std::vector<Event> events;
  std::vector<std::string> instants;
  std::vector<ForwardBackwardLink> links;
  std::vector<std::string> threads;
  std::vector<int64_t> memory;
  ReplayCounts counts;

  size_t Count(const std::string& name) const {
    return static_cast<size_t>(
        std::count_if(events.begin(), events.end(), [&](const Event& event) { return event.name == name; }));
  }
  const Event& Only(const std::string& name) const {
    static const Event kNone{};
    EXPECT_EQ(Count(name), 1u) << name;
    for (const Event& event : events) {
      if (event.name == name) return event;
    }
    return kNone;
  }
};

inline Recovered ReplayOf(internal::CrashContents* contents, std::optional<uint64_t> settled) {
  Recovered recovered;
  const absl::Status status = ReplayCrash(
      contents, settled, false,
      [&](const EventBatch& batch) {
        for (const FunctionEvent& e : batch.events) {
          recovered.events.push_back({std::string(e.name), std::string(e.details ? e.details->trace_name : ""), e.id, e.parent_id, e.start_ns, e.end_ns, e.self_ns,
                                      e.sequence_nr, e.thread, e.is_truncated, e.is_async});
        }
        for (const InstantEvent& e : batch.instants) recovered.instants.emplace_back(e.name);
        for (const MemoryEvent& e : batch.memory) recovered.memory.push_back(e.bytes);
        for (const ThreadInfo& e : batch.threads) recovered.threads.push_back(e.name);
        recovered.links.insert(recovered.links.end(), batch.links.begin(), batch.links.end());
        return absl::OkStatus();
      },
      &recovered.counts);
  EXPECT_TRUE(status.ok()) << status;
  return recovered;
}

class CrashSessionTest : public testing::Test {
 protected:
  CrashSessionTest() {
    options_ = TestOptions(8);
    options_.crash_dir = folder_.path();
  }
  ~CrashSessionTest() override {
    gate_.Set(false);
    Stop60().IgnoreError();
  }

  // With an exporter that is the gate, and one that collects.
  void Start() {
    ASSERT_TRUE(StartSession(options_, Exporters().With("gate", gate_.NewExporter()).Memory(collector_).Take()).ok());
  }
  // Everything recorded so far is settled.
  void Settle() { ASSERT_EQ(Flush(60'000), ""); }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      files.push_back(entry.path().filename().string());
    }
    return files;
  }
  std::string Bytes() const {
    const std::vector<std::string> files = Files();
    return files.size() == 1 ? ReadFile(folder_ / files[0]) : "";
  }
  // As a kill would leave it now.
  std::unique_ptr<internal::CrashContents> Contents() const {
    // Mapped: of a copy the beginning would be older than the end.
    const std::vector<std::string> files = Files();
    EXPECT_EQ(files.size(), 1u);
    const auto file = MappedFile::Open(files.empty() ? "" : folder_ / files[0]);
    EXPECT_TRUE(file.ok()) << file.status();
    if (!file.ok()) return nullptr;
    auto contents = internal::CrashContents::Read((*file)->bytes());
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() ? std::move(*contents) : nullptr;
  }
  static uint64_t Settled(const internal::CrashContents& contents) {
    uint64_t settled = UINT64_MAX;
    for (const auto& output : contents.outputs()) settled = std::min(settled, output.batch);
    return settled;
  }

  TemporaryFolder folder_;
  Options options_;
  Gate gate_;
  std::shared_ptr<MemoryCollector> collector_ = std::make_shared<MemoryCollector>(1'000'000);
};

}  // namespace ferret

#endif  // FERRET_TESTS_CRASH_CRASH_KIT_H_
