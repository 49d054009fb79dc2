// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ObserverList: functions that are told when something goes on and off, in the order in which they were added. One that
// is added while it is on hears of it at once. Any thread; calls happen under the list's lock.

#ifndef FERRET_RUNTIME_SESSION_OBSERVER_LIST_H_
#define FERRET_RUNTIME_SESSION_OBSERVER_LIST_H_

#include <cstddef>
#include <mutex>
#include <new>

namespace ferret {

class ObserverList {
 public:
  static constexpr size_t kMax = 16;
  using Observer = void (*)(bool on);

  // False when there are too many.
  bool Add(Observer observer) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (count_ == kMax) return false;
    observers_[count_++] = observer;
    if (on_) observer(true);
    return true;
  }

  void Set(bool on) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (on == on_) return;
    on_ = on;
    for (size_t i = 0; i < count_; ++i) observers_[i](on);
  }

  // Another thread may have held the lock: it does not exist here. Nothing is on in a child yet, and nobody is told.
  void AfterForkInChild() {
    new (&mutex_) std::mutex;
    on_ = false;
  }

 private:
  std::mutex mutex_;
  Observer observers_[kMax] = {};
  size_t count_ = 0;
  bool on_ = false;
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_OBSERVER_LIST_H_
