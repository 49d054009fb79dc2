// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// LinkTable: forward ops that wait for their backward op, by (thread, sequence number). Bounded.
//
// A program that runs forward with gradients on and never calls backward would fill any table. Two generations hold
// the newest entries: when the younger is full, the older is dropped as a whole (its entries counted as evicted) and
// they change places. So at least the `capacity` newest keys are always there, at most twice as many.

#ifndef FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
#define FERRET_RUNTIME_DRAIN_LINK_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace ferret::internal {

struct LinkKey {
  // Ferret's and a framework's thread ids are different spaces: a number of one never meets the same number of the
  // other.
  uint64_t thread = 0;  // id, and the space in bit 32
  int64_t sequence_nr = 0;

  friend bool operator==(const LinkKey& a, const LinkKey& b) {
    return a.thread == b.thread && a.sequence_nr == b.sequence_nr;
  }
  template <typename H>
  friend H AbslHashValue(H state, const LinkKey& key) {
    return H::combine(std::move(state), key.thread, key.sequence_nr);
  }
};

constexpr uint64_t LinkThread(uint32_t thread, bool framework_ids) {
  return thread | static_cast<uint64_t>(framework_ids) << 32;
}

struct OpenForward {
  int64_t start_ns = 0;
  int64_t id = 0;
  int32_t os_tid = 0;
};

class LinkTable {
 public:
  explicit LinkTable(size_t capacity) : capacity_(capacity < 1 ? 1 : capacity) {}

  // Of several forward ops with one key, the one that started last stays: nested ops share a number, and the innermost
  // made the autograd node.
  void Insert(const LinkKey& key, const OpenForward& op) {
    if (auto it = young_.find(key); it != young_.end()) {
      if (op.start_ns >= it->second.start_ns) it->second = op;
      return;
    }
    if (!old_.empty()) {
      if (auto it = old_.find(key); it != old_.end()) {
        if (op.start_ns >= it->second.start_ns) it->second = op;
        return;
      }
    }
    if (young_.size() >= capacity_) {
      evicted_ += old_.size();
      old_.clear();
      std::swap(old_, young_);
    }
    young_.emplace(key, op);
  }

  // Finds and forgets: one arrow for each forward op.
  bool Take(const LinkKey& key, OpenForward* op) { return TakeFrom(young_, key, op) || TakeFrom(old_, key, op); }

  uint64_t evicted() const { return evicted_; }
  size_t size() const { return young_.size() + old_.size(); }

 private:
  using Map = absl::flat_hash_map<LinkKey, OpenForward>;

  static bool TakeFrom(Map& map, const LinkKey& key, OpenForward* op) {
    if (map.empty()) return false;
    auto it = map.find(key);
    if (it == map.end()) return false;
    *op = it->second;
    map.erase(it);
    return true;
  }

  const size_t capacity_;
  Map young_;
  Map old_;
  uint64_t evicted_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
