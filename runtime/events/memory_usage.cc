// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/memory_usage.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "runtime/events/detail_text.h"

namespace ferret {
namespace {

// Sums wrap: what counts is the difference of two of them.
int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Records in the order of their times, with the sums of all before each, so that a range costs two look-ups.
struct Lane {
  std::vector<const MemoryEvent*> records;
  std::vector<int64_t> cpu = {0};
  std::vector<int64_t> device = {0};
  std::vector<int64_t> owners;  // how many more events own this record than the one before

  void Finish() {
    std::stable_sort(records.begin(), records.end(),
                     [](const MemoryEvent* a, const MemoryEvent* b) { return a->time_ns < b->time_ns; });
    owners.assign(records.size() + 1, 0);
    for (const MemoryEvent* record : records) {
      const bool on_cpu = record->device_type == DeviceType::kCpu;
      cpu.push_back(Plus(cpu.back(), on_cpu ? record->bytes : 0));
      device.push_back(Plus(device.back(), on_cpu ? 0 : record->bytes));
    }
  }

  // The number of the first record at or after the time.
  size_t At(int64_t time_ns) const {
    const auto earlier = [](const MemoryEvent* record, int64_t time) { return record->time_ns < time; };
    const auto at = std::lower_bound(records.begin(), records.end(), time_ns, earlier);
    return static_cast<size_t>(at - records.begin());
  }
  size_t After(int64_t time_ns) const { return time_ns == INT64_MAX ? records.size() : At(time_ns + 1); }
};

void AddEvent(const MemoryEvent& record, int64_t id, EventList* list) {
  std::string recorded;
  AppendDetail(internal::DetailKind::kMetadata, &recorded, [&record](internal::DetailWriter* out) {
    const auto write = [out](std::string_view key, int64_t value) {
      out->Text(key);
      WriteValue(value, out);
    };
    write("Device Type", static_cast<int64_t>(record.device_type));
    write("Device Id", record.device_index);
    write("Addr", static_cast<int64_t>(record.address));
    write("Bytes", record.bytes);
    write("Total Allocated", record.total_allocated);
    write("Total Reserved", record.total_reserved);
  });
  EventDetails details;
  details.recorded = recorded;
  (record.device_type == DeviceType::kCpu ? details.cpu_memory_usage : details.device_memory_usage) = record.bytes;
  FunctionEvent event;
  event.id = id;
  event.name = record.out_of_memory ? kOutOfMemoryName : kMemoryName;
  event.start_ns = event.end_ns = record.time_ns;
  event.thread = record.thread;
  event.device_resource_id = record.device_resource_id;
  event.device_type = record.device_type;
  event.device_index = std::max<int16_t>(record.device_index, 0);
  event.activity_type = ActivityType::kCpuInstantEvent;
  event.is_synthesized = true;
  event.details = &details;
  list->Add(event);
}

}  // namespace

void SetMemoryUsage(const EventOrder& order, const std::vector<MemoryEvent>& records, EventList* list) {
  const bool all_threads = list->config().memory_of_all_threads;
  absl::flat_hash_map<uint32_t, Lane> lanes;
  std::vector<uint32_t> threads;  // in the order in which they came, for the events that are added
  for (const MemoryEvent& record : records) {
    if (record.out_of_memory || (!all_threads && record.scope_id != 0)) continue;
    const uint32_t thread = all_threads ? 0 : record.thread;
    const auto [lane, is_new] = lanes.try_emplace(thread);
    if (is_new) threads.push_back(thread);
    lane->second.records.push_back(&record);
  }
  for (auto& [thread, lane] : lanes) lane.Finish();

  int64_t last_id = 0;
  for (FunctionEvent* event : order) {
    last_id = std::max(last_id, event->id);
    if (event->device_type != DeviceType::kCpu) continue;
    const auto lane = lanes.find(all_threads ? 0 : event->thread);
    size_t from = 0;
    size_t to = 0;
    if (lane != lanes.end()) {
      from = lane->second.At(event->start_ns);
      to = all_threads || event->start_ns == event->end_ns ? lane->second.After(event->end_ns)
                                                           : lane->second.At(event->end_ns);
    }
    if (from == to && (!all_threads || event->details == nullptr)) continue;
    EventDetails& details = list->DetailsOf(*event);
    if (all_threads) details.cpu_memory_usage = details.device_memory_usage = 0;
    if (from == to) continue;
    const Lane& sums = lane->second;
    details.cpu_memory_usage = Plus(details.cpu_memory_usage, Minus(sums.cpu[to], sums.cpu[from]));
    details.device_memory_usage = Plus(details.device_memory_usage, Minus(sums.device[to], sums.device[from]));
    ++lane->second.owners[from];
    --lane->second.owners[to];
  }

  for (const uint32_t thread : threads) {
    const Lane& lane = lanes[thread];
    int64_t owners = 0;
    for (size_t i = 0; i < lane.records.size(); ++i) {
      owners += lane.owners[i];
      if (owners == 0) AddEvent(*lane.records[i], ++last_id, list);
    }
  }
  for (const MemoryEvent& record : records) {
    if (record.out_of_memory) AddEvent(record, ++last_id, list);
  }
}

}  // namespace ferret
