// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// EventBuilder: turns the records of all threads into function events, in batches.
//
// Begin and end meet on a stack per thread; ticks become nanoseconds; a name id becomes text; self time falls out,
// since children close before their parents; ops with a sequence number go through the Linker, which holds backward
// ops until their partner is known. Everything is linear in the records, and nothing is kept of a finished event.
//
// Drain thread only.

#ifndef FERRET_RUNTIME_DRAIN_EVENT_BUILDER_H_
#define FERRET_RUNTIME_DRAIN_EVENT_BUILDER_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "ferret/event_batch.h"
#include "runtime/clock/clock_map.h"
#include "runtime/drain/batch_sink.h"
#include "runtime/drain/device_linker.h"
#include "runtime/drain/linker.h"
#include "runtime/drain/step_tracker.h"
#include "runtime/drain/thread_trace.h"
#include "runtime/record/name_table.h"

namespace ferret::internal {

class EventBuilder final : public Linker::Sink, private DeviceLinker::Sink {
 public:
  struct Config {
    size_t link_table_entries = 1'048'576;
    size_t max_waiting_ops = Linker::kDefaultMaxWaiting;
    size_t batch_events = 1024;
    // Estimate the FLOPs of operators whose inputs were recorded.
    bool with_flops = false;
  };

  EventBuilder(const Config& config, const ClockMap* clock, BatchSink* sink);
  ~EventBuilder() override;

  // The trace of the chunk's thread, made if needed, with the chunk's identity taken over.
  ThreadTrace& TraceOf(const Chunk& chunk);
  // The records that follow are of that window of the session's; its `first` one began with the session. Closes what the
  // thread left open in an earlier one at that one's end, flagged.
  void EnterWindow(ThreadTrace& trace, uint32_t window, bool first);
  // Decodes whole records. The bytes were published by the thread and are not changed any more.
  void Consume(ThreadTrace& trace, const char* from, const char* to);
  // The thread is gone and everything of it has been consumed.
  bool IsOver(const ThreadTrace& trace) const {
    return trace.exited && trace.chunks.empty() && trace.open_async.empty() && trace.links.empty();
  }
  void Remove(ThreadTrace& trace);

  // Every record with ticks below `ticks` has been consumed: links what waits for that.
  void AdvanceTo(uint64_t ticks) { linker_.Advance(clock_->ToNs(ticks)); }
  // From here to the next AdvanceTo records of one thread are consumed, and no other thread has an unread one with
  // ticks below `ticks`.
  void ReadAloneTo(uint64_t ticks) { linker_.SetHorizon(clock_->ToNs(ticks)); }
  // Hands over what has been built so far.
  void DeliverBatch();
  // The session ends: closes open scopes at that moment, flagged, and delivers everything.
  void Finish(uint64_t ticks);

  template <typename Visit>
  void ForEachTrace(Visit visit) {
    for (auto& entry : traces_) visit(*entry.second);
  }

  // Finished scopes, instants, counters and memory events; not what the drain adds of itself.
  uint64_t built() const { return built_; }
  uint64_t clock_backward() const { return clock_backward_; }
  uint64_t unmatched_remote_ends() const { return unmatched_remote_ends_; }
  uint64_t unknown_records() const { return unknown_records_; }
  const Linker& linker() const { return linker_; }
  DeviceLinker& device() { return device_; }
  const DeviceLinker& device() const { return device_; }

  void OnBackward(const WaitingOp& op, const ForwardBackwardLink* link) override;

 private:
  using ScopeKey = std::pair<uint32_t, uint32_t>;  // thread, handle

  void Begin(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  void End(ThreadTrace& trace, uint32_t handle, int64_t now_ns);
  void EndOutOfOrder(ThreadTrace& trace, uint32_t handle, int64_t now_ns);
  void RemoteEnd(uint32_t thread, uint32_t handle, int64_t now_ns);
  void LeaveNest(ThreadTrace& trace, size_t place);
  void CloseInnermost(ThreadTrace& trace, int64_t now_ns, bool truncated);
  void CloseAll(ThreadTrace& trace, int64_t now_ns);
  void CloseAllAsync(ThreadTrace& trace, int64_t now_ns);
  int64_t WindowEndNs(const ThreadTrace& trace) const;
  int64_t PastWindow(ThreadTrace& trace);
  void BeforeClose(ThreadTrace& trace, size_t place, bool truncated) {
    if (DeviceLinker::Concerns(*trace.open[place].extras)) device_.Close(trace, place, truncated);
  }
  void CloseAsync(ThreadTrace& trace, OpenScope scope, int64_t now_ns, bool truncated);
  void Emit(ThreadTrace& trace, const OpenScope& scope, int64_t end_ns, int64_t self_ns, bool async, bool truncated);
  void EmitStep(ThreadTrace& trace, const StepTracker::Slice& slice, int64_t now_ns);
  void OptimizerEnded(ThreadTrace& trace, int64_t now_ns);
  StepTracker::Surroundings SurroundingsOf(const ThreadTrace& trace) const;
  void Rare(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  void ThreadNotice(const ThreadTrace& trace, uint32_t previous_thread);

  void Memory(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  ScopeExtras& ExtrasOf(OpenScope& scope);
  // What a closed scope allocated belongs to the scope around it, too.
  void PassMemoryOn(const OpenScope& closed, OpenScope& outer);

  FunctionEvent& NewEvent();
  FunctionEvent& NewExtraEvent() override;
  EventBatch& CurrentBatch() override { return *batch_; }
  uint64_t BatchNumber() const override { return batch_number_; }
  void Complete(FunctionEvent& event, ScopeExtras* extras);
  EventDetails& DetailsOf(FunctionEvent& event);
  // Gives the event its name and details, for as long as the current batch lives, and takes the extras back.
  void UseExtras(FunctionEvent& event, ScopeExtras* extras);
  int64_t FlopsOf(const FunctionEvent& event) const;
  // A step shares its name with all others; the one with the number is its trace name.
  void NameStep(FunctionEvent& event, std::string_view trace_name);
  uint32_t ShownThread(uint32_t thread) const;

  const Config config_;
  const ClockMap* const clock_;
  BatchSink* const sink_;
  const NameTable& names_;
  std::shared_ptr<EventBatch> batch_;
  Linker linker_;
  StepTracker steps_;
  const uint32_t step_name_id_;
  ExtrasPool extras_;
  DeviceLinker device_;
  absl::flat_hash_map<uint32_t, std::unique_ptr<ThreadTrace>> traces_;
  // Framework ids of threads, also of those that are gone: a backward op may name them. Filled only with an adapter.
  absl::flat_hash_map<uint32_t, uint32_t> framework_threads_;
  absl::flat_hash_map<ScopeKey, int64_t> early_ends_;  // ns
  int64_t next_id_ = 1;
  uint64_t batch_number_ = 1;
  uint64_t built_ = 0;
  uint64_t clock_backward_ = 0;
  uint64_t unmatched_remote_ends_ = 0;
  uint64_t unknown_records_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_EVENT_BUILDER_H_
