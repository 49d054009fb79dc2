// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// MemoryModel: what C++ lets threads see of each other's stores.
//
// A location keeps every store ever made to it, in modification order. A thread has a view, the oldest store of each
// location that it may still read, and a clock, which tells what happened before it. A release store carries both, an
// acquire load that reads it takes both over, a relaxed one takes over nothing; a read-modify-write reads the newest
// store and passes on what that carried. Two accesses to plain bytes, one of them a write, of which neither happened
// before the other are a race.
//
// Left out: stores enter the modification order when they are executed, so a load never reads from the future (the
// load-buffering outcome, which C++ permits and no compiler or processor of today shows for code without data races on
// plain bytes), and two stores to one location that nothing orders are ordered as they are executed. Fences are not
// modelled, nor consume.
//
// Queues carry pointers, in order for each producer, without making anything happen before anything: see Push.

#ifndef FERRET_TESTS_EXPLORER_MEMORY_MODEL_H_
#define FERRET_TESTS_EXPLORER_MEMORY_MODEL_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ferret::explorer {

inline constexpr int kMaxThreads = 5;  // 0 stands for what came before all threads
inline constexpr int kMaxLocations = 24;
inline constexpr int kNoPlace = -1;

bool IsAcquire(std::memory_order order);
bool IsRelease(std::memory_order order);

struct Clock {
  std::array<uint32_t, kMaxThreads> of{};
  void Join(const Clock& other);
};

struct View {
  std::array<uint16_t, kMaxLocations> oldest{};
  void Join(const View& other);
};

// What a thread knows, and what a release store hands on.
struct Knowledge {
  Clock clock;
  View view;
  void Join(const Knowledge& other);
};

struct Store {
  uint64_t value = 0;
  int thread = 0;
  uint32_t number = 0;  // the thread's clock
  Knowledge carried;
};

struct Location {
  std::string kind;  // what it is, the same for each instance
  std::string name;
  const volatile void* address = nullptr;
  int bytes = 0;
  // Threads that may store, as bits; anybody else who does is an error, as the search relies on it.
  uint32_t writers = ~0u;
  // Any two stores are ordered by happens-before; the search relies on it, and it is an error if they are not.
  bool ordered = false;
  std::vector<Store> stores;
  uint16_t newest_sequential = 0;  // the newest seq_cst store
};

struct Item {
  void* pointer = nullptr;
  int thread = 0;
  uint32_t number = 0;
  int carried_place = kNoPlace;
  uint16_t carried_store = 0;
};

struct Queue {
  std::string name;
  uint32_t producers = ~0u;
  uint32_t consumers = ~0u;
  std::array<std::vector<Item>, kMaxThreads> items;  // by producer, also those taken
  std::array<size_t, kMaxThreads> taken{};
  size_t Waiting(int producer) const { return items[producer].size() - taken[producer]; }
};

class MemoryModel {
 public:
  // Forgets everything.
  void Reset();

  // The location's first value is the one that it has now.
  int AddLocation(Location location);
  int AddQueue(Queue queue);
  // Who pushes onto the queue and who pops from it, as bits; the search relies on it.
  void NameQueue(int queue, std::string name, uint32_t producers, uint32_t consumers);
  // Plain accesses in this range are checked for races.
  void WatchBytes(const void* begin, size_t bytes);
  // kNoPlace if it was not added.
  int Find(const volatile void* address) const;

  const Location& location(int place) const { return locations_[place]; }
  const Queue& queue(int place) const { return queues_[place]; }
  int locations() const { return static_cast<int>(locations_.size()); }
  int queues() const { return static_cast<int>(queues_.size()); }

  // The oldest store that the thread may read; it may read all newer ones.
  size_t OldestReadable(int thread, int place, std::memory_order order) const;
  uint64_t Read(int thread, int place, size_t store, std::memory_order order);
  void Write(int thread, int place, uint64_t value, std::memory_order order);
  // Reads the newest store and adds one behind it.
  uint64_t Update(int thread, int place, uint64_t value, std::memory_order order);
  // Whether the newest store happened before what the thread does next.
  bool NewestIsKnown(int thread, int place) const;

  // With each pointer a queue carries the value that one location had for the producer, and nothing else. `place` may
  // be kNoPlace.
  void Push(int thread, int queue, void* pointer, int place);
  // How many of a producer's waiting items the thread cannot miss.
  size_t Known(int thread, int queue, int producer) const;
  void* Pop(int thread, int queue, int producer);

  // Empty, or what raced.
  std::string AccessBytes(int thread, const volatile void* address, size_t bytes, bool write);

  // The thread learns everything that any thread did, as if it had joined them.
  void LearnAll(int thread);

 private:
  struct Byte {
    uint32_t write_number = 0;
    int write_thread = 0;
    Clock reads;
  };

  void Publish(int thread, int place, Store store, std::memory_order order);

  std::array<Knowledge, kMaxThreads> threads_;
  std::vector<Location> locations_;
  std::vector<Queue> queues_;
  const char* watched_ = nullptr;
  std::vector<Byte> bytes_;
};

}  // namespace ferret::explorer

#endif  // FERRET_TESTS_EXPLORER_MEMORY_MODEL_H_
