// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/linker.h"

#include <algorithm>

namespace ferret::internal {

void LinkQueue::DropConsumed() {
  // Wholly consumed, the usual case, or so far that moving the rest costs less than what was consumed.
  if (next_ * 2 >= candidates_.size()) {
    candidates_.erase(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(next_));
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(next_waiting_));
    next_ = next_waiting_ = 0;
  }
}

bool Linker::Later(const LinkQueue* a, const LinkQueue* b) {
  const int64_t end_a = a->head_end_ns();
  const int64_t end_b = b->head_end_ns();
  return end_a != end_b ? end_a > end_b : a->order_ > b->order_;
}

void Linker::Add(LinkQueue& queue, const LinkQueue::Candidate& candidate) {
  queue.candidates_.push_back(candidate);
  if (!queue.in_heap_) {
    queue.in_heap_ = true;
    heap_.push_back(&queue);
    std::push_heap(heap_.begin(), heap_.end(), Later);
  }
}

void Linker::AddForward(LinkQueue& queue, const LinkKey& key, int64_t end_ns, const OpenForward& op) {
  Add(queue, {key, end_ns, op, false, false});
}

void Linker::AddBackward(LinkQueue& queue, const LinkKey& key, const WaitingOp& op, bool is_wrapper) {
  queue.waiting_.push_back(op);
  Add(queue, {key, op.event.end_ns, {}, true, is_wrapper});
  if (++waiting_ > max_waiting_) {
    Hurry();
  }
}

void Linker::Advance(int64_t watermark_ns) {
  horizon_ns_ = INT64_MIN;
  while (!heap_.empty()) {
    LinkQueue& queue = *heap_.front();
    if (queue.candidates_[queue.next_].end_ns >= watermark_ns) return;
    std::pop_heap(heap_.begin(), heap_.end(), Later);
    heap_.pop_back();
    // A run of ops of one thread needs no heap operation each.
    do {
      Process(queue);
    } while (!queue.empty() && queue.candidates_[queue.next_].end_ns < watermark_ns &&
             (heap_.empty() || !Later(&queue, heap_.front())));
    queue.DropConsumed();
    if (queue.empty()) {
      queue.in_heap_ = false;
    } else {
      heap_.push_back(&queue);
      std::push_heap(heap_.begin(), heap_.end(), Later);
    }
  }
}

void Linker::Process(LinkQueue& queue) {
  const LinkQueue::Candidate& candidate = queue.candidates_[queue.next_++];
  if (!candidate.is_backward) {
    table_.Insert(candidate.key, candidate.forward);
    return;
  }
  --waiting_;
  sink_->OnBackward(candidate.key, candidate.is_wrapper, queue.waiting_[queue.next_waiting_++]);
}

}  // namespace ferret::internal
