// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_report.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "ferret/event_details.h"
#include "runtime/clock/cpu_clock.h"
#include "runtime/session/crash_session.h"
#include "tools/crash_replay.h"

namespace ferret {
namespace {

using internal::CrashContents;
using internal::OpenScope;
using internal::ThreadTrace;
using internal::Windows;

// A file may have the longest name in every scope, and open scopes only.
constexpr size_t kMostNameBytes = 1'000;
constexpr size_t kMostOpen = 128;  // of each end of a stack

std::string_view Kept(std::string_view name, TextPool* names) {
  size_t size = std::min(name.size(), kMostNameBytes);
  // Not in the middle of a character.
  while (size < name.size() && size > 0 && (static_cast<unsigned char>(name[size]) & 0xc0) == 0x80) --size;
  return names->Intern(name.substr(0, size));
}

// The latest finished events of every thread, by the id that events show.
class LastEvents {
 public:
  LastEvents(size_t count, TextPool* names) : count_(count), names_(names) {}

  void Add(const EventBatch& batch) {
    for (const ThreadInfo& thread : batch.threads) {
      // Its framework's id became known.
      if (thread.previous_thread == 0 || thread.previous_thread == thread.thread) continue;
      by_thread_[thread.thread] = std::move(by_thread_[thread.previous_thread]);
      latest_ = nullptr;
    }
    if (count_ == 0) return;
    for (const FunctionEvent& event : batch.events) {
      if (latest_ == nullptr || event.thread != latest_thread_) {
        latest_ = &by_thread_[event.thread];
        latest_thread_ = event.thread;
      }
      if (latest_->size() >= count_) latest_->pop_front();
      const bool has_own_name = event.details != nullptr && !event.details->trace_name.empty();
      latest_->push_back({Kept(has_own_name ? event.details->trace_name : event.name, names_), event.start_ns,
                          event.end_ns});
    }
  }

  // Latest first.
  std::vector<InspectedEvent> Of(uint32_t thread) {
    std::deque<InspectedEvent>& events = by_thread_[thread];
    std::vector<InspectedEvent> latest(events.rbegin(), events.rend());
    // Backward ops are handed over when their forward op is known, not when they end.
    std::stable_sort(latest.begin(), latest.end(),
                     [](const InspectedEvent& a, const InspectedEvent& b) { return a.end_ns > b.end_ns; });
    return latest;
  }

