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

#include "bench/floor.h"
#include "ferret/internal/export_symbol.h"

namespace {

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
  ferret::Floor floor(1 << 16);
  return NsOfEach(count, [&] {
    if (!floor.HasRoom(1)) floor.StartOver();
    floor.Record();
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
