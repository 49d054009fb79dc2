// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of whole sessions share: exporters of every temper, and threads that count what they try to record.

#ifndef FERRET_TESTS_SESSION_SESSION_KIT_H_
#define FERRET_TESTS_SESSION_SESSION_KIT_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "exporters/memory/memory_exporter.h"
#include "ferret/scope.h"
#include "ferret/session.h"
#include "runtime/session/process_session.h"

namespace ferret {

// Threads wait at it until it is opened, once and for all.
class Latch {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!open_) changed_.wait(lock);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// Does in Export what it is told, and nothing else.
class FunctionExporter final : public Exporter {
 public:
  explicit FunctionExporter(std::function<absl::Status()> on_export) : on_export_(std::move(on_export)) {}

  absl::Status Open(const SessionInfo&) override { return absl::OkStatus(); }
  absl::Status Export(const EventBatch&) override { return on_export_(); }
  absl::Status Flush(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }
  absl::Status Close(const ExportProgress&, absl::Time) override { return absl::OkStatus(); }

 private:
  const std::function<absl::Status()> on_export_;
};

// Never returns from Export while the latch is closed. Whoever uses it opens the latch at the end of the test.
inline std::unique_ptr<Exporter> BlockingExporter(std::shared_ptr<Latch> latch,
                                                  std::shared_ptr<Latch> entered = std::make_shared<Latch>()) {
  return std::make_unique<FunctionExporter>([latch, entered] {
    entered->Open();
    latch->Wait();
    return absl::OkStatus();
  });
}

// Exporters by name, for StartSession and SessionRun::Start.
class Exporters {
 public:
  Exporters& Memory(const std::shared_ptr<MemoryCollector>& collector) {
    return With("memory", std::make_unique<MemoryExporter>(collector));
  }
  Exporters& With(const std::string& name, std::unique_ptr<Exporter> exporter) {
    list_.push_back({name, std::move(exporter)});
    return *this;
  }
  std::vector<NamedExporter> Take() { return std::move(list_); }

 private:
  std::vector<NamedExporter> list_;
};

// Large enough a queue that the memory exporter loses nothing: what is lost then is lost in recording.
inline Options TestOptions(uint64_t chunks = 1024) {
  Options options;
  options.buffer_bytes = chunks * Options::kChunkBytes;
  options.exporter_queue_bytes = Options::kMaxQueueBytes;
  options.stop_deadline = absl::Seconds(60);
  // The same tests once more with the chunks in a crash file.
  const char* const folder = getenv("TEST_TMPDIR");
  if (getenv("FERRET_TEST_IN_CRASH_FILE") != nullptr && folder != nullptr) options.crash_dir = folder;
  return options;
}

inline absl::Status Stop60() { return StopSession(absl::Seconds(60)); }

inline std::map<uint32_t, uint64_t> DeliveredByThread(const CollectedTrace& trace) {
  std::map<uint32_t, uint64_t> delivered;
  for (const FunctionEvent& event : trace.events) delivered[event.thread] += !event.is_synthesized;
  for (const InstantEvent& instant : trace.instants) {
    delivered[instant.thread] += instant.kind != InstantEvent::Kind::kLoss;
  }
  return delivered;
}

// attempts = delivered + lost, for each thread and for no other one.
inline void ExpectExact(const std::map<uint32_t, uint64_t>& attempts, const CollectedTrace& trace) {
  EXPECT_TRUE(trace.complete());
  std::map<uint32_t, uint64_t> sums = DeliveredByThread(trace);
  uint64_t delivered = 0, lost = 0, attempted = 0;
  for (const auto& entry : sums) delivered += entry.second;
  for (const ThreadLoss& loss : LossesByThread()) {
    sums[loss.thread] += loss.lost.total();
    lost += loss.lost.total();
  }
  for (const auto& entry : attempts) attempted += entry.second;
  EXPECT_EQ(sums, attempts) << delivered << " delivered and " << lost << " lost of " << attempted;
  EXPECT_EQ(trace.progress.events_built, delivered);
  EXPECT_EQ(trace.progress.lost.total(), lost);
}

}  // namespace ferret

#endif  // FERRET_TESTS_SESSION_SESSION_KIT_H_
