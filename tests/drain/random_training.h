// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Random multi-threaded training programs as streams of records, with what PyTorch's rules make of them.
//
// A program is run in one simulated time in which threads take turns, often at the same tick. Autograd's habits come up
// by themselves: ops that peek a number without making a node, nests that share a number, a second backward over nodes
// that were used, forward ops inside of backward ones (double backward, recomputation), nodes whose forward op was lost.

#ifndef FERRET_TESTS_DRAIN_RANDOM_TRAINING_H_
#define FERRET_TESTS_DRAIN_RANDOM_TRAINING_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/drain/drain_harness.h"

namespace ferret::internal {

struct TrainingOp {
  uint32_t thread = 0;
  uint64_t start = 0, end = 0;
  size_t begun = 0;  // place among the begins of all threads
  size_t ended = 0;  // place among the ends of its thread
  int64_t sequence_nr = -1;
  uint32_t fwd_thread = 0;
  RecordScope scope = RecordScope::kFunction;
  uint8_t flags = kNoFlags;
  size_t parent = 0;  // place in Training::ops plus one
  bool truncated = false;
};

struct TrainingRecord {
  enum Kind { kBegin, kEnd, kExit } kind;
  uint64_t ticks;
  size_t op;  // place in Training::ops, which is also the name id
  OpRecord fields;  // as the thread records them: a wrapper inherits only later
};

struct Training {
  std::vector<TrainingOp> ops;
  std::vector<std::vector<TrainingRecord>> streams;  // by thread - 1
  uint64_t end = 0;                                  // a tick after everything
};

class TrainingGenerator {
 public:
  explicit TrainingGenerator(uint32_t seed) : random_(seed) {}

  Training Run() {
    const uint32_t threads = 1 + Below(4);
    actors_.resize(threads);
    training_.streams.resize(threads);
    step_ = 1 + Below(4);
    for (uint32_t left = 50 + Below(300); left > 0; --left) {
      now_ += Below(step_);
      Act(1 + Below(threads));
    }
    training_.end = now_ + 1;
    for (uint32_t thread = 1; thread <= threads; ++thread) {
      // Some threads exit, some are still at it when the session ends; both close what is open.
      const bool exits = Chance(50);
      if (exits) training_.streams[thread - 1].push_back({TrainingRecord::kExit, now_, 0, {}});
      CloseDownTo(thread, 0, exits ? now_ : training_.end, true);
    }
    return std::move(training_);
  }

 private:
  struct Actor {
    std::vector<size_t> open;
    std::vector<bool> end_lost;  // of `open`
    int64_t next_number = 0;
    size_t ended = 0;
    bool after_wrapper = false;
  };

  uint32_t Below(uint32_t limit) { return random_() % limit; }
  bool Chance(uint32_t percent) { return Below(100) < percent; }

  void Act(uint32_t thread) {
    Actor& actor = actors_[thread - 1];
    if (actor.after_wrapper) {
      actor.after_wrapper = false;
      if (Chance(85)) BeginBackward(thread);
      else BeginForward(thread);
    } else if (actor.open.size() < 7 && Chance(actor.open.empty() ? 100 : 50)) {
      BeginSomething(thread);
    } else {
      EndSomething(thread);
    }
  }

  void BeginSomething(uint32_t thread) {
    const uint32_t choice = Below(100);
    if (choice < 45) {
      BeginForward(thread);
    } else if (choice < 60) {
      Begin(thread, {}, kInheritsBackward);
      actors_[thread - 1].after_wrapper = true;
    } else if (choice < 80) {
      BeginBackward(thread);
    } else if (choice < 85) {
      // A forward op that left no record, but a node.
      nodes_.emplace_back(thread, actors_[thread - 1].next_number++);
    } else {
      Begin(thread, {}, choice < 90 ? kUserAnnotation : kNoFlags);
    }
  }

  void BeginForward(uint32_t thread) { Begin(thread, {actors_[thread - 1].next_number, 0, RecordScope::kFunction}); }

  void BeginBackward(uint32_t thread) {
    OpRecord op{-1, 1, RecordScope::kBackwardFunction};  // AccumulateGrad
    if (!nodes_.empty() && Chance(90)) {
      // Mostly a late node, sometimes one that was used before.
      const size_t back = std::min<size_t>(nodes_.size() - 1, Below(Chance(70) ? 4 : 40));
      std::tie(op.fwd_thread, op.sequence_nr) = nodes_[nodes_.size() - 1 - back];
    }
    Begin(thread, op);
  }