 private:
  const size_t count_;
  TextPool* const names_;
  std::map<uint32_t, std::deque<InspectedEvent>> by_thread_;
  std::deque<InspectedEvent>* latest_ = nullptr;
  uint32_t latest_thread_ = 0;
};

// The outermost and the innermost ones, or the oldest and the latest.
void KeepOpen(const std::vector<const OpenScope*>& scopes, bool is_async, CrashContents* contents, TextPool* names,
              InspectedThread* thread) {
  const size_t left_out = scopes.size() - std::min(scopes.size(), 2 * kMostOpen);
  thread->open_left_out += left_out;
  for (size_t i = 0; i < scopes.size(); ++i) {
    if (left_out != 0 && i == kMostOpen) i += left_out;
    const OpenScope& open = *scopes[i];
    const std::string_view name = open.name_id != 0        ? contents->names().Text(open.name_id)
                                  : open.extras != nullptr ? std::string_view(open.extras->name)
                                                           : std::string_view();
    thread->open.push_back({Kept(name, names), open.start_ns, is_async});
  }
}

InspectedThread ThreadOf(const ThreadTrace& trace, CrashContents* contents, TextPool* names) {
  InspectedThread thread;
  thread.thread = trace.thread;
  thread.os_tid = trace.os_tid;
  thread.has_exited = trace.exited;
  thread.name = trace.name;
  std::vector<const OpenScope*> scopes;
  for (const OpenScope& open : trace.open) scopes.push_back(&open);
  KeepOpen(scopes, false, contents, names, &thread);
  scopes.clear();
  for (const auto& async : trace.open_async) scopes.push_back(&async.second);
  std::stable_sort(scopes.begin(), scopes.end(),
                   [](const OpenScope* a, const OpenScope* b) { return a->start_ns < b->start_ns; });
  KeepOpen(scopes, true, contents, names, &thread);
  thread.last_ns = std::max<int64_t>(trace.last_ns, 0);
  return thread;
}

int64_t InnermostStart(const InspectedThread& thread) {
  size_t nested = 0;
  while (nested < thread.open.size() && !thread.open[nested].is_async) ++nested;
  return thread.open[nested == 0 ? 0 : nested - 1].start_ns;
}

// The main thread; then those that have something open, whose innermost scope has been open for longest; then the one that
// did something last.
bool ComesBefore(const InspectedThread& a, const InspectedThread& b) {
  const auto key = [](const InspectedThread& thread) {
    const int64_t time = thread.has_open() ? InnermostStart(thread) : -thread.last_ns;
    return std::make_tuple(!thread.is_main, !thread.has_open(), time, thread.thread);
  };
  return key(a) < key(b);
}

std::vector<InspectedExporter> ExportersOf(const CrashContents& contents, const CrashSession& session) {
  std::vector<InspectedExporter> exporters;
  for (size_t i = 0; i < contents.outputs().size(); ++i) {
    const CrashContents::Output& output = contents.outputs()[i];
    InspectedExporter exporter;
    exporter.name = i < session.outputs.size() ? session.outputs[i] : "exporter";
    exporter.path = output.path;
    exporter.disabled = output.batch == CrashContents::Output::kDisabled;
    exporter.behind = exporter.disabled ? 0 : contents.newest_batch() - std::min(output.batch, contents.newest_batch());
    exporters.push_back(std::move(exporter));
  }
  return exporters;
}

}  // namespace

bool InspectContents(CrashContents* contents, size_t last, const std::string& task_folder, int32_t pid,
                     InspectedProcess* process) {
  // After what was read of the file, so that nothing in it is later.
  const ClockMap clock = contents->Clock();
  const int64_t now_ns = clock.ToNs(ReadTicks(clock.ns_per_tick() != 1.0));
  const CrashSession session = ParseCrashSession(contents->session());
  process->pid = pid != 0 ? pid : contents->stamp().pid;
  process->lives = !task_folder.empty();
  process->info = session.info;
  process->lost = contents->lost();
  process->chunks_used = contents->chunks_used();
  process->chunks = contents->chunks();
  process->chunk_bytes = contents->chunk_bytes();
  process->exporters = ExportersOf(*contents, session);
  process->notes = contents->Notes();
  process->notes.erase(process->notes.begin());  // how much was read
  process->has_step = contents->steps() != 0;
  process->step = contents->steps() - process->has_step;
  process->step_end_ns = contents->step_end_ns();
  const uint64_t window_end = contents->windows().EndOf(contents->windows().current());
  process->has_ended = contents->IsComplete(UINT64_MAX);
  process->is_paused = !process->has_ended && window_end != Windows::kNotEnded && window_end != Windows::kForgotten;
  if (process->is_paused) process->paused_ns = clock.ToNs(window_end);

  LastEvents events(last, process->names.get());
  process->last_record_ns = contents->last_ticks() == 0 ? 0 : clock.ToNs(contents->last_ticks());
  std::vector<std::pair<uint32_t, InspectedThread>> threads;  // with the id that events show
  const bool done = ViewCrash(
      contents, [&](const EventBatch& batch) { events.Add(batch); },
      [&](const ThreadTrace& trace) {
        InspectedThread thread = ThreadOf(trace, contents, process->names.get());
        process->last_record_ns = std::max(process->last_record_ns, thread.last_ns);
        if (!thread.has_exited || thread.has_open()) threads.emplace_back(trace.shown_thread(), std::move(thread));
      });
  if (!done) return false;
  process->reference_ns =
      process->lives ? std::max(now_ns, process->last_record_ns) : process->last_record_ns;
  const ThreadStates states(task_folder);
  for (auto& [shown, thread] : threads) {
    thread.last = events.Of(shown);
    thread.is_main = thread.os_tid == contents->stamp().pid;
    if (process->lives && !thread.has_exited) thread.state = states.Of(thread.os_tid);
    if (thread.name.empty()) thread.name = thread.state.name;
    process->threads.push_back(std::move(thread));
  }
  std::sort(process->threads.begin(), process->threads.end(), ComesBefore);
  return true;
}

}  // namespace ferret
