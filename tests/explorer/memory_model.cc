// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/memory_model.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace ferret::explorer {
namespace {

uint64_t ValueAt(const volatile void* address, int bytes) {
  uint64_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= uint64_t{static_cast<const volatile uint8_t*>(address)[i]} << (8 * i);
  return value;
}

}  // namespace

bool IsAcquire(std::memory_order order) {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

bool IsRelease(std::memory_order order) {
  return order == std::memory_order_release || order == std::memory_order_acq_rel || order == std::memory_order_seq_cst;
}

void Clock::Join(const Clock& other) {
  for (int i = 0; i < kMaxThreads; ++i) of[i] = std::max(of[i], other.of[i]);
}

void View::Join(const View& other) {
  for (int i = 0; i < kMaxLocations; ++i) oldest[i] = std::max(oldest[i], other.oldest[i]);
}

void Knowledge::Join(const Knowledge& other) {
  clock.Join(other.clock);
  view.Join(other.view);
}

void MemoryModel::Reset() {
  threads_ = {};
  // What came before all threads is known to all of them; their own first step is number 1.
  for (int i = 0; i < kMaxThreads; ++i) threads_[i].clock.of[i] = 1;
  for (int i = 0; i < kMaxThreads; ++i) threads_[i].clock.of[0] = 1;
  locations_.clear();
  queues_.clear();
  watched_ = nullptr;
  bytes_.clear();
}

int MemoryModel::AddLocation(Location location) {
  if (locations_.size() == kMaxLocations) {
    std::fprintf(stderr, "explorer: more than %d locations\n", kMaxLocations);
    std::abort();
  }
  Store first;
  first.value = ValueAt(location.address, location.bytes);
  location.stores.assign(1, first);
  locations_.push_back(std::move(location));
  return static_cast<int>(locations_.size()) - 1;
}

int MemoryModel::AddQueue(Queue queue) {
  queues_.push_back(std::move(queue));
  return static_cast<int>(queues_.size()) - 1;
}

void MemoryModel::NameQueue(int queue, std::string name, uint32_t producers, uint32_t consumers) {
  Queue& q = queues_[queue];
  q.name = std::move(name);
  q.producers = producers;
  q.consumers = consumers;
}

void MemoryModel::WatchBytes(const void* begin, size_t bytes) {
  watched_ = static_cast<const char*>(begin);
  bytes_.assign(bytes, Byte());
}

int MemoryModel::Find(const volatile void* address) const {
  for (size_t i = 0; i < locations_.size(); ++i) {
    if (locations_[i].address == address) return static_cast<int>(i);
  }
  return kNoPlace;
}

size_t MemoryModel::OldestReadable(int thread, int place, std::memory_order order) const {
  const uint16_t oldest = threads_[thread].view.oldest[place];
  return order == std::memory_order_seq_cst ? std::max(oldest, locations_[place].newest_sequential) : oldest;
}

uint64_t MemoryModel::Read(int thread, int place, size_t store, std::memory_order order) {
  Knowledge& me = threads_[thread];
  const Store& source = locations_[place].stores[store];
  me.view.oldest[place] = std::max(me.view.oldest[place], static_cast<uint16_t>(store));
  if (IsAcquire(order)) me.Join(source.carried);
  return source.value;
}

void MemoryModel::Publish(int thread, int place, Store store, std::memory_order order) {
  Knowledge& me = threads_[thread];
  Location& location = locations_[place];
  const auto newest = static_cast<uint16_t>(location.stores.size());
  me.view.oldest[place] = newest;
  store.thread = thread;
  store.number = me.clock.of[thread];
  store.carried.view.oldest[place] = newest;
  if (IsRelease(order)) store.carried.Join(me);
  if (order == std::memory_order_seq_cst) location.newest_sequential = newest;
  location.stores.push_back(std::move(store));
  ++me.clock.of[thread];  // what follows is not covered by what was handed on
}

void MemoryModel::Write(int thread, int place, uint64_t value, std::memory_order order) {
  Store store;
  store.value = value;
  Publish(thread, place, std::move(store), order);
}

uint64_t MemoryModel::Update(int thread, int place, uint64_t value, std::memory_order order) {
  const size_t newest = locations_[place].stores.size() - 1;
  const uint64_t old = Read(thread, place, newest, order);
  Store store;
  store.value = value;
  store.carried = locations_[place].stores[newest].carried;  // goes on with its release sequence
  Publish(thread, place, std::move(store), order);
  return old;
}

bool MemoryModel::NewestIsKnown(int thread, int place) const {
  const Store& newest = locations_[place].stores.back();
  return threads_[thread].clock.of[newest.thread] >= newest.number;
}

void MemoryModel::Push(int thread, int queue, void* pointer, int place) {
  Item item;
  item.pointer = pointer;
  item.thread = thread;
  item.number = threads_[thread].clock.of[thread]++;
  item.carried_place = place;
  if (place != kNoPlace) item.carried_store = threads_[thread].view.oldest[place];
  queues_[queue].items[thread].push_back(item);
}

size_t MemoryModel::Known(int thread, int queue, int producer) const {
  const Queue& q = queues_[queue];
  size_t count = 0;
  while (count < q.Waiting(producer) &&
         threads_[thread].clock.of[producer] >= q.items[producer][q.taken[producer] + count].number) {
    ++count;
  }
  return count;
}

void* MemoryModel::Pop(int thread, int queue, int producer) {
  Queue& q = queues_[queue];
  const Item& item = q.items[producer][q.taken[producer]++];
  if (item.carried_place != kNoPlace) {
    uint16_t& oldest = threads_[thread].view.oldest[item.carried_place];
    oldest = std::max(oldest, item.carried_store);
  }
  return item.pointer;
}

std::string MemoryModel::AccessBytes(int thread, const volatile void* address, size_t bytes, bool write) {
  const auto* const at = static_cast<const volatile char*>(address);
  if (watched_ == nullptr || at + bytes <= watched_ || at >= watched_ + bytes_.size()) return {};
  const Clock& now = threads_[thread].clock;
  const ptrdiff_t begin = std::max<ptrdiff_t>(at - watched_, 0);
  const ptrdiff_t end = std::min<ptrdiff_t>(at + bytes - watched_, static_cast<ptrdiff_t>(bytes_.size()));
  for (ptrdiff_t i = begin; i < end; ++i) {
    Byte& byte = bytes_[i];
    if (now.of[byte.write_thread] < byte.write_number) {
      return std::string(write ? "two unordered writes" : "a read without an ordered write") + " of byte " +
             std::to_string(i);
    }
    if (write) {
      for (int other = 0; other < kMaxThreads; ++other) {
        if (now.of[other] < byte.reads.of[other]) {
          return "a write while thread " + std::to_string(other) + " may still read byte " + std::to_string(i);
        }
      }
      byte.write_thread = thread;
      byte.write_number = now.of[thread];
    } else {
      byte.reads.of[thread] = now.of[thread];
    }
  }
  return {};
}

void MemoryModel::LearnAll(int thread) {
  Knowledge all;
  for (const Knowledge& other : threads_) all.Join(other);
  for (size_t i = 0; i < locations_.size(); ++i) {
    all.view.oldest[i] = static_cast<uint16_t>(locations_[i].stores.size() - 1);
  }
  threads_[thread].Join(all);
}

}  // namespace ferret::explorer