  void Begin(uint32_t thread, const OpRecord& fields, uint8_t flags = kNoFlags) {
    Actor& actor = actors_[thread - 1];
    const size_t place = training_.ops.size();
    training_.streams[thread - 1].push_back({TrainingRecord::kBegin, now_, place, fields});
    TrainingOp op;
    op.thread = thread;
    op.start = now_;
    op.begun = place;
    op.sequence_nr = fields.sequence_nr;
    op.fwd_thread = fields.sequence_nr < 0 ? 0 : fields.fwd_thread;
    op.scope = (flags & kUserAnnotation) != 0 ? RecordScope::kUserScope : fields.scope;
    op.flags = flags;
    if (!actor.open.empty()) {
      op.parent = actor.open.back() + 1;
      TrainingOp& parent = training_.ops[actor.open.back()];
      const auto& stream = training_.streams[thread - 1];
      const bool is_next = stream[stream.size() - 2].kind == TrainingRecord::kBegin;
      if (is_next && (parent.flags & kInheritsBackward) != 0 && op.scope == RecordScope::kBackwardFunction) {
        parent.sequence_nr = op.sequence_nr;
        parent.fwd_thread = op.fwd_thread;
      }
    }
    training_.ops.push_back(op);
    actor.open.push_back(place);
    actor.end_lost.push_back(Chance(4));
  }

  void EndSomething(uint32_t thread) {
    Actor& actor = actors_[thread - 1];
    size_t depth = actor.open.size();
    while (depth > 0 && actor.end_lost[depth - 1]) --depth;
    if (Chance(5) && depth > 1 && !actor.end_lost[depth - 2]) --depth;  // out of order
    if (depth == 0) return;
    const size_t place = actor.open[depth - 1];
    training_.streams[thread - 1].push_back({TrainingRecord::kEnd, now_, place, {}});
    CloseDownTo(thread, depth, now_, true);
    CloseDownTo(thread, depth - 1, now_, false);
    const TrainingOp& op = training_.ops[place];
    if (op.sequence_nr == actor.next_number && op.fwd_thread == 0 && Chance(70)) {
      nodes_.emplace_back(thread, actor.next_number++);
    }
  }

  void CloseDownTo(uint32_t thread, size_t depth, uint64_t ticks, bool truncated) {
    Actor& actor = actors_[thread - 1];
    while (actor.open.size() > depth) {
      TrainingOp& op = training_.ops[actor.open.back()];
      op.end = ticks;
      op.ended = actor.ended++;
      op.truncated = truncated;
      actor.open.pop_back();
      actor.end_lost.pop_back();
    }
  }

  std::mt19937 random_;
  Training training_;
  std::vector<Actor> actors_;
  std::vector<std::pair<uint32_t, int64_t>> nodes_;  // thread and number, in the order of their making
  uint64_t now_ = 100;
  uint32_t step_ = 1;
};

// PyTorch's rule over all ops at once. Candidates have a number and are taken in the order of their ends; a forward op
// is stored under its thread and number unless one that started later is there; a backward op takes what is stored
// under its forward thread and number, which is then gone. Pairs of places in Training::ops.
inline std::set<std::pair<size_t, size_t>> LinksOf(const Training& training, size_t* unmatched) {
  std::vector<const TrainingOp*> candidates;
  for (const TrainingOp& op : training.ops) {
    if (op.sequence_nr >= 0) candidates.push_back(&op);
  }
  std::sort(candidates.begin(), candidates.end(), [](const TrainingOp* a, const TrainingOp* b) {
    return std::tie(a->end, a->thread, a->ended) < std::tie(b->end, b->thread, b->ended);
  });
  std::map<std::pair<uint32_t, int64_t>, const TrainingOp*> stored;
  std::set<std::pair<size_t, size_t>> links;
  *unmatched = 0;
  for (const TrainingOp* op : candidates) {
    if (op->fwd_thread == 0) {
      const TrainingOp*& place = stored[{op->thread, op->sequence_nr}];
      // Of two that started at one tick, the one whose begin came later in the thread.
      if (place == nullptr || op->begun > place->begun) place = op;
      continue;
    }
    const auto found = stored.find({op->fwd_thread, op->sequence_nr});
    if (found == stored.end()) {
      *unmatched += (op->flags & kInheritsBackward) == 0;
      continue;
    }
    links.emplace(found->second->begun, op->begun);
    stored.erase(found);
  }
  return links;
}

}  // namespace ferret::internal

#endif  // FERRET_TESTS_DRAIN_RANDOM_TRAINING_H_
