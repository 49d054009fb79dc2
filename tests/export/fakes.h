// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What tests of the exporter plumbing put in the place of exporters, time and batches.

#ifndef FERRET_TESTS_EXPORT_FAKES_H_
#define FERRET_TESTS_EXPORT_FAKES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"
#include "runtime/export/runner_clock.h"

namespace ferret {

// Threads wait at it until it is opened, once and for all.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!open_) opened_.wait(lock);
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
};

// Stands still until it is moved. Never freed, since an abandoned thread may still look at it.
class FakeClock final : public RunnerClock {
 public:
  static FakeClock* Create() {
    static auto* const all = new std::vector<std::unique_ptr<FakeClock>>;
    all->push_back(std::make_unique<FakeClock>());
    return all->back().get();
  }

  Time Now() override { return Time(std::chrono::nanoseconds(now_ns_.load())); }
  // Returns often, for the caller to look at the clock again: moving it wakes nobody.
  void WaitUntil(std::condition_variable& condition, std::unique_lock<std::mutex>& lock, Time) override {
    condition.wait_for(lock, std::chrono::milliseconds(1));
  }
  void Advance(absl::Duration by) { now_ns_ += absl::ToInt64Nanoseconds(by); }

 private:
  std::atomic<int64_t> now_ns_{1'000'000'000'000};
};

// What a ScriptedExporter does and what it saw. Set up before the runner starts; outlives the exporter.
class Script {
 public:
  std::function<void()> before_file_opened;
  std::function<absl::Status()> on_open, on_flush, on_close;
  std::function<absl::Status()> on_background_flush;  // if it is empty, these are flushes as others
  std::function<bool()> needs_flush;
  std::function<uint64_t()> settled_batch;
  std::function<absl::Status(const EventBatch&)> on_export;

  // "open", "export 5" (the id of the batch's first event, 0 if it has none), "threads 1 2", "flush", "close",
  // "destroyed", in the order in which the calls began.
  std::vector<std::string> calls() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return calls_;
  }
  size_t Count(const std::string& call) const {
    const auto all = calls();
    return static_cast<size_t>(std::count(all.begin(), all.end(), call));
  }
  ExportProgress progress() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return progress_;
  }

 private:
  friend class ScriptedExporter;

  void Note(std::string call) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
  }
  void Note(std::string call, const ExportProgress& progress) {
    std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
    progress_ = progress;
  }

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  ExportProgress progress_;  // of the latest flush or close
};

class ScriptedExporter final : public Exporter {
 public:
  explicit ScriptedExporter(std::shared_ptr<Script> script) : script_(std::move(script)) {}
  ~ScriptedExporter() override { script_->Note("destroyed"); }

  absl::Status Open(const SessionInfo& info) override {
    script_->Note("open");
    if (script_->before_file_opened) script_->before_file_opened();
    if (info.file_opened) info.file_opened("nowhere.json.part", "nowhere.json");
    return script_->on_open ? script_->on_open() : absl::OkStatus();
  }
  absl::Status Export(const EventBatch& batch) override {
    if (!batch.threads.empty()) {
      std::string call = "threads";
      for (const ThreadInfo& info : batch.threads) call += " " + std::to_string(info.thread);
      script_->Note(std::move(call));
    }
    if (batch.count() > 0) script_->Note("export " + std::to_string(batch.events.empty() ? 0 : batch.events[0].id));
    return script_->on_export ? script_->on_export(batch) : absl::OkStatus();
  }
  absl::Status Flush(const ExportProgress& progress, absl::Time) override {
    script_->Note("flush", progress);
    return script_->on_flush ? script_->on_flush() : absl::OkStatus();
  }
  absl::Status FlushInBackground(const ExportProgress& progress, absl::Time deadline) override {
    if (!script_->on_background_flush) return Flush(progress, deadline);
    script_->Note("background flush", progress);
    return script_->on_background_flush();
  }
  bool NeedsFlush() const override { return script_->needs_flush && script_->needs_flush(); }
  uint64_t SettledBatch() const override { return script_->settled_batch ? script_->settled_batch() : UINT64_MAX; }
  absl::Status Close(const ExportProgress& progress, absl::Time) override {
    script_->Note("close", progress);
    return script_->on_close ? script_->on_close() : absl::OkStatus();
  }
  std::string Destination() const override { return "nowhere.json"; }

 private:
  const std::shared_ptr<Script> script_;
};

// `count` events with ids from first_id on.
inline std::shared_ptr<EventBatch> MakeBatch(int64_t first_id, size_t count = 1) {
  auto batch = std::make_shared<EventBatch>();
  batch->events.resize(count);
  for (size_t i = 0; i < count; ++i) {
    batch->events[i].id = first_id + static_cast<int64_t>(i);
    batch->events[i].name = "op";
    batch->events[i].thread = 1;
  }
  return batch;
}

inline ThreadInfo MakeThread(uint32_t thread, std::string name = "", uint32_t previous_thread = 0) {
  ThreadInfo info;
  info.thread = thread;
  info.previous_thread = previous_thread;
  info.os_tid = static_cast<int32_t>(1000 + thread);
  info.name = std::move(name);
  return info;
}

}  // namespace ferret

#endif  // FERRET_TESTS_EXPORT_FAKES_H_
