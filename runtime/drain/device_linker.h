// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceLinker: gives what devices did to the scopes that had it done, when it comes to be known, which is after those
// scopes have been delivered.
//
//     marks of a scope ─► TimedScope ··· later: result ─► event on the device, and shares of device time:
//
//     step           total + d
//       outer timed  self  - d     its own pair has the time already
//         scope      total + d
//           timed    self  + d, total + d
//
// A scope whose pair fails has what the timed scopes inside of it have, so its own share waits until those are known. An
// annotation around timed scopes gets an event for each stream, from the first start to the last end in it, once the
// annotation is closed and all of them are known.
//
// Holds a scope from its first mark until it is known, and those around it that are timed: as many as there are pairs.
//
// Drain thread only.

#ifndef FERRET_RUNTIME_DRAIN_DEVICE_LINKER_H_
#define FERRET_RUNTIME_DRAIN_DEVICE_LINKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ferret/event_batch.h"
#include "runtime/device/device_port.h"
#include "runtime/drain/open_scope.h"
#include "runtime/drain/thread_trace.h"

namespace ferret::internal {

// Under which the times of a scope are added up.
struct ShareKey {
  std::string name;  // if it is in no table
  uint32_t name_id = 0;
  bool is_user_annotation = false;
  bool is_legacy = false;
  std::string trace_name;  // of a step: the one with its number
  std::string recorded;

  // Where the batch with this number has the name and what was recorded: many scopes may share it.
  mutable uint64_t batch = 0;
  mutable std::string_view batch_name;
  mutable std::string_view batch_recorded;
};

struct DeviceRange {
  int64_t start_ns = INT64_MAX;
  int64_t end_ns = INT64_MIN;
  void Cover(int64_t start, int64_t end) {
    start_ns = start < start_ns ? start : start_ns;
    end_ns = end > end_ns ? end : end_ns;
  }
};
using StreamId = std::pair<int16_t, int32_t>;  // device index, number

struct AnnotationRange {
  int64_t scope_id = 0;
  std::shared_ptr<const ShareKey> key;
  uint32_t thread = 0;
  uint32_t pending = 0;
  bool closed = false;
  std::map<StreamId, DeviceRange> streams;
};

// A timed scope, or what has been known of one, that may lie in a step.
struct StepCandidate {
  int64_t start_ns = 0;
  uint64_t outer = 0;  // the token of the innermost timed scope around it
  bool settled = false;
  int64_t device_ns = 0;
  bool in_step = false;
};

struct TimedScope {
  uint64_t token = 0;
  PairId pair = 0;
  int64_t scope_id = 0;
  TimedScope* outer = nullptr;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  uint32_t thread = 0;
  int32_t os_tid = 0;
  uint32_t inner = 0;          // timed scopes inside, without those inside of them
  uint32_t inner_pending = 0;  // of which are not settled
  int64_t inner_ns = 0;        // the sum of those that are
  bool open = true;            // its scope is, and points to this
  bool ended = false;          // its second mark has been read
  bool failed = false;
  bool settled = false;
  std::shared_ptr<const ShareKey> key;
  std::vector<std::shared_ptr<const ShareKey>> around;  // the scopes around it that are not timed, up to `outer`
  std::vector<AnnotationRange*> annotations;
  std::shared_ptr<StepCandidate> candidate;
  std::map<StreamId, DeviceRange> inside;  // what was done inside of it
};

class NameTable;

class DeviceLinker {
 public:
  // Where the results go.
  class Sink {
   public:
    virtual ~Sink() = default;
    // An event of the batch that is being filled, with an id, that nobody attempted; and that batch, until the next call.
    virtual FunctionEvent& NewExtraEvent() = 0;
    virtual EventBatch& CurrentBatch() = 0;
    // From 1; of each batch another one.
    virtual uint64_t BatchNumber() const = 0;
  };

  DeviceLinker(Sink* sink, ExtrasPool* extras, NameTable* names);
  ~DeviceLinker();

  // A mark was put when the innermost open scope of the thread began.
  void Begin(ThreadTrace& trace, PairId pair, int64_t now_ns);
  // And at its end.
  void End(ThreadTrace& trace, PairId pair, uint32_t place, std::optional<DeviceLoss> lost, int64_t now_ns);
  // The open scope at that place closes. Only of interest if Concerns(its extras).
  void Close(ThreadTrace& trace, size_t place, bool truncated);
  static bool Concerns(const ScopeExtras& extras) { return extras.timed != nullptr || extras.range != nullptr; }
  // A step of the thread ends, which is a slice of its own.
  void EndStep(const ThreadTrace& trace, int64_t start_ns);

  // The thread is gone, and has no open scopes.
  void Forget(const ThreadTrace& trace) { candidates_.erase(trace.thread); }

  void OnOutput(const DeviceOutput& output);
  // What became of the scopes whose first mark was read: timed, and lost by reason. Not what was asked.
  const DeviceCounts& counts() const { return counts_; }
  // Pairs to be handed to the device thread.
  std::vector<SubmittedPair>* submitted() { return &submitted_; }
  // The session ends: what is not known by now never will be.
  void Finish();

 private:
  std::shared_ptr<const ShareKey> KeyOf(OpenScope& scope);
  void Describe(ThreadTrace& trace, size_t place, TimedScope* timed);
  static void Fold(std::vector<std::shared_ptr<StepCandidate>>* candidates);
  void Fail(TimedScope* timed);
  void Settle(TimedScope* timed, int64_t device_ns);
  // On the device, for the scope with that id.
  FunctionEvent& NewEvent(const ShareKey& key, StreamId stream, const DeviceRange& range, uint32_t thread,
                          int64_t scope_id);
  void Emit(TimedScope* timed, const PairResult& result);
  void Annotate(AnnotationRange* range);
  // Has the texts of the key in the current batch.
  void Use(const ShareKey& key);
  void Share(const ShareKey& key, int64_t self_ns, int64_t total_ns);
  void Release(TimedScope* timed);

  Sink* const sink_;
  ExtrasPool* const extras_;
  const NameTable* const names_;
  const uint32_t step_name_id_;
  const ShareKey step_key_;
  uint64_t next_token_ = 1;
  DeviceCounts counts_;
  std::map<uint64_t, std::unique_ptr<TimedScope>> scopes_;  // by token: inner ones come later
  absl::flat_hash_map<AnnotationRange*, std::unique_ptr<AnnotationRange>> ranges_;
  absl::flat_hash_map<uint32_t, std::vector<std::shared_ptr<StepCandidate>>> candidates_;  // by thread
  std::vector<SubmittedPair> submitted_;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_DEVICE_LINKER_H_
