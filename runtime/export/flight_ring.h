// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FlightRing: the latest batches of a flight recorder, within a bound on memory and one on time.
//
//     drain ──Push──► [oldest … latest] ──Keep─► ──Take──► a dump, any number of times
//                        └► discarded, counted
//
// Keep is for a moment that the drain knows: until the dump's thread comes for it, at full speed the ring may have come
// round.
//
// Batches are kept as they come, and nothing is copied: a dump shares them. What is kept may be older than the bound on
// time by the events of one batch, and is never more than the bound on memory. What exporters are told once (threads,
// devices, streams) outlives the batch it came with.
//
// Push, Keep and ReleaseSome: the drain thread. The rest: any thread. No call waits but for another one's few microseconds.

#ifndef FERRET_RUNTIME_EXPORT_FLIGHT_RING_H_
#define FERRET_RUNTIME_EXPORT_FLIGHT_RING_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ferret/event_batch.h"

namespace ferret {

class FlightRing {
 public:
  struct Limits {
    size_t bytes = 0;     // of EventBatch::bytes()
    int64_t last_ns = 0;  // from the latest end of an event back to the latest one of a batch; 0: no bound
  };

  // In scopes, instants and counters of the program, as EventBatch::count(). At every moment
  //
  //     pushed = dumped + discarded + waiting
  //
  // where what is in several dumps counts once.
  struct Counts {
    uint64_t pushed = 0;
    uint64_t dumped = 0;     // given to a dump
    uint64_t discarded = 0;  // left without having been in one
    uint64_t waiting = 0;    // in the ring, and not yet in a dump
  };

  // What a dump gets.
  struct Contents {
    // What was said of threads, devices and streams in batches that are gone; null if nothing was.
    std::shared_ptr<const EventBatch> notices;
    std::vector<std::shared_ptr<const EventBatch>> batches;  // oldest first
    uint64_t fresh_after = 0;  // batches with a higher sequence are in a dump for the first time
    uint64_t fresh = 0;        // what they count
    uint64_t count = 0;        // what all of them count
    uint64_t pushed = 0;       // of the session, up to the last of them
  };

  explicit FlightRing(const Limits& limits) : limits_(limits) {}

  // A batch with the next sequence number. Nobody else may change it any more.
  void Push(std::shared_ptr<EventBatch> batch);
  // What is here now is what Take gives for the latest batch, whatever is pushed until then. Once: the next Keep, or another
  // Take, lets go of it.
  void Keep();
  // Without what came after the batch with that sequence: it is left to the next one.
  Contents Take(uint64_t last = UINT64_MAX);
  // The session is over: what no dump has is discarded.
  void DiscardAll();

  // With a crash file. The sequence of the latest batch which, as all before it, need not survive a kill any more: it has
  // left the ring, or the memory that it was recorded in is needed.
  uint64_t settled() const;
  // Makes that a quarter of what is left.
  void ReleaseSome();

  Counts counts() const;
  size_t bytes() const;
  size_t batches() const;

 private:
  using Batch = std::shared_ptr<const EventBatch>;
  struct Entry {
    Batch batch;
    size_t bytes;
    int64_t end_ns;  // latest of its events
  };

  void DiscardOldest(std::vector<Batch>* gone);
  void LetGoOfKept(std::vector<Batch>* gone);
  void KeepNotices(const EventBatch& batch);
  void ForgetThreads();

  const Limits limits_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  size_t bytes_ = 0;
  int64_t latest_ns_ = INT64_MIN;
  uint64_t last_ = 0;     // sequence of the latest batch
  uint64_t dumped_ = 0;   // sequence up to which a dump had everything that was there
  uint64_t settled_ = 0;
  std::vector<Batch> kept_;  // those of them that are not in the ring any more still wait
  uint64_t kept_last_ = 0;   // sequence of the latest one
  Counts counts_;

  // Of batches that are gone.
  absl::flat_hash_map<uint32_t, ThreadInfo> threads_;
  size_t forget_threads_at_ = kMostThreads;
  std::map<std::pair<int, int>, DeviceInfo> devices_;
  std::map<std::pair<int, int>, StreamInfo> streams_;

  static constexpr size_t kMostThreads = 65'536;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FLIGHT_RING_H_
