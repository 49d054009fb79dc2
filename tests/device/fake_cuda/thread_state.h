// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the driver keeps for each thread. Only the thread itself sees it.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_THREAD_STATE_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_THREAD_STATE_H_

#include <cstdint>
#include <vector>

#include "tests/device/fake_cuda/codes.h"

namespace fake_cuda {

struct ThreadState {
  uint64_t generation = 0;  // of the model that the rest belongs to
  int tid = 0;
  int capture_mode = kGlobal;
  std::vector<void*> contexts;  // the stack; its last one is current

  void* Current() const { return contexts.empty() ? nullptr : contexts.back(); }
  void SetCurrent(void* context) {
    if (!contexts.empty()) contexts.pop_back();
    if (context != nullptr) contexts.push_back(context);
  }
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_THREAD_STATE_H_
