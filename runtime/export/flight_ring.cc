// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/flight_ring.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"

namespace ferret {
namespace {

// The latest moment in a batch; INT64_MIN if it has none.
int64_t EndOf(const EventBatch& batch) {
  int64_t end_ns = INT64_MIN;
  for (const FunctionEvent& event : batch.events) end_ns = std::max(end_ns, event.end_ns);
  for (const InstantEvent& instant : batch.instants) end_ns = std::max(end_ns, instant.time_ns);
  for (const MemoryEvent& memory : batch.memory) end_ns = std::max(end_ns, memory.time_ns);
  return end_ns;
}

// A batch that was handed over half empty would take the memory of a full one.
template <typename Type>
void GiveBackUnused(std::vector<Type>* values) {
  constexpr size_t kWorthIt = 4096;
  if ((values->capacity() - values->size()) * sizeof(Type) > kWorthIt && values->size() < values->capacity() / 2) {
    values->shrink_to_fit();
  }
}

}  // namespace

void FlightRing::Push(std::shared_ptr<EventBatch> batch) {
  GiveBackUnused(&batch->events);
  GiveBackUnused(&batch->instants);
  GiveBackUnused(&batch->memory);
  GiveBackUnused(&batch->links);
  const size_t bytes = batch->bytes();
  const int64_t end_ns = limits_.last_ns > 0 ? EndOf(*batch) : INT64_MIN;
  std::vector<Batch> gone;  // freed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  latest_ns_ = std::max(latest_ns_, end_ns);
  last_ = batch->sequence;
  counts_.pushed += batch->count();
  counts_.waiting += batch->count();
  bytes_ += bytes;
  // What has no time of its own goes with what came before it.
  const int64_t before_ns = entries_.empty() ? INT64_MIN : entries_.back().end_ns;
  entries_.push_back({std::move(batch), bytes, std::max(end_ns, before_ns)});
  while (!entries_.empty()) {
    const bool too_much = bytes_ > limits_.bytes;
    // Unsigned, since times may be anything.
    const uint64_t age = static_cast<uint64_t>(latest_ns_) - static_cast<uint64_t>(entries_.front().end_ns);
    const bool too_old = limits_.last_ns > 0 && age > static_cast<uint64_t>(limits_.last_ns);
    if (!too_much && !too_old) break;
    DiscardOldest(&gone);
  }
}

void FlightRing::DiscardOldest(std::vector<Batch>* gone) {
  Entry& oldest = entries_.front();
  const EventBatch& batch = *oldest.batch;
  if (batch.sequence > dumped_ && batch.sequence > kept_last_) {
    counts_.waiting -= batch.count();
    counts_.discarded += batch.count();
  }
  settled_ = std::max(settled_, batch.sequence);
  bytes_ -= oldest.bytes;
  KeepNotices(batch);
  gone->push_back(std::move(oldest.batch));
  entries_.pop_front();
}

// Each notice comes once, and is needed for what comes later.
void FlightRing::KeepNotices(const EventBatch& batch) {
  for (const ThreadInfo& info : batch.threads) {
    ThreadInfo& kept = threads_[info.thread];
    const uint32_t previous = info.previous_thread != 0 ? info.previous_thread : kept.previous_thread;
    kept = info;
    kept.previous_thread = previous;
  }
  for (const DeviceInfo& info : batch.devices) devices_[{static_cast<int>(info.type), info.index}] = info;
  for (const StreamInfo& info : batch.streams) streams_[{info.device_index, info.stream}] = info;
  if (threads_.size() > forget_threads_at_) ForgetThreads();
}

// Of a program that makes threads without end: those that have nothing here are forgotten.
void FlightRing::ForgetThreads() {
  absl::flat_hash_set<uint32_t> here;
  for (const Entry& entry : entries_) {
    for (const FunctionEvent& event : entry.batch->events) here.insert(event.thread);
    for (const InstantEvent& instant : entry.batch->instants) here.insert(instant.thread);
  }
  for (auto it = threads_.begin(); it != threads_.end();) {
    const auto thread = it++;
    if (!here.contains(thread->first)) threads_.erase(thread);
  }
  forget_threads_at_ = std::max(kMostThreads, 2 * threads_.size());
}

void FlightRing::Keep() {
  std::vector<Batch> gone;  // freed without the lock
  std::lock_guard<std::mutex> lock(mutex_);
  LetGoOfKept(&gone);
  kept_.reserve(entries_.size());
  for (const Entry& entry : entries_) kept_.push_back(entry.batch);
  if (!kept_.empty()) kept_last_ = last_;
}

void FlightRing::LetGoOfKept(std::vector<Batch>* gone) {
  const uint64_t first_here = entries_.empty() ? UINT64_MAX : entries_.front().batch->sequence;
  for (Batch& batch : kept_) {
    if (batch->sequence > dumped_ && batch->sequence < first_here) {
      counts_.waiting -= batch->count();
      counts_.discarded += batch->count();
    }
    gone->push_back(std::move(batch));
  }
  kept_.clear();
  kept_last_ = 0;
}

FlightRing::Contents FlightRing::Take(uint64_t last) {
  auto notices = std::make_shared<EventBatch>();
  Contents contents;
  std::vector<Batch> gone;  // freed without the lock
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : threads_) notices->threads.push_back(entry.second);
    for (const auto& entry : devices_) notices->devices.push_back(entry.second);
    for (const auto& entry : streams_) notices->streams.push_back(entry.second);
    if (kept_last_ != 0 && kept_last_ == last) {
      contents.batches = std::exchange(kept_, {});
      kept_last_ = 0;
    } else {
      LetGoOfKept(&gone);
      for (const Entry& entry : entries_) {
        if (entry.batch->sequence <= last) contents.batches.push_back(entry.batch);
      }
    }
    contents.fresh_after = dumped_;
    for (const Batch& batch : contents.batches) contents.fresh += batch->sequence > dumped_ ? batch->count() : 0;
    const uint64_t later = counts_.waiting - contents.fresh;
    contents.pushed = counts_.pushed - later;
    counts_.waiting = later;
    counts_.dumped += contents.fresh;
    dumped_ = std::max(dumped_, std::min(last_, last));
  }
  for (const Batch& batch : contents.batches) contents.count += batch->count();
  if (!notices->empty()) contents.notices = std::move(notices);
  return contents;
}

void FlightRing::DiscardAll() {
  std::vector<Batch> gone;
  std::lock_guard<std::mutex> lock(mutex_);
  LetGoOfKept(&gone);
  while (!entries_.empty()) DiscardOldest(&gone);
}

void FlightRing::ReleaseSome() {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto kept = std::partition_point(entries_.begin(), entries_.end(), [this](const Entry& entry) {
    return entry.batch->sequence <= settled_;
  });
  if (kept == entries_.end()) return;
  const auto quarter = (entries_.end() - kept + 3) / 4;
  settled_ = std::max(settled_, kept[quarter - 1].batch->sequence);
}

uint64_t FlightRing::settled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return settled_;
}

FlightRing::Counts FlightRing::counts() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

size_t FlightRing::bytes() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return bytes_;
}

size_t FlightRing::batches() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

}  // namespace ferret
