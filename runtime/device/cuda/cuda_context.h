// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CudaContext: the events of one CUDA context, and its streams.
//
//     device thread: creates ─► [free pairs] ─► recording thread: marks its stream ─► device thread: reads, returns
//                                    ▲                                                      │
//                                    └── given up: back when the device has passed them ◄───┘
//
// Events are made by the device thread only, and never destroyed: destroying is what hangs in the field, and at the end
// of the process there may be no driver left. An event is recorded again only after its time was read, or after nobody
// wants it any more.

#ifndef FERRET_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_
#define FERRET_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "concurrentqueue/concurrentqueue.h"
#include "ferret/event_batch.h"
#include "runtime/device/cuda/driver_table.h"
#include "runtime/device/device_timer.h"

namespace ferret::internal {

class CudaContext {
 public:
  static constexpr uint32_t kMostPairs = 4096;
  static constexpr uint32_t kMostAnchors = 1024;
  static constexpr uint32_t kMostStreams = 65536;

  struct Identity {
    CuContext handle = nullptr;
    uint64_t id = 0;  // 0: the driver does not tell
    CuDevice device = 0;
  };

  // Once `stopped` is set the driver is not called any more.
  CudaContext(const DriverTable* driver, const std::atomic<bool>* stopped, const Identity& identity)
      : driver_(driver), stopped_(stopped), identity_(identity) {}

  const Identity& identity() const { return identity_; }
  // Nothing is to be asked of it any more. Relaxed: one who is late is told so by the driver.
  bool lost() const { return lost_.load(std::memory_order_relaxed); }
  void Lose() { lost_.store(true, std::memory_order_relaxed); }

  // ---- Any thread.
  // A pair that nobody uses; false if there is none.
  bool Take(uint32_t* pair) { return free_.try_dequeue(*pair); }
  bool RunsLow() const { return free_.size_approx() < created_.load(std::memory_order_relaxed) / 4; }
  bool HasPairs() const { return created_.load(std::memory_order_acquire) != 0; }
  CuEvent event(MarkId mark) const { return events_[mark]; }
  // The pair's marks may be in a stream; nobody is going to ask for them.
  void GiveUp(uint32_t pair) { given_up_.enqueue(pair); }
  // The place of a stream, new or known. `number`: what a trace shows, 0 for the next free one.
  uint32_t PlaceOf(uint64_t key, int32_t number, const std::string& name);
  StreamInfo Stream(uint32_t place) const;

  // ---- Device thread, with the context current and the capture mode relaxed.
  bool NeedsWork() const { return !lost() && (RunsLow() || !HasPairs() || given_up_.size_approx() != 0 || !waiting_.empty()); }
  bool Maintain();
  void Return(uint32_t pair) { free_.enqueue(pair); }
  bool PutAnchor(MarkId* mark);
  void FreeAnchor(MarkId mark) { free_anchors_.push_back(mark); }

  uint32_t created() const { return created_.load(std::memory_order_relaxed); }
  size_t free_pairs() const { return free_.size_approx(); }

 private:
  struct StreamEntry {
    int32_t number;
    std::string name;
  };
  bool CreatePairs(uint32_t count);
  bool CreateEvent(MarkId mark);
  bool TakeBack(uint32_t pair);

  const DriverTable* const driver_;
  const std::atomic<bool>* const stopped_;
  const Identity identity_;
  std::atomic<bool> lost_{false};

  // Written by the device thread before the pair is free for the first time; the queue orders.
  std::array<CuEvent, 2 * kMostPairs + kMostAnchors> events_{};
  std::atomic<uint32_t> created_{0};  // pairs
  moodycamel::ConcurrentQueue<uint32_t> free_;
  moodycamel::ConcurrentQueue<uint32_t> given_up_;

  mutable std::mutex streams_mutex_;  // guards the next two; never held in a call of the driver
  std::vector<StreamEntry> streams_;
  absl::flat_hash_map<uint64_t, uint32_t> places_;  // by number, or by key if the driver gave none

  // Device thread.
  std::deque<uint32_t> waiting_;  // given up, and maybe not passed yet
  std::vector<MarkId> free_anchors_;
  uint32_t created_anchors_ = 0;
  CuStream anchor_stream_ = nullptr;
  int pause_ = 0;  // rounds of Maintain without making events
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_CUDA_CUDA_CONTEXT_H_
