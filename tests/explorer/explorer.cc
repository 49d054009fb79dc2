// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/explorer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace ferret::explorer {
namespace {

// How much of what a thread is about to read was there when it went to sleep.
struct Seen {
  size_t stores = 0;
  std::array<size_t, kMaxThreads> items{};
  bool nothing = false;  // a pop could find the queue empty
};

struct Sleep {
  bool asleep = false;
  Seen seen;
};
using SleepSet = std::array<Sleep, kMaxThreads>;

// A state in which there was a choice.
struct Node {
  std::vector<Choice> choices;
  size_t next = 0;
  SleepSet sleep;                      // on arrival
  std::array<Seen, kMaxThreads> seen;  // now
};

Seen SeenBy(const Execution& execution, int thread) {
  const Operation& operation = execution.pending(thread);
  Seen seen;
  if (operation.kind == OperationKind::kPop) {
    const Queue& queue = execution.model().queue(operation.place);
    for (int p = 0; p < kMaxThreads; ++p) seen.items[p] = queue.Waiting(p);
    seen.nothing = execution.AlternativesOf(thread).back() == 0;
  } else if (operation.kind == OperationKind::kLoad) {
    seen.stores = execution.model().location(operation.place).stores.size();
  }
  return seen;
}

bool IsNew(const Operation& operation, Alternative alternative, const Seen& seen) {
  if (operation.kind == OperationKind::kLoad) return alternative >= seen.stores;
  if (operation.kind != OperationKind::kPop) return false;
  for (int p = 0; p < kMaxThreads; ++p) {
    if ((alternative >> (8 * p) & 0xff) > seen.items[p]) return true;
  }
  return false;
}

// What is left of a thread's sleep once another one did something: all of it if the other way round comes to the same.
// What loads and pops may find that is new does not count here, since IsNew looks after that.
Sleep After(const Execution& execution, const Operation& done, bool changed, int sleeper, Sleep sleep) {
  const Operation& other = execution.pending(sleeper);
  if (done.place == kNoPlace || done.place != other.place || done.IsOnQueue() != other.IsOnQueue()) return sleep;
  if (done.IsOnQueue()) {
    if (done.kind != OperationKind::kPop || other.kind != OperationKind::kPop || !changed) return sleep;
    // Another item comes next; or none, as before.
    sleep.asleep = sleep.seen.nothing;
    sleep.seen.items = {};
    return sleep;
  }
  const bool sequential = done.IsSequential() && other.IsSequential();
  if (changed ? other.kind != OperationKind::kLoad || sequential : sequential && other.kind != OperationKind::kLoad) {
    sleep.asleep = false;
  }
  return sleep;
}

class Search final : public Chooser {
 public:
  explicit Search(bool reduce) : reduce_(reduce) {}

  void Begin() {
    depth_ = 0;
    sleep_ = {};
    steps_ = 0;
    new_from_ = path_.empty() ? 0 : path_.back().steps;
  }

  // False when there is nothing left to try.
  bool Advance() {
    while (!path_.empty() && path_.back().node.next + 1 == path_.back().node.choices.size()) path_.pop_back();
    if (path_.empty()) return false;
    ++path_.back().node.next;
    return true;
  }

  Choice Choose(const Execution& execution) override {
    if (reduce_) {
      if (const int thread = StoringThread(execution)) return {thread, execution.AlternativesOf(thread).front()};
    }
    if (depth_ == path_.size()) {
      Entry entry;
      entry.steps = steps_;
      entry.node = NodeHere(execution);
      if (entry.node.choices.empty()) return {};
      path_.push_back(std::move(entry));
    }
    if (path_[depth_].steps != steps_) {
      std::fprintf(stderr, "explorer: an execution took another way than the one before\n");
      std::abort();
    }
    const Node& node = path_[depth_++].node;
    const Choice choice = node.choices[node.next];
    if (reduce_) {
      sleep_ = node.sleep;
      for (size_t i = 0; i < node.next; ++i) {
        const int thread = node.choices[i].thread;
        if (thread != choice.thread) sleep_[thread] = {true, node.seen[thread]};
      }
      sleep_[choice.thread].asleep = false;
    }
    return choice;
  }

