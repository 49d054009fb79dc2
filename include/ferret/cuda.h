// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Scopes that are timed on a CUDA device, too.
//
//     #include "ferret/cuda.h"
//
//     {
//       FERRET_CUDA_SCOPE(stream, "gemm");
//       cuLaunchKernel(..., stream, ...);      // or kernel<<<grid, block, 0, stream>>>(...)
//     }
//
// Each is a scope as in ferret/scope.h and, on the device, the interval on the stream from where it was when the scope
// began to where it was when it ended: *the time between two markers*, which includes waiting for the CPU where the
// stream ran dry, and not only kernels. The markers are CUDA events; nothing here waits for the device. How to choose
// scopes: two markers cost 1 to 3 µs of the calling thread and about as much of the stream, so time layers, steps and
// collectives, not every small kernel; and let a stream wait for another one before the scope, not in it.
//
// Marks on the legacy default stream join all blocking streams of the context, as any work on it does: time on another one
// where streams are to overlap. A program that ends without ferret::Stop() loses the device time of its last 10 ms, since
// nothing is asked of the driver once main has returned. cudaDeviceReset, or destroying a context, while scopes of it are
// recorded loses their device time (kDeviceLost).
//
// `stream` is a CUstream or a cudaStream_t, which are one type. A null stream does not say which default stream it means,
// and is not timed (kBadStream): pass LegacyStream() or PerThreadStream(). Never pass a stream that was destroyed.
//
// No CUDA header or library is needed to compile or to link this. Where there is no driver, no device or no context, or
// where the stream is capturing a graph, the scope is recorded without device time and counted, see ferret/device_loss.h.
// Any thread, as in ferret/scope.h, but not in signal handlers.

#ifndef FERRET_CUDA_H_
#define FERRET_CUDA_H_

#include <cstdint>
#include <string_view>

#include "ferret/scope.h"

struct CUstream_st;

// Records the rest of the block on the CPU and on the stream, under a name that is a string literal.
#define FERRET_CUDA_SCOPE(stream, name)               \
  FERRET_SITE(name, kScopeBegin, kNoFlags, __LINE__); \
  const ::ferret::cuda::Scope FERRET_CONCAT(ferret_scope_, __LINE__)(stream, FERRET_CONCAT(ferret_site_, __LINE__))

namespace ferret {
namespace internal {

// One timed scope between its two marks. Trivial; all zero: not timed.
struct DeviceMark {
  uint64_t session = 0;  // in which it began
  CUstream_st* stream = nullptr;
  uint32_t pair = 0;     // 0: none, else the pair's id
  uint32_t place = 0;    // of the stream among those of its context
};

// `scope_recorded`: whether the scope's own begin was.
FERRET_EXPORT_SYMBOL DeviceMark BeginCudaMark(CUstream_st* stream, bool scope_recorded);
// On the thread that began it, before the scope's end; `mark` is of a pair.
FERRET_EXPORT_SYMBOL void EndCudaMark(const DeviceMark& mark);
// In its place where that cannot be, since the scope ends on another thread: gives the pair up and counts it as
// kScopeLost. Any thread.
FERRET_EXPORT_SYMBOL void AbandonCudaMark(const DeviceMark& mark);

}  // namespace internal

namespace cuda {

using Stream = CUstream_st*;

// The default stream that waits for all others of its context; the one that each thread has of its own.
inline Stream LegacyStream() { return reinterpret_cast<Stream>(uintptr_t{1}); }
inline Stream PerThreadStream() { return reinterpret_cast<Stream>(uintptr_t{2}); }

// What a trace shows of a launch. Zero and negative: not given. Bytes without a grid make it a copy.
struct Launch {
  uint32_t grid[3] = {0, 0, 0};
  uint32_t block[3] = {0, 0, 0};
  int64_t bytes = -1;  // that were copied or set
};

class Scope {
 public:
  // Without `timed` it is a scope on the CPU only, and not counted as one that asked for device time.
  Scope(Stream stream, internal::Site& site, bool timed = true) : end_(internal::BeginScope(site)) {
    Mark(stream, timed);
  }
  Scope(Stream stream, std::string_view name, bool timed = true) {
    if (!internal::Enabled()) return;
    end_ = internal::BeginNamed(name, internal::kNoFlags);
    Mark(stream, timed);
  }
  ~Scope() {
    if (mark_.pair != 0) internal::EndCudaMark(mark_);
    internal::EndScope(end_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  void Mark(Stream stream, bool timed) {
    if (timed && internal::Enabled()) mark_ = internal::BeginCudaMark(stream, static_cast<bool>(end_));
  }

  internal::ScopeEnd end_;
  internal::DeviceMark mark_;
};

// The same as a user annotation.
class Annotation {
 public:
  Annotation(Stream stream, std::string_view name, bool timed = true) {
    if (!internal::Enabled()) return;
    end_ = internal::BeginNamed(name, internal::kUserAnnotation);
    if (timed) mark_ = internal::BeginCudaMark(stream, static_cast<bool>(end_));
  }
  ~Annotation() {
    if (mark_.pair != 0) internal::EndCudaMark(mark_);
    internal::EndScope(end_);
  }
  Annotation(const Annotation&) = delete;
  Annotation& operator=(const Annotation&) = delete;

 private:
  internal::ScopeEnd end_;
  internal::DeviceMark mark_;
};

// Tells what the innermost open scope of the calling thread launches. While recording is off: a load and a branch.
FERRET_EXPORT_SYMBOL void DescribeLaunch(const Launch& launch);

// Has markers made for the stream's context, so that not even its first scopes go without: they are made on a thread of
// Ferret's own, and until then scopes are counted as kPoolExhausted. Waits for it, about 100 ms at most. False if scopes on
// this stream cannot be timed now.
FERRET_EXPORT_SYMBOL bool Prepare(Stream stream);

}  // namespace cuda
}  // namespace ferret

#endif  // FERRET_CUDA_H_
