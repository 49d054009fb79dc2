// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/memory/memory_exporter.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "runtime/threads/never_destroyed.h"

namespace ferret {
namespace {

// How many of `offered` elements fit behind `present` ones.
size_t Room(size_t present, size_t offered, size_t max) { return std::min(offered, max - std::min(present, max)); }

// Sessions may stop after static objects are gone.
struct LatestCollector {
  std::mutex mutex;
  std::shared_ptr<MemoryCollector> collector;
};
NeverDestroyed<LatestCollector> g_latest;

}  // namespace

CollectedTrace MemoryCollector::Take() {
  std::lock_guard<std::mutex> lock(mutex_);
  CollectedTrace taken = std::move(trace_);
  trace_ = CollectedTrace();
  trace_.info = taken.info;
  trace_.threads = taken.threads;
  trace_.devices = taken.devices;
  trace_.streams = taken.streams;
  trace_.progress = taken.progress;
  trace_.closed = taken.closed;
  CorrectForwardThreads(&taken);
  return taken;
}

size_t MemoryCollector::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return trace_.events.size() + trace_.instants.size() + trace_.memory.size();
}

void MemoryCollector::Add(const EventBatch& batch) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const FunctionEvent& event : batch.events) {
    if (HasRoom()) AddEvent(event);
  }
  for (const InstantEvent& instant : batch.instants) {
    if (!HasRoom()) continue;
    trace_.instants.push_back(instant);
    trace_.instants.back().name = trace_.texts.Intern(instant.name);
  }
  for (const MemoryEvent& event : batch.memory) {
    if (HasRoom()) trace_.memory.push_back(event);
  }

  const size_t links = Room(trace_.links.size(), batch.links.size(), max_events_);
  trace_.links.insert(trace_.links.end(), batch.links.data(), batch.links.data() + links);
  trace_.links_not_kept += batch.links.size() - links;
  AddThreads(batch.threads);
  AddDevices(batch);
}

// Counts what has none.
bool MemoryCollector::HasRoom() {
  const bool has_room = trace_.events.size() + trace_.instants.size() + trace_.memory.size() < max_events_ &&
                        trace_.texts.bytes() / kTextBytesPerEvent < max_events_;
  trace_.events_not_kept += has_room ? 0 : 1;
  return has_room;
}

void MemoryCollector::AddEvent(const FunctionEvent& event) {
  FunctionEvent& kept = trace_.events.emplace_back(event);
  kept.name = trace_.texts.InternNamed(event.name, event.name_id);
  if (event.details == nullptr) return;
  // Equal details, such as the shapes of one operator in every step, are kept once.
  EventDetails& details = trace_.details.emplace_back(*event.details);
  details.recorded = trace_.texts.Intern(details.recorded);
  details.trace_name = trace_.texts.Intern(details.trace_name);
  details.metadata_json = trace_.texts.Intern(details.metadata_json);
  for (Kernel& kernel : details.kernels) kernel.name = trace_.texts.Intern(kernel.name);
  if (details.launch != nullptr) details.launch = &trace_.launches.emplace_back(*details.launch);
  kept.details = &details;
}

void MemoryCollector::AddDevices(const EventBatch& batch) {
  const auto add = [this](auto* list, const auto& notice, auto is_same) {
    const auto known = std::find_if(list->begin(), list->end(), is_same);
    if (known != list->end()) {
      *known = notice;
    } else if (list->size() < max_events_) {
      list->push_back(notice);
    }
  };
  for (const DeviceInfo& info : batch.devices) {
    add(&trace_.devices, info,
        [&info](const DeviceInfo& other) { return other.type == info.type && other.index == info.index; });
  }
  for (const StreamInfo& info : batch.streams) {
    add(&trace_.streams, info, [&info](const StreamInfo& other) {
      return other.device_index == info.device_index && other.stream == info.stream;
    });
  }
}

void MemoryCollector::AddThreads(const std::vector<ThreadInfo>& threads) {
  RenamedThreads renamed;
  for (const ThreadInfo& notice : threads) {
    if (notice.previous_thread != 0) {
      // An id that is given up may itself have been given for an earlier one.
      for (auto& entry : renamed) {
        if (entry.first.second == notice.os_tid && entry.second == notice.previous_thread) entry.second = notice.thread;
      }
      renamed[{notice.previous_thread, notice.os_tid}] = notice.thread;
    }
    const auto before = [](const ThreadInfo& a, const ThreadInfo& b) {
      return std::tie(a.thread, a.os_tid) < std::tie(b.thread, b.os_tid);
    };
    auto place = std::lower_bound(trace_.threads.begin(), trace_.threads.end(), notice, before);
    if (place != trace_.threads.end() && !before(notice, *place)) {
      *place = notice;
    } else if (trace_.threads.size() < max_events_) {
      trace_.threads.insert(place, notice);
    }
  }
  if (!renamed.empty()) Renumber(renamed);
}

void MemoryCollector::Renumber(const RenamedThreads& renamed) {
  const auto rename = [&renamed](uint32_t* thread, int32_t os_tid) {
    const auto found = renamed.find({*thread, os_tid});
    if (found != renamed.end()) *thread = found->second;
  };
  const auto replace = [&rename](auto& event) { rename(&event.thread, event.device_resource_id); };
  for (FunctionEvent& event : trace_.events) {
    if (event.device_type == DeviceType::kCpu) {
      replace(event);
    } else if (event.details != nullptr && event.details->launch != nullptr) {
      // Its resource is a stream; the launch says which thread it is.
      rename(&event.thread, event.details->launch->os_tid);
    }
  }
  for (DeviceLaunch& launch : trace_.launches) rename(&launch.thread, launch.os_tid);
  for (InstantEvent& instant : trace_.instants) replace(instant);
  for (MemoryEvent& event : trace_.memory) replace(event);
  const auto given_up = [&renamed](const ThreadInfo& info) {
    const auto found = renamed.find({info.thread, info.os_tid});
    return found != renamed.end() && found->second != info.thread;
  };
  trace_.threads.erase(std::remove_if(trace_.threads.begin(), trace_.threads.end(), given_up), trace_.threads.end());
}

// A backward op names its forward thread by the id that was known when it was delivered. Where the forward op is here,
// its own thread says it better.
void MemoryCollector::CorrectForwardThreads(CollectedTrace* trace) {
  absl::flat_hash_map<int64_t, uint32_t> forward;
  for (const FunctionEvent& event : trace->events) {
    if (event.forward_id != 0) forward.emplace(event.forward_id, 0);
  }
  if (forward.empty()) return;
  for (const FunctionEvent& event : trace->events) {
    const auto found = forward.find(event.id);
    if (found != forward.end()) found->second = event.thread;
  }
  for (FunctionEvent& event : trace->events) {
    if (event.forward_id == 0) continue;
    const uint32_t thread = forward[event.forward_id];
    if (thread != 0) event.fwd_thread = thread;
  }
}

absl::Status MemoryExporter::Open(const SessionInfo& info) {
  if (is_own_) {
    std::lock_guard<std::mutex> lock(g_latest.object.mutex);
    g_latest.object.collector = collector_;
  }
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

std::shared_ptr<MemoryCollector> LatestMemoryCollector() {
  std::lock_guard<std::mutex> lock(g_latest.object.mutex);
  return g_latest.object.collector;
}

void ForgetLatestMemoryCollectorInChild() {
  new (&g_latest.object) LatestCollector;  // another thread may have held the mutex
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
  return std::make_unique<MemoryExporter>(std::make_shared<MemoryCollector>(static_cast<size_t>(*max_events)), true);
}

}  // namespace ferret
