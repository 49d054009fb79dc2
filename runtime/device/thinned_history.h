// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ThinnedHistory: what happened lately, all of it, and of what happened before, evenly, as much as there is room for.
//
//     first |  .   .   .   .   .   .   .   .   . . . . . . . .| last
//              every n-th of the older ones       recent ones
//
// When there are too many, n doubles.

#ifndef FERRET_RUNTIME_DEVICE_THINNED_HISTORY_H_
#define FERRET_RUNTIME_DEVICE_THINNED_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <deque>

namespace ferret::internal {

template <typename T>
class ThinnedHistory {
 public:
  static constexpr size_t kRecent = 64;

  explicit ThinnedHistory(size_t most) : most_(most) {}

  // `removed` is called with each that has to go.
  template <typename Removed>
  void Add(const T& entry, Removed removed) {
    entries_.push_back(entry);
    numbers_.push_back(next_number_++);
    if (entries_.size() <= kRecent) return;
    Consider(entries_.size() - 1 - kRecent, removed);
    if (entries_.size() <= most_) return;
    stride_ *= 2;
    for (size_t i = entries_.size() - kRecent; i-- > 0;) Consider(i, removed);
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  const T& back() const { return entries_.back(); }
  const T& operator[](size_t i) const { return entries_[i]; }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  template <typename Removed>
  void Consider(size_t i, Removed& removed) {
    if (numbers_[i] % stride_ == 0) return;
    removed(entries_[i]);
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
    numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(i));
  }

  const size_t most_;
  std::deque<T> entries_;
  std::deque<uint64_t> numbers_;  // how many came before
  uint64_t next_number_ = 0;
  uint64_t stride_ = 1;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DEVICE_THINNED_HISTORY_H_
