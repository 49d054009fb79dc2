// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// LinkTable: forward ops that wait for their backward op, by (thread, sequence number). Bounded.
//
// The newest ops stand in a direct-mapped front, where consecutive numbers of a thread are neighbours and a backward
// pass, which runs through them from the last to the first, finds each with one access, next to the one before. It
// starts small, so that it stays in the cache, and doubles when it is half full and a newer op would displace another one,
// until it has at least `capacity` slots. What is displaced moves into hash maps behind it. Numbers grow, so a key that is
// newer than all that were displaced is not looked for there: the maps may be large, and then each look is a cache miss.
//
// A program that runs forward with gradients on and never calls backward would fill any table. An op that is displaced by
// one of its own thread that is `capacity` numbers younger, while the front is half full or more, is dropped, and counted
// as evicted: without that each op would move another one into a map for ever. The hash maps are two generations: when the
// younger is full, the older is dropped as a whole (its entries counted as evicted) and they change places. So of a
// thread's last `capacity` numbers those are always there that are among the `capacity` newest keys; behind the front
// there are at most twice as many. Memory that it has grown to is kept.

#ifndef FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
#define FERRET_RUNTIME_DRAIN_LINK_TABLE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ferret/internal/hot_path.h"

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
  explicit LinkTable(size_t capacity)
      : capacity_(std::max<size_t>(capacity, 1)), front_(kFirstSlots), mask_(kFirstSlots - 1) {
    newest_behind_.fill(INT64_MIN);
  }

  // Of several forward ops with one key, the one that started last stays: nested ops share a number, and the innermost
  // made the autograd node. They are of one thread, whose ids are in the order of the begins, also within one tick.
  FERRET_INLINE void Insert(LinkKey key, OpenForward op) {
    Slot& slot = SlotOf(key);
    if (FERRET_LIKELY(!slot.used() && !MayBeBehind(key))) {
      Fill(&slot, key, op);
    } else {
      // Copies, so that only they need an address and the originals can stay in registers.
      const LinkKey slow_key{key.thread, key.sequence_nr};
      const OpenForward slow_op{op.start_ns, op.id, op.os_tid};
      InsertAmongOthers(slot, slow_key, slow_op);
    }
  }

  // Finds, hands to `use` and forgets: one arrow for each forward op.
  template <typename Use>
  FERRET_INLINE bool Take(LinkKey key, Use use) {
    Slot& slot = SlotOf(key);
    if (FERRET_LIKELY(slot.used() && slot.key == key)) {
      use(slot.op);
      Empty(&slot);
      return true;
    }
    if (FERRET_LIKELY(!MayBeBehind(key))) return false;
    OpenForward op;
    if (!TakeFromBehind(key, &op)) return false;
    use(op);
    return true;
  }

  bool Take(const LinkKey& key, OpenForward* op) {
    return Take(key, [op](const OpenForward& found) { *op = found; });
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
    // One by one: what the compiler copied in pairs would wait until both were stored.
    slot->key.thread = key.thread;
    slot->key.sequence_nr = key.sequence_nr;
    slot->op.start_ns = op.start_ns;
    slot->op.id = op.id;
    slot->op.os_tid = op.os_tid;
    ++in_front_;
  }

  void Empty(Slot* slot) {
    slot->op.id = 0;
    --in_front_;
  }

  [[gnu::noinline]] void InsertAmongOthers(Slot& slot, const LinkKey& key, const OpenForward& op) {
    if (slot.used()) {
      if (slot.key == key) {
        if (op.id > slot.op.id) slot.op = op;
        return;
      }
      if (front_.size() < capacity_ && in_front_ >= front_.size() / 2) {
        Grow();
        Insert(key, op);
        return;
      }
      if (InsertIfKnownBehind(key, op)) return;
      MakeRoom(slot, key);
    } else if (InsertIfKnownBehind(key, op)) {
      return;
    }
    Fill(&slot, key, op);
  }

  Slot& SlotOf(const LinkKey& key) {
    // Threads start at places far apart, numbers of a thread are neighbours.
    const uint64_t place = static_cast<uint64_t>(key.sequence_nr) + key.thread * 0x9e3779b97f4a7c15;
    return front_[place & mask_];
  }

  // What had a slot of its own has one again.
  void Grow() {
    std::vector<Slot> smaller(2 * front_.size());
    smaller.swap(front_);
    mask_ = front_.size() - 1;
    for (const Slot& slot : smaller) {
      if (slot.used()) SlotOf(slot.key) = slot;
    }
  }

  // False: it is not. The maps are looked through only where this says true.
  bool MayBeBehind(const LinkKey& key) const { return key.sequence_nr <= newest_behind_[key.thread % kThreadGroups]; }

  // A key is in one place only. One that is used again is new again: it must not go with the older generation.
  bool InsertIfKnownBehind(const LinkKey& key, const OpenForward& op) {
    if (!MayBeBehind(key)) return false;
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

  void MakeRoom(Slot& slot, const LinkKey& newer) {
    const auto distance = static_cast<uint64_t>(newer.sequence_nr) - static_cast<uint64_t>(slot.key.sequence_nr);
    const bool crowded = in_front_ >= front_.size() / 2;
    if (crowded && newer.thread == slot.key.thread && newer.sequence_nr > slot.key.sequence_nr && distance >= capacity_) {
      ++evicted_;
      Empty(&slot);
    } else {
      MoveBehind(slot);
    }
  }

  void MoveBehind(Slot& slot) {
    if (young_.size() >= capacity_) {
      evicted_ += old_.size();
      old_.clear();
      std::swap(old_, young_);
    }
    young_.emplace(slot.key, slot.op);
    int64_t& newest = newest_behind_[slot.key.thread % kThreadGroups];
    newest = std::max(newest, slot.key.sequence_nr);
    Empty(&slot);
  }

  [[gnu::noinline]] bool TakeFromBehind(LinkKey key, OpenForward* op) {
    return TakeFrom(young_, key, op) || TakeFrom(old_, key, op);
  }

  static bool TakeFrom(Map& map, const LinkKey& key, OpenForward* op) {
    if (map.empty()) return false;
    auto it = map.find(key);
    if (it == map.end()) return false;
    *op = it->second;
    map.erase(it);
    return true;
  }

  static constexpr size_t kThreadGroups = 64;

  const size_t capacity_;
  std::vector<Slot> front_;
  size_t mask_;  // of front_
  size_t in_front_ = 0;
  Map young_;
  Map old_;
  // The largest number that ever went there, of the threads whose id has this remainder.
  std::array<int64_t, kThreadGroups> newest_behind_;
  uint64_t evicted_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_LINK_TABLE_H_
