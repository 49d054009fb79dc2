// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchProgress: up to which batch everything is decided, delivered or on disk or lost, while spans of batches wait for
// their step and requests for the receiver.
//
//     batch ─► spans wait for their step ─► request 1, 2, 3, … ─► pushed to the delivery as number n ─► decided
//
// One thread.

#ifndef FERRET_EXPORTERS_OTLP_BATCH_PROGRESS_H_
#define FERRET_EXPORTERS_OTLP_BATCH_PROGRESS_H_

#include <cstdint>
#include <deque>

namespace ferret::otlp {

class BatchProgress {
 public:
  // The next request was pushed to the delivery. Numbers grow.
  void Pushed(uint64_t number) {
    pushed_ = number;
    if (marks_.empty() || !marks_.back().open) return;
    marks_.back().open = false;
    marks_.back().number = number;
  }

  // Nothing of the batches up to this one waits for a step. `in_request`: the latest of it is in a request that is still to
  // be pushed.
  void Through(uint64_t batch, bool in_request) {
    if (batch <= through_) return;
    through_ = batch;
    // One open mark does for all.
    if (in_request && !marks_.empty() && marks_.back().open) {
      marks_.back().batch = batch;
    } else {
      marks_.push_back({batch, pushed_, in_request});
    }
  }

  // `is_undecided(number)`: whether of the requests up to that number one is not decided.
  template <typename IsUndecided>
  uint64_t Settled(const IsUndecided& is_undecided) {
    while (!marks_.empty() && !marks_.front().open && !is_undecided(marks_.front().number)) {
      settled_ = marks_.front().batch;
      marks_.pop_front();
    }
    return settled_;
  }

  bool waits() const { return !marks_.empty(); }

 private:
  struct Mark {
    uint64_t batch;
    uint64_t number;  // of the last request that has something of it
    bool open;        // that request was not pushed yet
  };

  std::deque<Mark> marks_;  // batches and numbers grow; the open one is the last
  uint64_t pushed_ = 0;
  uint64_t through_ = 0;
  uint64_t settled_ = 0;
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_BATCH_PROGRESS_H_
