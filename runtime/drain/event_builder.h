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
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ferret/event_batch.h"
#include "ferret/internal/hot_path.h"
#include "runtime/clock/clock_map.h"
#include "runtime/drain/batch_sink.h"
#include "runtime/drain/device_linker.h"
#include "runtime/drain/linker.h"
#include "runtime/drain/step_tracker.h"
#include "runtime/drain/thread_trace.h"
#include "runtime/record/name_table.h"
#include "runtime/record/windows.h"

namespace ferret::internal {

class EventBuilder final : public Linker::Sink, private DeviceLinker::Sink {
 public:
  struct Config {
    size_t link_table_entries = 1'048'576;
    size_t max_waiting_ops = Linker::kDefaultMaxWaiting;
    size_t batch_events = 1024;
    // Estimate the FLOPs of operators whose inputs were recorded.
    bool with_flops = false;
    // For a crash file: batches end only where DeliverBatch is called, however large they get.
    bool cuts = false;
    // For a crash file and its reader: ids of scopes follow from their chunk.
    bool chunk_ids = false;
    // Slices of steps, see step_tracker.h.
    bool steps = true;
    // Null: the process's.
    NameTable* names = nullptr;
    const Windows* windows = nullptr;
    // The name of the chunk's thread where /proc does not know it. Null: /proc does.
    std::function<std::string(const Chunk& chunk)> thread_name = {};
    int64_t next_id = 1;
    int64_t next_flow = 1;
  };

  EventBuilder(const Config& config, const ClockMap* clock, BatchSink* sink);
  ~EventBuilder() override;

  // The trace of the chunk's thread, made if needed, with the chunk's identity taken over.
  ThreadTrace& TraceOf(const Chunk& chunk);
  // The records that follow are of that window of the session's; its `first` one began with the session. Closes what the
  // thread left open in an earlier one at that one's end, flagged.
  void EnterWindow(ThreadTrace& trace, uint32_t window, bool first);
  // Decodes whole records, all that begin before `to`. The bytes were published by the thread and are not changed any more.
  // Returns where it stopped: with cuts, after at least one record, before an op that would have to wait for its link.
  const char* Consume(ThreadTrace& trace, const char* from, const char* to);
  // With chunk_ids: what follows is of this chunk, whose scopes get the ids that it names, or fresh ones that it names then.
  void NumberScopes(ThreadTrace& trace, Chunk* chunk);
  bool numbers_chunks() const { return config_.chunk_ids; }
  // With cuts. Whether nothing of what was read is still to come, but for scopes that are open.
  bool IsAtCut() const { return linker_.waiting() == 0; }
  void HurryLinks() { linker_.Hurry(); }
  size_t BatchSize() const { return batch_->events.size() + batch_->instants.size() + batch_->memory.size(); }
  bool BatchIsEmpty() const { return batch_->empty(); }
  // The last batch that has anything of what was read, delivered or not.
  uint64_t LastBatch() const { return batch_->empty() && IsAtCut() ? batch_number_ - 1 : batch_number_; }
  int64_t next_id() const { return next_id_; }
  // The scopes that are open, `most` of them, to be carried, outermost first; and the same, opened again.
  std::vector<CarriedScope> OpenScopes(const ThreadTrace& trace, size_t most) const;
  void Reopen(ThreadTrace& trace, const CarriedScope& scope);
  // The same for the count of steps, if it is this thread's; at the end of a chunk.
  std::optional<CarriedSteps> StepsAfter(const ThreadTrace& trace, uint32_t sequence) const;
  void RestoreSteps(ThreadTrace& trace, const CarriedSteps& carried);
  // Whether ends wait for their begins, the last of which came not long ago: its begin may still come.
  bool HasRecentEarlyEnds() const {
    return !early_ends_.empty() && newest_ns_ - latest_early_end_ns_ < kLongestWaitOfEarlyEndsNs;
  }
  size_t trace_count() const { return traces_.size(); }
  ThreadTrace* FindTrace(uint32_t thread) {
    const auto found = traces_.find(thread);
    return found == traces_.end() ? nullptr : found->second.get();
  }
  // The thread is gone and everything of it has been consumed. A damaged crash file may have it begin scopes afterwards.
  bool IsOver(const ThreadTrace& trace) const {
    return trace.exited && trace.chunks.empty() && trace.open.empty() && trace.open_async.empty() && trace.links.empty();
  }
  void Remove(ThreadTrace& trace);

  // Every record with ticks below `ticks` has been consumed: links what waits for that.
  void AdvanceTo(uint64_t ticks) {
    newest_ns_ = clock_->ToNs(ticks);
    linker_.Advance(newest_ns_);
  }
  // From here to the next AdvanceTo records of one thread are consumed, and no other thread has an unread one with
  // ticks below `ticks`.
  void ReadAloneTo(uint64_t ticks) { linker_.SetHorizon(clock_->ToNs(ticks)); }
  // Hands over what has been built so far.
  void DeliverBatch();
  // The scopes that are open, as events that end at that moment, flagged and synthesized: they go on, and are built when
  // they end. Without their details. The batch is not one of the session's.
  std::shared_ptr<EventBatch> ListOpen(uint64_t ticks) const;
  // The session ends: closes open scopes at that moment, flagged, and delivers everything.
  void Finish(uint64_t ticks);

