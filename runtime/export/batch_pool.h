// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// BatchPool: event batches that keep their memory from one use to the next.
//
// Filling fresh memory costs a page fault (11 to 20 us) for every 4 KiB, more than building the 30 events that fit into
// it. So a batch that every exporter has let go of comes back with its capacity, and the latest one is handed out
// first, while its pages are still in the cache.
//
// Acquire is called by the drain thread; a batch may be released on any thread, even after its pool is gone (an
// abandoned exporter holds on to what it was given).

#ifndef FERRET_RUNTIME_EXPORT_BATCH_POOL_H_
#define FERRET_RUNTIME_EXPORT_BATCH_POOL_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "ferret/event_batch.h"

namespace ferret {

class BatchPool {
 public:
  // At most max_kept unused batches are kept; what comes back beyond that is freed.
  explicit BatchPool(size_t max_kept = 16) : shelf_(std::make_shared<Shelf>(max_kept)) {}

  // An empty batch. Any thread. The last reference to it puts it back.
  std::shared_ptr<EventBatch> Acquire() {
    std::unique_ptr<EventBatch> batch = shelf_->Take();
    if (batch == nullptr) batch = std::make_unique<EventBatch>();
    return {batch.release(), PutBack{shelf_}};
  }

  // How many unused batches are kept now. Any thread.
  size_t kept() const { return shelf_->size(); }

 private:
  // Shared by the pool and by every batch that is out, so that the last of them frees it.
  class Shelf {
   public:
    explicit Shelf(size_t max_kept) : max_kept_(max_kept) { batches_.reserve(max_kept); }

    std::unique_ptr<EventBatch> Take() {
      std::lock_guard<std::mutex> lock(mutex_);
      if (batches_.empty()) return nullptr;
      std::unique_ptr<EventBatch> batch = std::move(batches_.back());
      batches_.pop_back();
      return batch;
    }

    void Put(std::unique_ptr<EventBatch> batch) {
      batch->Clear();  // may free texts: not under the lock
      std::lock_guard<std::mutex> lock(mutex_);
      if (batches_.size() < max_kept_) batches_.push_back(std::move(batch));  // never allocates: reserved above
    }

    size_t size() const {
      std::lock_guard<std::mutex> lock(mutex_);
      return batches_.size();
    }

   private:
    const size_t max_kept_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<EventBatch>> batches_;
  };

  struct PutBack {
    std::shared_ptr<Shelf> shelf;
    void operator()(EventBatch* batch) const { shelf->Put(std::unique_ptr<EventBatch>(batch)); }
  };

  std::shared_ptr<Shelf> shelf_;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_BATCH_POOL_H_
