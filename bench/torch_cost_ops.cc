// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libtorch_cost.so: what bench/torch_cost.py measures outside of Python's interpreter. All times are in ns.

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "ferret/internal/export_symbol.h"
#include "ferret/internal/hot_path.h"

namespace {

struct Event {
  uint64_t name;
  uint64_t begin;
  uint64_t parent;
  uint64_t end;
};
static_assert(sizeof(Event) == 32, "what the floor stores");

template <typename Once>
double NsOfEach(int64_t count, Once once) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) once();
  const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(count);
}

std::unique_ptr<at::ObserverContext> NoBegin(const at::RecordFunction& /*fn*/) { return nullptr; }
void NoEnd(const at::RecordFunction& /*fn*/, at::ObserverContext* /*context*/) {}

at::CallbackHandle g_callback = at::INVALID_CALLBACK_HANDLE;

}  // namespace

extern "C" {

// Two readings of the cycle counter and one 32-byte store into warm memory.
FERRET_EXPORT_SYMBOL double torch_cost_floor(int64_t count) {
  std::vector<Event> memory(1 << 16);
  std::memset(static_cast<void*>(memory.data()), 1, memory.size() * sizeof(Event));
  size_t next = 0;
  return NsOfEach(count, [&] {
    const uint64_t begin = ferret::internal::ReadCycleCounter();
    memory[next] = {1, begin, 0, ferret::internal::ReadCycleCounter()};
    asm volatile("" : : "r"(memory.data()) : "memory");  // stored, although nobody reads it
    next = (next + 1) % memory.size();
  });
}

// One add_ of four numbers, with whatever observes it.
FERRET_EXPORT_SYMBOL double torch_cost_ops(int64_t count) {
  at::Tensor x = at::zeros({4});
  const at::Tensor y = at::ones({4});
  return NsOfEach(count, [&] { x.add_(y); });
}

// Has PyTorch call something that does nothing at the begin and the end of every operator.
FERRET_EXPORT_SYMBOL void torch_cost_add_callback(bool needs_inputs) {
  g_callback = at::addGlobalCallback(at::RecordFunctionCallback(&NoBegin, &NoEnd).needsInputs(needs_inputs));
}
FERRET_EXPORT_SYMBOL void torch_cost_remove_callback() { at::removeCallback(g_callback); }

}  // extern "C"
