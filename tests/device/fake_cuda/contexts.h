// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The contexts that there were. An index names one life of a context: a device's primary context comes back under its
// old handle, but as another index with another id. Callers hold the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_CONTEXTS_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_CONTEXTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "tests/device/fake_cuda/codes.h"
#include "tests/device/fake_cuda/handles.h"

namespace fake_cuda {

struct Context {
  uint64_t id;  // never given twice
  void* handle;
  int device;
  bool green;
  bool alive = true;
  int lost = kSuccess;  // what every call for it returns
  std::vector<size_t> streams = {};
  size_t legacy_stream = HandleSpace::kNone;
  std::map<int, size_t> per_thread_streams = {};  // by thread

  int Error() const { return alive ? lost : kContextIsDestroyed; }
};

class Contexts {
 public:
  explicit Contexts(size_t first_handle) : handles_(3, first_handle) {}

  void* Add(int device, bool green);
  // A new life under the handle of a dead context.
  void Revive(void* handle);

  // The life that the handle names now; kNone if it is no handle of a context.
  size_t Find(const void* handle) const;
  Context& At(size_t index) { return lives_[index]; }
  size_t size() const { return lives_.size(); }
  size_t NextHandle() const { return handles_.EndOf(current_.size()); }

 private:
  HandleSpace handles_;
  std::vector<size_t> current_;  // by handle
  std::vector<Context> lives_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_CONTEXTS_H_
