// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// LinkTable: forward ops that wait for their backward op, by (thread, sequence number). Bounded.
//
// The newest ops stand in a direct-mapped front, where consecutive numbers of a thread are neighbours and a backward
// pass, which runs through them from the last to the first, finds each with one access, next to the one before. It
// starts small, so that it stays in the cache, and doubles when it is half full and a newer op would displace another one,
// up to `capacity`. What is displaced beyond that, or by another thread, moves into hash maps behind it.
//
// A program that runs forward with gradients on and never calls backward would fill any table. The hash maps are two
// generations: when the younger is full, the older is dropped as a whole (its entries counted as evicted) and they
// change places. So at least the `capacity` newest keys are always there, at most three times as many, or twice as many and
// the smallest front. Memory that it has grown to is kept.

#ifndef FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
#define FERRET_RUNTIME_DRAIN_LINK_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

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
  int64_t id = 0;  // never 0 of an op
  int32_t os_tid = 0;
};

class LinkTable {
 public:
  explicit LinkTable(size_t capacity) : capacity_(std::max<size_t>(capacity, 1)), front_(kFirstSlots) {}

  // Of several forward ops with one key, the one that started last stays: nested ops share a number, and the innermost
  // made the autograd node. They are of one thread, whose ids are in the order of the begins, also within one tick.
  void Insert(const LinkKey& key, const OpenForward& op) {
    Slot& slot = SlotOf(key);
    if (__builtin_expect(!slot.used() && young_.empty() && old_.empty(), 1)) {
      Fill(&slot, key, op);
    } else {
      InsertAmongOthers(slot, key, op);
    }
  }

  // Finds and forgets: one arrow for each forward op.
  bool Take(const LinkKey& key, OpenForward* op) {
    Slot& slot = SlotOf(key);
    if (slot.used() && slot.key == key) {
      *op = slot.op;
      Empty(&slot);
      return true;
    }
    return TakeFrom(young_, key, op) || TakeFrom(old_, key, op);
  }

  uint64_t evicted() const { return evicted_; }
  size_t size() const { return in_front_ + young_.size() + old_.size(); }
  size_t front_slots() const { return front_.size(); }

  static constexpr size_t kFirstSlots = 8192;  // a power of two

 private:
  using Map = absl::flat_hash_map<LinkKey, OpenForward>;

  struct Slot {
    LinkKey key;
    OpenForward op;
    bool used() const { return op.id != 0; }
  };

  void Fill(Slot* slot, const LinkKey& key, const OpenForward& op) {
    slot->key = key;
    slot->op = op;
    ++in_front_;
  }

  void Empty(Slot* slot) {
    slot->op.id = 0;
    --in_front_;
  }

  void InsertAmongOthers(Slot& slot, const LinkKey& key, const OpenForward& op) {
    if (slot.used()) {
      if (slot.key == key) {
        if (op.id > slot.op.id) slot.op = op;
        return;
      }
      if (2 * front_.size() <= capacity_ && in_front_ >= front_.size() / 2) {
        Grow();
        Insert(key, op);
        return;
      }
      if (InsertIfKnownBehind(key, op)) return;
      MoveBehind(slot);
    } else if (InsertIfKnownBehind(key, op)) {
      return;
    }
    Fill(&slot, key, op);
  }

  Slot& SlotOf(const LinkKey& key) {
    // Threads start at places far apart, numbers of a thread are neighbours.
    const uint64_t place = static_cast<uint64_t>(key.sequence_nr) + key.thread * 0x9e3779b97f4a7c15;
    return front_[place & (front_.size() - 1)];
  }

  // What had a slot of its own has one again.
  void Grow() {
    std::vector<Slot> smaller(2 * front_.size());
    smaller.swap(front_);
    for (const Slot& slot : smaller) {
      if (slot.used()) SlotOf(slot.key) = slot;
    }
  }

  // A key is in one place only. One that is used again is new again: it must not go with the older generation.
  bool InsertIfKnownBehind(const LinkKey& key, const OpenForward& op) {
    if (auto it = young_.find(key); it != young_.end()) {
      if (op.id > it->second.id) it->second = op;
      return true;
    }
    if (old_.empty()) return false;
    auto it = old_.find(key);
    if (it == old_.end()) return false;
    if (op.id < it->second.id) return true;
    old_.erase(it);
    return false;
  }

  void MoveBehind(Slot& slot) {
    if (young_.size() >= capacity_) {
      evicted_ += old_.size();
      old_.clear();
      std::swap(old_, young_);
    }
    young_.emplace(slot.key, slot.op);
    Empty(&slot);
  }

  static bool TakeFrom(Map& map, const LinkKey& key, OpenForward* op) {
    if (map.empty()) return false;
    auto it = map.find(key);
    if (it == map.end()) return false;
    *op = it->second;
    map.erase(it);
    return true;
  }

  const size_t capacity_;
  std::vector<Slot> front_;
  size_t in_front_ = 0;
  Map young_;
  Map old_;
  uint64_t evicted_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
