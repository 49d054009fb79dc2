// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/exporter_queue.h"

#include <algorithm>
#include <utility>

namespace ferret {

void ExporterQueue::Push(std::shared_ptr<const EventBatch> batch) {
  const size_t bytes = batch->bytes();
  if (bytes > max_bytes_ - held_bytes_) {
    Drop(*batch);
    return;
  }
  last_sequence_ = std::max(last_sequence_, batch->sequence);
  held_bytes_ += bytes;
  counts_.pushed += batch->count();
  counts_.waiting += batch->count();
  entries_.push_back({std::move(batch), TakeMissedThreads(), nullptr});
}

void ExporterQueue::Drop(const EventBatch& batch) {
  last_sequence_ = std::max(last_sequence_, batch.sequence);
  counts_.pushed += batch.count();
  CountLost(&ExporterCounts::dropped, batch.count(), batch.links.size());
  KeepThreads(batch.threads);
}

void ExporterQueue::Fail(const EventBatch& batch) {
  last_sequence_ = std::max(last_sequence_, batch.sequence);
  counts_.pushed += batch.count();
  CountLost(&ExporterCounts::failed, batch.count(), batch.links.size());
}

uint64_t ExporterQueue::Settled() const {
  if (in_flight_.present) return in_flight_.sequence - 1;
  for (const Entry& entry : entries_) {
    if (entry.batch != nullptr) return entry.batch->sequence - 1;
  }
  return last_sequence_;
}

void ExporterQueue::PushFlush(std::shared_ptr<FlushRequest> request) {
  entries_.push_back({nullptr, {}, std::move(request)});
}

ExporterQueue::Entry ExporterQueue::Take() {
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  if (entry.batch != nullptr) {
    in_flight_ = {true, entry.batch->sequence, entry.batch->count(), entry.batch->links.size(), entry.batch->bytes()};
  }
  return entry;
}

void ExporterQueue::Finish(bool exported) {
  if (!exported) {
    FailInFlight();
    return;
  }
  counts_.waiting -= in_flight_.count;
  counts_.exported += in_flight_.count;
  if (in_flight_.sequence > fresh_after_) counts_.fresh += in_flight_.count;
  held_bytes_ -= in_flight_.bytes;
  in_flight_ = {};
}

void ExporterQueue::TakeBack(uint64_t count) {
  count = std::min(count, counts_.exported);
  counts_.exported -= count;
  counts_.fresh -= std::min(count, counts_.fresh);
  counts_.failed += count;
}

std::vector<ThreadInfo> ExporterQueue::TakeMissedThreads() { return std::exchange(missed_threads_, {}); }

std::deque<ExporterQueue::Entry> ExporterQueue::DropWaiting(const absl::Status& status) {
  return LoseWaiting(&ExporterCounts::dropped, status);
}

std::deque<ExporterQueue::Entry> ExporterQueue::FailAll(const absl::Status& status) {
  FailInFlight();
  return LoseWaiting(&ExporterCounts::failed, status);
}

std::deque<ExporterQueue::Entry> ExporterQueue::AbandonAll(const absl::Status& status) {
  FailInFlight();
  return LoseWaiting(&ExporterCounts::dropped, status);
}

void ExporterQueue::CountLost(uint64_t ExporterCounts::*reason, uint64_t count, uint64_t links) {
  counts_.*reason += count;
  counts_.links_lost += links;
}

void ExporterQueue::KeepThreads(const std::vector<ThreadInfo>& threads) {
  const size_t kept = std::min(threads.size(), kMaxMissedThreads - missed_threads_.size());
  missed_threads_.insert(missed_threads_.end(), threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(kept));
  counts_.thread_notices_lost += threads.size() - kept;
}

void ExporterQueue::FailInFlight() {
  if (!in_flight_.present) return;
  counts_.waiting -= in_flight_.count;
  CountLost(&ExporterCounts::failed, in_flight_.count, in_flight_.links);
  held_bytes_ -= in_flight_.bytes;
  in_flight_ = {};
}

std::deque<ExporterQueue::Entry> ExporterQueue::LoseWaiting(uint64_t ExporterCounts::*reason,
                                                            const absl::Status& status) {
  // The notices already attached to a batch come first again: they are older than those of the batch itself.
  const std::vector<ThreadInfo> latest = TakeMissedThreads();
  for (const Entry& entry : entries_) {
    if (entry.flush != nullptr) {
      entry.flush->status = status;
      entry.flush->done = true;
      continue;
    }
    held_bytes_ -= entry.batch->bytes();
    counts_.waiting -= entry.batch->count();
    CountLost(reason, entry.batch->count(), entry.batch->links.size());
    KeepThreads(entry.missed_threads);
    KeepThreads(entry.batch->threads);
  }
  KeepThreads(latest);
  return std::exchange(entries_, {});
}

}  // namespace ferret
