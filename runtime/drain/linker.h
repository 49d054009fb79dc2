// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Linker: finds the forward op of every backward op, whatever the order in which threads are drained.
//
// The rule is PyTorch's, over all ops with a sequence number in the order of their ends: a forward op is stored under
// (its thread, number) unless one that started later is there; a backward op takes what is stored under (its forward
// thread, number), which is then gone. Threads arrive one chunk after another, so their ops are merged by end time
// first, up to a watermark: the time to which every thread is known to have been read. A backward op waits for that
// (one pass of the drain, as a rule); a forward op only leaves a note.
//
//     thread 1  F F F B B |          heads are merged by end time ──► LinkTable ──► resolved backward events
//     thread 2  B B |                up to the watermark
//
// While the thread being read is behind all others, which is nearly always, nothing needs to wait: its ops up to the
// horizon, the earliest of what is still unread elsewhere, are linked as they come.
//
// Drain thread only.

#ifndef FERRET_RUNTIME_DRAIN_LINKER_H_
#define FERRET_RUNTIME_DRAIN_LINKER_H_

#include <cstdint>
#include <vector>

#include "ferret/event_batch.h"
#include "runtime/drain/link_table.h"

namespace ferret::internal {

// What few scopes have (open_scope.h); whoever holds the op owns it.
struct ScopeExtras;

// A backward op that waits, with what does not lie in the event itself.
struct WaitingOp {
  FunctionEvent event;
  ScopeExtras* extras = nullptr;
};

// Ops of one thread in the order of their ends. Belongs to the thread's trace, which outlives the last op in it.
class LinkQueue {
 public:
  // `order` breaks ties between threads: the thread's logical id.
  explicit LinkQueue(uint32_t order) : order_(order) {}
  bool empty() const { return next_ == candidates_.size(); }
  int64_t head_end_ns() const { return candidates_[next_].end_ns; }

 private:
  friend class Linker;

  struct Candidate {
    LinkKey key;
    int64_t end_ns;
    OpenForward forward;   // of a forward op
    bool is_backward;    // then the event is next in waiting_
    bool is_wrapper;     // a miss is no miss
  };

  void DropConsumed();

  const uint32_t order_;
  std::vector<Candidate> candidates_;
  std::vector<WaitingOp> waiting_;
  size_t next_ = 0;
  size_t next_waiting_ = 0;
  bool in_heap_ = false;
};

class Linker {
 public:
  // Receives each backward op that had to wait once, to be linked then.
  class Sink {
   public:
    virtual ~Sink() = default;
    virtual void OnBackward(const LinkKey& key, bool is_wrapper, const WaitingOp& op) = 0;
  };

  static constexpr size_t kDefaultMaxWaiting = 262'144;

  // Arrows are numbered from first_flow on.
  Linker(size_t table_capacity, size_t max_waiting, Sink* sink, int64_t first_flow = 1)
      : table_(table_capacity), max_waiting_(max_waiting), sink_(sink), first_flow_(first_flow), next_flow_(first_flow) {}

  void AddForward(LinkQueue& queue, const LinkKey& key, int64_t end_ns, const OpenForward& op);
  void AddBackward(LinkQueue& queue, const LinkKey& key, const WaitingOp& op, bool is_wrapper);

  // Until the next call of SetHorizon or Advance, ops are added for one thread only, and no other thread has an unread
  // op that ends before horizon_ns.
  void SetHorizon(int64_t horizon_ns) { horizon_ns_ = horizon_ns; }
  // Whether an op of this queue that ends then can be linked at once, without being added.
  bool CanLinkNow(const LinkQueue& queue, int64_t end_ns) const {
    return end_ns < horizon_ns_ && queue.empty() && (heap_.empty() || end_ns < heap_.front()->head_end_ns());
  }
  FERRET_INLINE void LinkForwardNow(LinkKey key, OpenForward op) { table_.Insert(key, op); }
  // If there is a partner, sets forward_id and adds the link.
  FERRET_INLINE void LinkBackwardNow(LinkKey key, bool is_wrapper, FunctionEvent* event,
                                     std::vector<ForwardBackwardLink>* links) {
    const bool found = table_.Take(key, [&](const OpenForward& forward) {
      event->forward_id = forward.id;
      links->push_back({next_flow_++, forward.id, event->id, forward.start_ns, event->start_ns, forward.os_tid,
                        event->device_resource_id});
    });
    unmatched_ += !found && !is_wrapper;
  }

  // Every op that ended before watermark_ns has been added. Links all of them.
  void Advance(int64_t watermark_ns);
  // No more ops will be added before these are linked.
  void Finish() { Advance(INT64_MAX); }
  // Links what waits now, whatever may still come.
  void Hurry() {
    hurried_ += waiting_;
    Finish();
  }

  uint64_t made() const { return static_cast<uint64_t>(next_flow_ - first_flow_); }
  int64_t next_flow() const { return next_flow_; }
  uint64_t unmatched() const { return unmatched_; }
  uint64_t evicted() const { return table_.evicted(); }
  // Backward ops that were linked early because too many waited.
  uint64_t hurried() const { return hurried_; }
  size_t waiting() const { return waiting_; }

 private:
  void Add(LinkQueue& queue, const LinkQueue::Candidate& candidate);
  void Process(LinkQueue& queue);

  static bool Later(const LinkQueue* a, const LinkQueue* b);

  LinkTable table_;
  const size_t max_waiting_;
  Sink* const sink_;
  std::vector<LinkQueue*> heap_;  // queues with candidates, the one with the earliest end on top
  int64_t horizon_ns_ = INT64_MIN;
  const int64_t first_flow_;
  int64_t next_flow_;
  uint64_t unmatched_ = 0;
  uint64_t hurried_ = 0;
  size_t waiting_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_LINKER_H_
