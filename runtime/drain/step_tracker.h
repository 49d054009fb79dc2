// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// StepTracker: cuts the training thread's time into `ProfilerStep#N` slices that nest with everything else on it.
//
// A boundary is the end of a scope that ends a step (the optimizer's), or a call of ferret::Step. The slice of a step
// runs from the latest of
//   - the previous boundary,
//   - the begin of the innermost scope that is open at its own boundary,
//   - the end of any scope that was open at the previous boundary and has closed since
// to its boundary. So it never overlaps a scope in part, and no step is lost, also when the whole loop stands inside of
// one annotation. Steps are counted on one thread, the first that had a boundary. Once the program marks steps itself by
// ferret::Step, the optimizer no longer does; and a step inside of an annotation of that name (a torch.profiler that runs
// for a few steps makes them) has its slice already.
//
// A step that was under way when recording began in the middle of a session (a window of its schedule) has no slice: where
// it began is not known. The schedule says where the first whole one begins, and which number it has.
//
// Drain thread only.

#ifndef FERRET_RUNTIME_DRAIN_STEP_TRACKER_H_
#define FERRET_RUNTIME_DRAIN_STEP_TRACKER_H_

#include <algorithm>
#include <cstdint>

#include "runtime/crash/crash_layout.h"

namespace ferret::internal {

class StepTracker {
 public:
  struct Slice {
    uint64_t number;
    int64_t start_ns;
    int64_t self_ns;
  };

  // What the tracker has to know of the thread at a boundary.
  struct Surroundings {
    uint32_t thread = 0;           // Ferret's logical id
    int64_t first_ns = 0;          // the thread's first record
    int64_t next_id = 0;           // ids of scopes that have begun are below
    int64_t open_id = 0;           // innermost scope still open, 0 for none
    int64_t open_start_ns = 0;     // its begin
    int64_t open_children_ns = 0;  // time of its (or, without one, of the thread's) direct children so far
  };

  // Of a scope that closes; called for every scope of every thread.
  bool WasOpenAtBoundary(uint32_t thread, int64_t scope_id) const {
    return thread == thread_ && scope_id < boundary_next_id_;
  }
  // Such a scope has closed; `at` is what is around now.
  void OnClose(const Surroundings& at, int64_t end_ns) {
    clear_from_ns_ = end_ns;
    base_id_ = at.open_id;
    base_children_ns_ = at.open_children_ns;
  }
  // An open scope turned out to be asynchronous: its direct children become those of the scope around it, which had
  // `outer_children_ns` before.
  void OnLeave(uint32_t thread, int64_t scope_id, int64_t outer_id, int64_t outer_children_ns) {
    if (thread != thread_ || scope_id != base_id_) return;
    base_id_ = outer_id;
    base_children_ns_ += outer_children_ns;
  }

  // The thread whose steps are counted; 0 before the first boundary.
  uint32_t thread() const { return thread_; }
  // For a crash file, and back. What the file says else is left as it is.
  void Save(CarriedSteps* to) const {
    to->thread = thread_;
    to->program_marks = program_marks_;
    to->boundary_known = boundary_known_;
    to->next_number = next_number_;
    to->boundary_ns = boundary_ns_;
    to->boundary_next_id = boundary_next_id_;
    to->clear_from_ns = clear_from_ns_;
    to->base_id = base_id_;
    to->base_children_ns = base_children_ns_;
  }
  void Restore(const CarriedSteps& from) {
    thread_ = from.thread;
    program_marks_ = from.program_marks != 0;
    boundary_known_ = from.boundary_known != 0;
    next_number_ = from.next_number;
    boundary_ns_ = from.boundary_ns;
    boundary_next_id_ = from.boundary_next_id;
    clear_from_ns_ = from.clear_from_ns;
    base_id_ = from.base_id;
    base_children_ns_ = from.base_children_ns;
  }

  // The thread's records go on in a new window, not at the session's start.
  void OnNewWindow(uint32_t thread) {
    if (thread_ == 0 || thread == thread_) boundary_known_ = false;
  }
  // The schedule: the step of that number begins here.
  void OnStepBegin(const Surroundings& at, int64_t now_ns, uint64_t number) {
    thread_ = at.thread;
    next_number_ = number;
    clear_from_ns_ = 0;
    SetBoundary(at, now_ns);
  }

  // The optimizer's step ended. False if the program marks its steps (`annotated`: this one), or on another thread than
  // the first.
  bool OnOptimizerEnd(const Surroundings& at, int64_t now_ns, bool annotated, Slice* slice) {
    return !program_marks_ && Cut(at, now_ns, next_number_, slice) && !annotated;
  }

  // ferret::Step. A number continues the count from there.
  bool OnProgramStep(const Surroundings& at, int64_t now_ns, bool has_number, uint64_t number, Slice* slice) {
    // The program's thread counts, also if optimizers were seen on another one before.
    if (!program_marks_ && at.thread != thread_) thread_ = 0;
    program_marks_ = true;
    return Cut(at, now_ns, has_number ? number : next_number_, slice);
  }

 private:
  bool Cut(const Surroundings& at, int64_t now_ns, uint64_t number, Slice* slice) {
    if (thread_ == 0) {
      thread_ = at.thread;
      boundary_ns_ = at.first_ns;
      // What another thread left behind, if the program's steps take over from its optimizers.
      clear_from_ns_ = base_id_ = base_children_ns_ = 0;
    }
    if (at.thread != thread_) return false;
    slice->number = number;
    slice->start_ns = std::min(now_ns, std::max({boundary_ns_, clear_from_ns_, at.open_start_ns}));
    // The innermost open scope has had all of its children since the slice's start, unless it was open before that.
    const int64_t children = at.open_children_ns - (at.open_id == base_id_ ? base_children_ns_ : 0);
    slice->self_ns = std::max<int64_t>(0, now_ns - slice->start_ns - children);
    next_number_ = number + 1;
    const bool whole = boundary_known_;
    SetBoundary(at, now_ns);
    return whole;
  }

  void SetBoundary(const Surroundings& at, int64_t now_ns) {
    boundary_known_ = true;
    boundary_ns_ = now_ns;
    boundary_next_id_ = at.next_id;
    base_id_ = at.open_id;
    base_children_ns_ = at.open_children_ns;
  }

  uint32_t thread_ = 0;
  bool program_marks_ = false;
  uint64_t next_number_ = 0;
  bool boundary_known_ = true;  // the thread's first record is one
  int64_t boundary_ns_ = 0;
  int64_t boundary_next_id_ = 0;
  // The latest end of a scope that was open at the boundary.
  int64_t clear_from_ns_ = 0;
  // The innermost scope open at the boundary, or then around the latest scope that ended so; and the time that its
  // children had taken by then.
  int64_t base_id_ = 0;
  int64_t base_children_ns_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_STEP_TRACKER_H_