  template <typename Visit>
  void ForEachTrace(Visit visit) {
    for (auto& entry : traces_) visit(*entry.second);
  }

  // The number of the last step that ended, plus one, and when; 0: none has.
  uint64_t steps() const { return steps_ended_; }
  int64_t step_end_ns() const { return step_end_ns_; }

  // Finished scopes, instants, counters and memory events; not what the drain adds of itself.
  uint64_t built() const { return built_; }
  uint64_t clock_backward() const { return clock_backward_; }
  uint64_t unmatched_remote_ends() const { return unmatched_remote_ends_; }
  uint64_t unknown_records() const { return unknown_records_; }
  const Linker& linker() const { return linker_; }
  DeviceLinker& device() { return device_; }
  const DeviceLinker& device() const { return device_; }

  void OnBackward(const LinkKey& key, bool is_wrapper, const WaitingOp& op) override;

  // Of the batch that is being filled: as EventBatch::sequence will be.
  uint64_t BatchNumber() const override { return batch_number_; }

 private:
  using ScopeKey = std::pair<uint32_t, uint32_t>;  // thread, handle
  static constexpr int64_t kLongestWaitOfEarlyEndsNs = 2'000'000'000;

  bool MustWait(const ThreadTrace& trace, uint32_t handle, int64_t end_ns) const;
  void DeliverIfFull(size_t size) {
    if (FERRET_UNLIKELY(size >= config_.batch_events) && !config_.cuts) DeliverBatch();
  }
  const char* Leaf(ThreadTrace& trace, const char* record, const char* to, uint64_t header, int64_t now_ns);
  void Begin(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  void BeginRarely(ThreadTrace& trace, OpenScope* scope, const char* record, uint64_t header);
  void End(ThreadTrace& trace, uint32_t handle, int64_t now_ns);
  void EndOutOfOrder(ThreadTrace& trace, uint32_t handle, int64_t now_ns);
  void RemoteEnd(uint32_t thread, uint32_t handle, int64_t now_ns);
  bool TakeByHandle(ThreadTrace& trace, uint32_t handle, OpenScope* scope);
  void LeaveNest(ThreadTrace& trace, size_t place);
  // The same, for the one place that most scopes go through, and for all others.
  void CloseInnermostInline(ThreadTrace& trace, int64_t now_ns, bool truncated);
  void CloseInnermost(ThreadTrace& trace, int64_t now_ns, bool truncated);
  void CloseAll(ThreadTrace& trace, int64_t now_ns);
  void CloseAllAsync(ThreadTrace& trace, int64_t now_ns);
  int64_t WindowEndNs(const ThreadTrace& trace) const;
  int64_t PastWindow(ThreadTrace& trace);
  void BeforeClose(ThreadTrace& trace, size_t place, bool truncated) {
    if (DeviceLinker::Concerns(*trace.open[place].extras)) device_.Close(trace, place, truncated);
  }
  void CloseAsync(ThreadTrace& trace, OpenScope scope, int64_t now_ns, bool truncated);
  void Fill(FunctionEvent& event, const OpenScope& scope, int64_t end_ns, int64_t self_ns, bool async, bool truncated) const;
  void Emit(const ThreadTrace& trace, const OpenScope& scope, int64_t end_ns, int64_t self_ns, bool async, bool truncated);
  void EmitLinked(ThreadTrace& trace, const OpenScope& scope, int64_t end_ns, int64_t self_ns, bool truncated);
  void EmitStep(ThreadTrace& trace, const StepTracker::Slice& slice, int64_t now_ns);
  void OptimizerEnded(ThreadTrace& trace, int64_t now_ns);
  StepTracker::Surroundings SurroundingsOf(const ThreadTrace& trace) const;
  void Rare(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  void ThreadNotice(const ThreadTrace& trace, uint32_t previous_thread);

  void Memory(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns);
  ScopeExtras& ExtrasOf(OpenScope& scope);
  // What a closed scope allocated belongs to the scope around it, too.
  void PassMemoryOn(const OpenScope& closed, OpenScope& outer);

  FunctionEvent& NewEvent(const FunctionEvent& like);
  FunctionEvent& NewExtraEvent() override;
  EventBatch& CurrentBatch() override { return *batch_; }
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
  const Windows& windows_;
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
  int64_t latest_early_end_ns_ = INT64_MIN;
  int64_t newest_ns_ = INT64_MIN;  // up to which everything has been consumed
  int64_t next_id_;
  uint64_t batch_number_ = 1;
  uint64_t steps_ended_ = 0;
  int64_t step_end_ns_ = 0;
  uint64_t built_ = 0;
  uint64_t clock_backward_ = 0;
  uint64_t unmatched_remote_ends_ = 0;
  uint64_t unknown_records_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_EVENT_BUILDER_H_