  void Executed(const Execution& execution, int thread, const Operation& operation, bool changed) override {
    if (steps_++ >= new_from_) ++states;
    for (int t = 1; t <= execution.threads(); ++t) {
      if (t != thread && sleep_[t].asleep) sleep_[t] = After(execution, operation, changed, t, sleep_[t]);
    }
  }

  uint64_t states = 0;
  uint64_t nodes = 0;

 private:
  struct Entry {
    Node node;
    size_t steps = 0;  // before it
  };

  // One whose next operation is of no interest to try later, unless as the outcome of a choice.
  int StoringThread(const Execution& execution) const {
    for (int t = 1; t <= execution.threads(); ++t) {
      if (!execution.IsReady(t) || sleep_[t].asleep || !execution.IsUndisturbed(t)) continue;
      const OperationKind kind = execution.pending(t).kind;
      if (kind == OperationKind::kLoad || kind == OperationKind::kPop) continue;
      if (execution.AlternativesOf(t).size() == 1) return t;
    }
    return 0;
  }

  Node NodeHere(const Execution& execution) {
    Node node;
    node.sleep = sleep_;
    int first = 1;
    int last = execution.threads();
    if (reduce_) {
      for (int t = 1; t <= execution.threads(); ++t) {
        if (execution.IsReady(t) && execution.IsUndisturbed(t)) {
          first = last = t;
          break;
        }
      }
    }
    for (int t = first; t <= last; ++t) {
      if (!execution.IsReady(t)) continue;
      node.seen[t] = SeenBy(execution, t);
      for (const Alternative alternative : execution.AlternativesOf(t)) {
        if (sleep_[t].asleep && !IsNew(execution.pending(t), alternative, sleep_[t].seen)) continue;
        node.choices.push_back({t, alternative});
      }
    }
    nodes += node.choices.size() > 1;
    return node;
  }

  const bool reduce_;
  std::vector<Entry> path_;
  size_t depth_ = 0;
  SleepSet sleep_;
  size_t steps_ = 0;
  size_t new_from_ = 0;  // the number of the first step that the last execution did not have
};

}  // namespace

Result Explore(const Options& options, const MakeProgram& make) {
  Result result;
  Search search(options.reduce);
  Execution execution(options.weak ? &*options.weak : nullptr);
  uint64_t left = options.max_executions;
  do {
    if (left == 0) break;
    --left;
    search.Begin();
    execution.Run(make, search);
    result.longest = std::max(result.longest, execution.steps());
    if (execution.given_up()) {
      ++result.abandoned;
      continue;
    }
    ++result.executions;
    result.different.insert(execution.fingerprint());
    ++result.outcomes[execution.outcome()];
    if (execution.failure().empty()) continue;
    if (result.failures++ == 0) {
      result.first_failure = result.executions;
      result.failure = execution.failure();
      left = std::min(left, options.executions_after_failure);
    }
    if (result.shortest.empty() || execution.schedule_length() < result.shortest_length) {
      result.shortest_length = execution.schedule_length();
      result.shortest = execution.Schedule();
    }
  } while (!(result.exhausted = !search.Advance()));
  result.states = search.states;
  result.choices = search.nodes;
  result.sites.insert(execution.sites().begin(), execution.sites().end());
  return result;
}

std::string Result::Numbers() const {
  return std::to_string(executions) + " executions (" + std::to_string(different.size()) + " different, " +
         std::to_string(abandoned) + " abandoned), " + std::to_string(states) + " states, " +
         std::to_string(choices) + " with a choice, at most " + std::to_string(longest) + " operations" +
         (exhausted ? ", all there are" : ", not all");
}

std::string Result::Findings() const {
  if (failures == 0) return "nothing found; " + Numbers() + "\n";
  return "found in execution " + std::to_string(first_failure) + "; in " + std::to_string(failures) + " of " +
         Numbers() + "; the shortest, " + std::to_string(shortest_length) + " operations:\n" + shortest;
}

}  // namespace ferret::explorer
