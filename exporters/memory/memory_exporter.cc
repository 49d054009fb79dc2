// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/memory/memory_exporter.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

// How many of `offered` elements fit behind `present` ones.
size_t Room(size_t present, size_t offered, size_t max) { return std::min(offered, max - std::min(present, max)); }

}  // namespace

std::string_view TextStore::Intern(std::string_view text) {
  const auto found = index_.find(absl::string_view(text.data(), text.size()));
  if (found != index_.end()) return {found->data(), found->size()};
  const std::string& stored = texts_.emplace_back(text);
  index_.insert(stored);
  return stored;
}

CollectedTrace MemoryCollector::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  CollectedTrace taken = std::move(trace_);
  trace_ = CollectedTrace();
  trace_.info = taken.info;
  trace_.threads = taken.threads;
  trace_.progress = taken.progress;
  trace_.closed = taken.closed;
  return taken;
}

size_t MemoryCollector::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return trace_.events.size() + trace_.instants.size();
}

void MemoryCollector::Add(const EventBatch& batch) {
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t events = Room(trace_.events.size() + trace_.instants.size(), batch.events.size(), max_events_);
  for (size_t i = 0; i < events; ++i) {
    trace_.events.push_back(batch.events[i]);
    trace_.events.back().name = trace_.texts.Intern(batch.events[i].name);
  }
  const size_t instants = Room(trace_.events.size() + trace_.instants.size(), batch.instants.size(), max_events_);
  for (size_t i = 0; i < instants; ++i) {
    trace_.instants.push_back(batch.instants[i]);
    trace_.instants.back().name = trace_.texts.Intern(batch.instants[i].name);
  }
  trace_.events_not_kept += batch.events.size() - events + batch.instants.size() - instants;

  const size_t links = Room(trace_.links.size(), batch.links.size(), max_events_);
  trace_.links.insert(trace_.links.end(), batch.links.data(), batch.links.data() + links);
  trace_.links_not_kept += batch.links.size() - links;
  AddThreads(batch.threads);
}

void MemoryCollector::AddThreads(const std::vector<ThreadInfo>& threads) {
  absl::flat_hash_map<uint32_t, uint32_t> renamed;
  for (const ThreadInfo& notice : threads) {
    if (notice.previous_thread != 0) {
      // An id that is given up may itself have been given for an earlier one.
      for (auto& entry : renamed) {
        if (entry.second == notice.previous_thread) entry.second = notice.thread;
      }
      renamed[notice.previous_thread] = notice.thread;
    }
    const auto by_thread = [](const ThreadInfo& info, uint32_t thread) { return info.thread < thread; };
    auto place = std::lower_bound(trace_.threads.begin(), trace_.threads.end(), notice.thread, by_thread);
    if (place != trace_.threads.end() && place->thread == notice.thread) {
      *place = notice;
    } else if (trace_.threads.size() < max_events_) {
      trace_.threads.insert(place, notice);
    }
  }
  if (!renamed.empty()) Renumber(renamed);
}

void MemoryCollector::Renumber(const absl::flat_hash_map<uint32_t, uint32_t>& renamed) {
  const auto replace = [&renamed](uint32_t& thread) {
    const auto found = renamed.find(thread);
    if (found != renamed.end()) thread = found->second;
  };
  for (FunctionEvent& event : trace_.events) {
    replace(event.thread);
    replace(event.fwd_thread);
  }
  for (InstantEvent& instant : trace_.instants) replace(instant.thread);
  const auto given_up = [&renamed](const ThreadInfo& info) {
    const auto found = renamed.find(info.thread);
    return found != renamed.end() && found->second != info.thread;
  };
  trace_.threads.erase(std::remove_if(trace_.threads.begin(), trace_.threads.end(), given_up), trace_.threads.end());
}

absl::Status MemoryExporter::Open(const SessionInfo& info) {
  std::lock_guard<std::mutex> lock(collector_->mutex_);
  collector_->trace_.info = info;
  collector_->trace_.info.file_opened = nullptr;  // the session's, which the trace may outlive
  return absl::OkStatus();
}

absl::Status MemoryExporter::Export(const EventBatch& batch) {
  collector_->Add(batch);
  return absl::OkStatus();
}

absl::Status MemoryExporter::Flush(const ExportProgress& progress, absl::Time) {
  std::lock_guard<std::mutex> lock(collector_->mutex_);
  collector_->trace_.progress = progress;
  return absl::OkStatus();
}

absl::Status MemoryExporter::Close(const ExportProgress& progress, absl::Time) {
  std::lock_guard<std::mutex> lock(collector_->mutex_);
  collector_->trace_.progress = progress;
  collector_->trace_.closed = true;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Exporter>> CreateMemoryExporter(const ExporterSpec& spec) {
  absl::Status status = CheckParameters(spec, {"max_events"});
  if (!status.ok()) return status;
  if (!spec.target.empty()) {
    return absl::InvalidArgumentError(absl::StrCat("exporter ", spec.name, " takes no target"));
  }
  const absl::StatusOr<int64_t> max_events =
      IntParameter(spec, "max_events", MemoryCollector::kDefaultMaxEvents, 1, int64_t{1} << 40);
  if (!max_events.ok()) return max_events.status();
  return std::make_unique<MemoryExporter>(std::make_shared<MemoryCollector>(static_cast<size_t>(*max_events)));
}

}  // namespace ferret
