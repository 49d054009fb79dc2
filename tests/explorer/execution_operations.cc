// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Execution: carrying out the operation that was chosen, and what there is to choose from.

#include <algorithm>
#include <utility>

#include "tests/explorer/direct_operation.h"
#include "tests/explorer/execution.h"

namespace ferret::explorer {
namespace {

uint64_t Mix(uint64_t hash, uint64_t more) {
  hash ^= more + 0x9e3779b97f4a7c15 + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccd;
  return hash ^ hash >> 33;
}

// Of a store or a pushed item, the same in all executions.
uint64_t NameOf(int thread, uint32_t number) { return static_cast<uint64_t>(thread) << 32 | number; }

size_t CountOf(Alternative alternative, int producer) { return alternative >> (8 * producer) & 0xff; }

// All ways to take up to `room` items of this producer and the further ones that leave none which the thread knows of
// while there is room for it; most items first.
void AddPops(const MemoryModel& model, int thread, int queue, int producer, size_t room, bool leaves_known,
             Alternative so_far, std::vector<Alternative>& pops) {
  if (producer == kMaxThreads) {
    if (room == 0 || !leaves_known) pops.push_back(so_far);
    return;
  }
  const size_t known = model.Known(thread, queue, producer);
  for (size_t count = std::min(model.queue(queue).Waiting(producer), room) + 1; count-- > 0;) {
    AddPops(model, thread, queue, producer + 1, room - count, leaves_known || count < known,
            so_far | uint64_t{count} << (8 * producer), pops);
  }
}

}  // namespace

uint64_t Execution::Execute() {
  const int thread = current_;
  const Operation operation = threads_[thread].pending;
  const Alternative alternative = choice_.alternative;
  uint64_t value = 0;
  size_t older = 0;
  bool changed = true;
  switch (operation.kind) {
    case OperationKind::kLoad: {
      const Location& location = model_.location(operation.place);
      older = location.stores.size() - 1 - alternative;
      const Store& source = location.stores[alternative];
      Observe(thread, operation, NameOf(source.thread, source.number));
      value = model_.Read(thread, operation.place, alternative, operation.order);
      changed = false;
      break;
    }
    case OperationKind::kStore: {
      value = operation.operand;
      Observe(thread, operation, 0);  // it follows from what was seen before
      CheckStore(thread, operation.place);
      model_.Write(thread, operation.place, value, operation.order);
      const Location& location = model_.location(operation.place);
      StoreDirectly(location.address, location.bytes, value);
      break;
    }
    case OperationKind::kUpdate:
      value = ExecuteUpdate(thread, operation, alternative, &changed);
      break;
    case OperationKind::kPush: {
      value = operation.operand;
      if ((model_.queue(operation.place).producers & 1u << thread) == 0) Fail("a consumer pushes");
      void* const item = reinterpret_cast<void*>(value);
      const int carried = carried_ ? carried_(item) : kNoPlace;
      Observe(thread, operation, 0);
      model_.Push(thread, operation.place, item, carried);
      break;
    }
    case OperationKind::kPop:
      value = ExecutePop(thread, operation, alternative);
      changed = value != 0;
      break;
    case OperationKind::kBarrier:
      model_.LearnAll(thread);
      break;
    case OperationKind::kStart: break;
  }
  if (operation.kind == OperationKind::kStart) return 0;
  steps_.push_back({thread, operation, value, older});
  if (!quiet_ && !given_up_ && failure_.empty()) chooser_->Executed(*this, thread, operation, changed);
  return value;
}

void Execution::CheckStore(int thread, int place) {
  const Location& location = model_.location(place);
  if ((location.writers & 1u << thread) == 0) Fail("thread " + std::to_string(thread) + " stores " + location.name);
  if (location.ordered && !model_.NewestIsKnown(thread, place)) Fail("two unordered stores to " + location.name);
}

uint64_t Execution::ExecuteUpdate(int thread, const Operation& operation, Alternative alternative, bool* changed) {
  const Location& location = model_.location(operation.place);
  const Store source = location.stores[alternative];
  Observe(thread, operation, NameOf(source.thread, source.number));
  if (operation.update == UpdateKind::kCompareExchange && source.value != operation.expected) {
    *changed = false;
    return model_.Read(thread, operation.place, alternative, operation.order_of_failure);
  }
  CheckStore(thread, operation.place);
  const uint64_t value = Updated(operation, source.value, location.bytes);
  model_.Update(thread, operation.place, value, operation.order);
  StoreDirectly(location.address, location.bytes, value);
  return source.value;
}

uint64_t Execution::ExecutePop(int thread, const Operation& operation, Alternative alternative) {
  uint64_t count = 0;
  if ((model_.queue(operation.place).consumers & 1u << thread) == 0) Fail("a producer pops");
  for (int producer = 0; producer < kMaxThreads; ++producer) {
    for (size_t i = CountOf(alternative, producer); i > 0; --i) {
      const Item& item = model_.queue(operation.place).items[producer][model_.queue(operation.place).taken[producer]];
      Observe(thread, operation, NameOf(item.thread, item.number));
      operation.items[count++] = model_.Pop(thread, operation.place, producer);
    }
  }
  Observe(thread, operation, count);
  return count;
}

std::vector<Alternative> Execution::AlternativesOf(int thread) const {
  const Operation& operation = threads_[thread].pending;
  std::vector<Alternative> alternatives;
  if (operation.kind == OperationKind::kPop) {
    AddPops(model_, thread, operation.place, 0, operation.max, false, 0, alternatives);
    return alternatives;
  }
  if (operation.kind != OperationKind::kLoad && operation.kind != OperationKind::kUpdate) return {0};
  const Location& location = model_.location(operation.place);
  const size_t newest = location.stores.size() - 1;
  if (operation.kind == OperationKind::kUpdate && operation.update != UpdateKind::kCompareExchange) return {newest};
  const size_t oldest = model_.OldestReadable(thread, operation.place, operation.order);
  for (size_t i = newest + 1; i-- > oldest;) {
    // Only the newest store may be exchanged.
    const bool succeeds = operation.kind == OperationKind::kUpdate && location.stores[i].value == operation.expected;
    if (i == newest || !succeeds) alternatives.push_back(i);
  }
  return alternatives;
}

bool Execution::OthersMayAct(int thread, uint32_t among) const {
  for (int t = 1; t <= threads(); ++t) {
    if (t != thread && (among & 1u << t) != 0 && IsReady(t)) return true;
  }
  return false;
}

bool Execution::IsUndisturbed(int thread) const {
  const Operation& operation = threads_[thread].pending;
  switch (operation.kind) {
    case OperationKind::kLoad:
      return !OthersMayAct(thread, model_.location(operation.place).writers) && !operation.IsSequential();
    case OperationKind::kStore:
    case OperationKind::kUpdate: {
      const Location& location = model_.location(operation.place);
      // A load that others do afterwards may still read what was there before.
      return (location.ordered || !OthersMayAct(thread, location.writers)) && !operation.IsSequential();
    }
    case OperationKind::kPop: {
      const Queue& queue = model_.queue(operation.place);
      return !OthersMayAct(thread, queue.producers | queue.consumers);
    }
    case OperationKind::kPush:  // a pop may miss it, as a load may miss a store
    case OperationKind::kBarrier:
    case OperationKind::kStart:
      return true;
  }
  return false;
}

void Execution::Observe(int thread, const Operation& operation, uint64_t what) {
  uint64_t& history = threads_[thread].history;
  history = Mix(history, static_cast<uint64_t>(operation.kind) << 8 | static_cast<uint8_t>(operation.place));
  history = Mix(history, what);
}

uint64_t Execution::fingerprint() const {
  uint64_t hash = 0;
  for (int t = 1; t <= threads(); ++t) hash = Mix(hash, threads_[t].history);
  for (int place = 0; place < model_.locations(); ++place) {
    for (const Store& store : model_.location(place).stores) hash = Mix(hash, NameOf(store.thread, store.number));
  }
  return hash;
}

}  // namespace ferret::explorer
