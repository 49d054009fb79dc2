// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/device/cuda/cuda_context.h"

#include <algorithm>

namespace ferret::internal {
namespace {

constexpr uint32_t kFirstPairs = 512;
constexpr uint32_t kMorePairs = 1024;
// Of those that were given up: so many are looked after at a time.
constexpr size_t kMostLooks = 16;
// After the driver refused to make an event.
constexpr int kPauseRounds = 100;

// For streams that the driver gives no number: of all contexts, and beyond those that a driver may give.
std::atomic<int32_t> g_next_number{1 << 20};

}  // namespace

uint32_t CudaContext::PlaceOf(uint64_t key, int32_t number, const std::string& name) {
  std::lock_guard<std::mutex> lock(streams_mutex_);
  const uint32_t next = static_cast<uint32_t>(streams_.size());
  // All that come later share the last place.
  if (next >= kMostStreams) return kMostStreams - 1;
  // Keys are addresses, with some low bits set: beyond all numbers.
  const auto [place, is_new] = places_.try_emplace(number != 0 ? static_cast<uint64_t>(number) : key, next);
  if (is_new) streams_.push_back({number != 0 ? number : g_next_number.fetch_add(1, std::memory_order_relaxed), name});
  return place->second;
}

StreamInfo CudaContext::Stream(uint32_t place) const {
  std::lock_guard<std::mutex> lock(streams_mutex_);
  StreamInfo info;
  info.device_index = static_cast<int16_t>(identity_.device);
  if (place >= streams_.size()) return info;
  info.stream = streams_[place].number;
  info.name = streams_[place].name;
  return info;
}

bool CudaContext::CreateEvent(MarkId mark) {
  if (stopped_->load()) return false;
  CuEvent event = nullptr;
  const int result = driver_->event_create(&event, kCuEventDefault);
  if (result == kCuSuccess) {
    events_[mark] = event;
    return true;
  }
  if (IsTerminal(result)) Lose();
  // Without memory, go on with those that are there, and try again in a while.
  pause_ = kPauseRounds;
  return false;
}

bool CudaContext::CreatePairs(uint32_t count) {
  const uint32_t first = created();
  const uint32_t end = std::min(first + count, kMostPairs);
  uint32_t pair = first;
  for (; pair < end && CreateEvent(2 * pair) && CreateEvent(2 * pair + 1); ++pair) free_.enqueue(pair);
  // Afterwards, and release, acquired in HasPairs: who sees that there are pairs finds all of the first ones.
  created_.store(pair, std::memory_order_release);
  return created() != first;
}

// Whether the pair, which was given up, is free again.
bool CudaContext::TakeBack(uint32_t pair) {
  for (MarkId mark : {2 * pair, 2 * pair + 1}) {
    if (stopped_->load()) return false;
    const int result = driver_->event_query(events_[mark]);
    if (result == kCuNotReady) return false;
    if (result == kCuSuccess) continue;
    if (IsTerminal(result)) {
      Lose();
      return false;
    }
    // An event that went into a graph, for one, will never be of use again, and is not safe to destroy.
    if (!CreateEvent(mark)) return false;
  }
  free_.enqueue(pair);
  return true;
}

bool CudaContext::Maintain() {
  bool worked = false;
  for (uint32_t pair; given_up_.try_dequeue(pair);) waiting_.push_back(pair);
  for (size_t looks = std::min(waiting_.size(), kMostLooks); looks > 0 && !lost(); --looks) {
    const uint32_t pair = waiting_.front();
    waiting_.pop_front();
    if (TakeBack(pair)) {
      worked = true;
    } else {
      waiting_.push_back(pair);
    }
  }
  if (pause_ > 0) --pause_;
  if (!lost() && pause_ == 0 && created() < kMostPairs && (!HasPairs() || RunsLow())) {
    worked |= CreatePairs(HasPairs() ? kMorePairs : kFirstPairs);
  }
  return worked;
}

bool CudaContext::PutAnchor(MarkId* mark) {
  if (stopped_->load()) return false;
  if (anchor_stream_ == nullptr) {
    int least = 0;
    int greatest = 0;
    // The highest priority, where there are any: an anchor is not to wait behind the program's work.
    if (driver_->ctx_get_stream_priority_range != nullptr) driver_->ctx_get_stream_priority_range(&least, &greatest);
    const int result = driver_->stream_create_with_priority(&anchor_stream_, kCuStreamNonBlocking, greatest);
    if (IsTerminal(result)) Lose();
    if (result != kCuSuccess) {
      anchor_stream_ = nullptr;
      return false;
    }
  }
  if (free_anchors_.empty()) {
    if (created_anchors_ == kMostAnchors) return false;
    const MarkId made = 2 * kMostPairs + created_anchors_;
    if (!CreateEvent(made)) return false;
    ++created_anchors_;
    free_anchors_.push_back(made);
  }
  *mark = free_anchors_.back();
  const int result = driver_->event_record(events_[*mark], anchor_stream_);
  if (IsTerminal(result)) Lose();
  if (result != kCuSuccess) return false;
  free_anchors_.pop_back();
  return true;
}

}  // namespace ferret::internal
