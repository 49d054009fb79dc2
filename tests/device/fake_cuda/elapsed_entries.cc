// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: elapsed times. A file of its own, which incomplete/libcuda.so.1 is built without.
#include <cstdint>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

int ElapsedTime(float* milliseconds, void* start, void* end) {
  return Enter(kEventElapsedTime, [&](const Call& call) -> int {
    int error;
    Event* const first = call.model.events.Use(start, &error);
    if (first == nullptr) return error;
    Event* const second = call.model.events.Use(end, &error);
    if (second == nullptr) return error;
    if (milliseconds == nullptr) return kInvalidValue;
    if (first->context != second->context) return kInvalidHandle;
    if (((first->flags | second->flags) & kEventDisableTiming) != 0) return kInvalidHandle;
    if (first->captured || second->captured) return kCapturedEvent;
    if (!first->recorded || !second->recorded) return kInvalidHandle;
    const int64_t now_ns = call.driver.clock.NowNs();
    if (!first->Ready(now_ns) || !second->Ready(now_ns)) {
      ++call.model.events.elapsed_on_pending;
      return kNotReady;
    }
    first->read = second->read = true;
    // Copies: a wander is asked without the lock, and a Reset may come meanwhile.
    const GpuClock first_clock = *first->clock;
    const GpuClock second_clock = *second->clock;
    const int64_t first_ns = first->stamp_ns;
    const int64_t second_ns = second->stamp_ns;
    call.lock.unlock();
    const int64_t elapsed_ns = second_clock.StampNs(second_ns) - first_clock.StampNs(first_ns);
    *milliseconds = static_cast<float>(static_cast<double>(elapsed_ns) / 1e6);
    return kSuccess;
  });
}

}  // namespace

FAKE_CUDA_API int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  return ElapsedTime(milliseconds, start, end);
}
FAKE_CUDA_API int cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
  return ElapsedTime(milliseconds, start, end);
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuEventElapsedTime", 2000, Address(&cuEventElapsedTime), nullptr},
    {"cuEventElapsedTime", 12080, Address(&cuEventElapsedTime_v2), nullptr},
});
