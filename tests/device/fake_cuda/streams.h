// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The streams, as queues that are known by the time at which they run empty, and how the legacy stream joins the
// blocking ones of its context. Callers hold the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_STREAMS_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_STREAMS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/device/fake_cuda/codes.h"
#include "tests/device/fake_cuda/contexts.h"
#include "tests/device/fake_cuda/handles.h"

namespace fake_cuda {

struct Capture {
  int status = kNoCapture;
  int mode = kGlobal;
  int tid = 0;  // who began it
  uint64_t id = 0;
};

struct Stream {
  uint64_t id;  // never given twice
  size_t context;
  unsigned flags;
  int priority;
  bool green;
  bool legacy = false;
  bool alive = true;
  int64_t ready_ns = 0;
  Capture capture = {};

  // Whether the legacy stream waits for it and it for the legacy stream.
  bool Blocking() const { return alive && !legacy && (flags & kStreamNonBlocking) == 0; }
};

class Streams {
 public:
  Streams(size_t first_handle, Contexts& contexts) : handles_(5, first_handle), contexts_(contexts) {}

  // Takes the handle of the stream that was destroyed last, if there is one.
  size_t Add(size_t context, unsigned flags, int priority);
  void Destroy(size_t index);

  // Default streams, made when they are first used.
  size_t Legacy(size_t context);
  size_t PerThread(size_t context, int tid);

  size_t Find(const void* handle) const { return handles_.IndexOf(handle, streams_.size()); }
  void* Handle(size_t index) const { return handles_.At(index); }
  Stream& At(size_t index) { return streams_[index]; }
  size_t NextHandle() const { return handles_.EndOf(streams_.size()); }

  // Queues work and returns when it will be done.
  int64_t Enqueue(size_t index, int64_t ns, int64_t now_ns);
  // When the work that is queued now is done.
  int64_t ReadyNs(size_t index);

 private:
  HandleSpace handles_;
  Contexts& contexts_;
  std::vector<Stream> streams_;
  std::vector<size_t> destroyed_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_STREAMS_H_
