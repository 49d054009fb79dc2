// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/trace_reader/raw_trace.h"
#include "runtime/trace_reader/launch_links.h"
#include "runtime/trace_reader/thread_ids.h"
#include "runtime/trace_reader/trace_collector.h"
#include "runtime/trace_reader/trace_parser.h"

namespace ferret {
namespace {

// Unix times; false if one does not fit.
bool MakeAbsolute(RawTrace* trace) {
  const auto shift = [trace](int64_t* time_ns) { return !__builtin_add_overflow(*time_ns, trace->base_ns, time_ns); };
  bool fits = true;
  for (RawEvent& raw : trace->events) {
    fits = fits && shift(&raw.event.start_ns) && shift(&raw.event.end_ns);
  }
  for (RawMemory& memory : trace->memory) fits = fits && shift(&memory.record.time_ns);
  return fits && (!trace->has_span || shift(&trace->span_start_ns));
}

// Ferret draws annotations on devices by 1 ns wider on both sides than what is inside.
void TakeInDrawnAnnotations(std::deque<RawEvent>* events) {
  for (RawEvent& raw : *events) {
    if (!raw.is_on_device() || raw.is_device_work() || raw.is_marked_span() || raw.event.duration_ns() < 2) continue;
    ++raw.event.start_ns;
    --raw.event.end_ns;
  }
}

EventList::Config ConfigOf(const RawTrace& trace) {
  EventList::Config config;
  // What times are relative to: where the profiler's own span begins, if it has one.
  bool any = trace.has_span;
  config.start_ns = trace.span_start_ns;
  for (const RawEvent& raw : trace.events) {
    if (!any || raw.event.start_ns < config.start_ns) config.start_ns = raw.event.start_ns;
    any = true;
    if (raw.is_on_device()) config.use_device = raw.event.device_type;
  }
  config.profile_memory = trace.profile_memory || !trace.memory.empty();
  config.with_flops = trace.with_flops;
  config.memory_of_all_threads = !trace.is_ferrets;
  return config;
}

// Operators and annotations keep their ids, the first one if there are two; all others come after the largest.
void GiveIds(std::deque<RawEvent>* events) {
  absl::flat_hash_set<int64_t> taken;
  int64_t next = 1;
  // What has no room for more after it is no id.
  constexpr int64_t kMaxId = INT64_MAX / 2;
  for (RawEvent& raw : *events) {
    const ActivityType type = raw.event.activity_type;
    const bool has_own = type == ActivityType::kCpuOp || type == ActivityType::kUserAnnotation;
    if (!has_own || raw.external_id <= 0 || raw.external_id > kMaxId) continue;
    if (!taken.insert(raw.external_id).second) continue;
    raw.event.id = raw.external_id;
    next = std::max(next, raw.external_id + 1);
  }
  for (RawEvent& raw : *events) {
    if (raw.event.id == 0) raw.event.id = next++;
  }
}

// What only some events have, with views into the raw event.
EventDetails DetailsOf(const RawEvent& raw, int64_t linked_id) {
  EventDetails details;
  details.recorded = raw.details;
  details.trace_name = raw.trace_name;
  if (raw.external_id != raw.event.id) details.external_id = raw.external_id;
  details.linked_correlation_id = linked_id;
  details.python_id = raw.python_id;
  details.python_parent_id = raw.python_parent_id;
  details.python_module_id = raw.python_module_id;
  return details;
}

bool IsEmpty(const EventDetails& details) {
  return details.recorded.empty() && details.trace_name.empty() && details.external_id == 0 &&
         details.linked_correlation_id == 0 && details.python_id < 0 && details.python_parent_id < 0 &&
         details.python_module_id < 0;
}

// Gives up the raw events one by one, so that they are in memory once.
TraceContents Fill(RawTrace trace) {
  if (trace.is_ferrets) TakeInDrawnAnnotations(&trace.events);
  const std::vector<uint32_t> threads = ThreadIds(trace);
  const std::vector<int64_t> links = LaunchLinks(trace);
  GiveIds(&trace.events);
  TraceContents contents;
  contents.events = EventList(ConfigOf(trace));
  EventList& list = contents.events;

  const size_t count = trace.events.size();
  std::vector<int64_t> ids(count);
  for (size_t i = 0; i < count; ++i) {
    FunctionEvent& event = trace.events[i].event;
    ids[i] = event.id;
    // What an operator launched belongs to its thread; device work of no operator to none.
    const size_t owner = links[i] == kNotLinked ? i : static_cast<size_t>(links[i]);
    event.thread = owner == i && event.device_type != DeviceType::kCpu ? 0 : threads[trace.events[owner].row];
  }
  std::vector<FunctionEvent*> added(count);
  for (size_t i = 0; i < count; ++i, trace.events.pop_front()) {
    RawEvent& raw = trace.events.front();
    // Ferret draws the launch of what it timed over the scope that was timed: as a scope it would count twice.
    if (trace.is_ferrets && raw.is_launch()) continue;
    EventDetails details = DetailsOf(raw, links[i] == kNotLinked ? 0 : ids[static_cast<size_t>(links[i])]);
    raw.event.details = IsEmpty(details) ? nullptr : &details;
    added[i] = &list.Add(raw.event);
  }
  for (size_t i = 0; i < count; ++i) {
    if (added[i] == nullptr) continue;
    const FunctionEvent& event = *added[i];
    const bool is_drawn = event.activity_type == ActivityType::kGpuUserAnnotation && !event.is_legacy;
    if (event.device_type == DeviceType::kCpu || is_drawn) continue;
    if (links[i] == kNotLinked) {
      ++contents.kernels_alone;
      continue;
    }
    ++contents.kernels_linked;
    list.DetailsOf(*added[static_cast<size_t>(links[i])])
        .kernels.push_back({event.name, event.device_index, event.duration_ns()});
  }
  for (RawMemory& memory : trace.memory) {
    memory.record.thread = threads[memory.row];
    list.AddMemory(memory.record);
  }
  list.Build();
  return contents;
}

}  // namespace

absl::StatusOr<TraceContents> ReadTrace(ByteReader* reader, const std::string& file) {
  TraceCollector collector;
  const absl::StatusOr<ParsedTrace> parsed = ParseTrace(reader, file, &collector);
  if (!parsed.ok()) return parsed.status();
  RawTrace trace = std::move(collector).Finish();
  if (!MakeAbsolute(&trace)) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": \"baseTimeNanoseconds\" is beyond the times that can be counted"));
  }
  const uint64_t incomplete = trace.incomplete;
  const uint64_t unread = trace.unread;
  TraceContents contents = Fill(std::move(trace));
  if (!parsed->warning.empty()) contents.warnings.push_back(parsed->warning);
  if (unread > 0) {
    contents.warnings.push_back(absl::StrCat(file, ": ", unread, " begins and ends of slices (ph B and E) left out"));
  }
  if (incomplete > 0) {
    contents.warnings.push_back(absl::StrCat(file, ": ", incomplete, incomplete == 1 ? " event" : " events",
                                             " without a usable start or end left out"));
  }
  return contents;
}

absl::StatusOr<TraceContents> ReadTrace(const std::string& path) {
  absl::StatusOr<std::unique_ptr<ByteReader>> reader = ByteReader::OpenFile(path);
  if (!reader.ok()) {
    return absl::Status(reader.status().code(), absl::StrCat(path, ": ", std::string(reader.status().message())));
  }
  return ReadTrace(reader->get(), path);
}

}  // namespace ferret
