// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Exported: streams. The _ptsz variants take handle 0 for the thread's own default stream.
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tests/device/fake_cuda/call.h"

using namespace fake_cuda;

namespace {

constexpr std::uintptr_t kLegacy = kLegacyStream;
constexpr std::uintptr_t kOwn = kPerThreadStream;

// A call about one stream: `body(call, stream index)`.
template <typename Body>
int OfStream(Function function, void* handle, std::uintptr_t zero_is, const Body& body) {
  return Enter(function, [&](const Call& call) -> int {
    size_t stream;
    const int error = call.driver.ResolveStream(call.me, handle, zero_is, &stream);
    return error != kSuccess ? error : body(call, stream);
  });
}

int Create(Function function, void** stream, unsigned flags, int priority) {
  return Enter(function, [&](const Call& call) -> int {
    if (stream == nullptr || flags > kStreamNonBlocking) return kInvalidValue;
    size_t context;
    if (const int error = call.driver.CurrentContext(call.me, &context)) return error;
    if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
    *stream = call.model.streams.Handle(call.model.streams.Add(context, flags, priority));
    return kSuccess;
  });
}

// A stream of a green context answers with that context, under both names.
int GetContext(void* handle, std::uintptr_t zero_is, void** context, void** green) {
  return OfStream(kStreamGetCtx, handle, zero_is, [&](const Call& call, size_t index) -> int {
    if (context == nullptr) return kInvalidValue;
    const Stream& stream = call.model.streams.At(index);
    const Context& owner = call.model.contexts.At(stream.context);
    const std::uintptr_t value = handle == nullptr ? zero_is : reinterpret_cast<std::uintptr_t>(handle);
    if (owner.green && value == kPerThreadStream) return kInvalidHandle;
    *context = owner.handle;
    if (green != nullptr) *green = stream.green ? owner.handle : nullptr;
    return kSuccess;
  });
}

int GetId(void* handle, std::uintptr_t zero_is, uint64_t* id) {
  return OfStream(kStreamGetId, handle, zero_is, [&](const Call& call, size_t stream) -> int {
    if (id == nullptr) return kInvalidValue;
    *id = call.model.streams.At(stream).id;
    return kSuccess;
  });
}

int IsCapturing(void* handle, std::uintptr_t zero_is, int* status) {
  return OfStream(kStreamIsCapturing, handle, zero_is, [&](const Call& call, size_t stream) -> int {
    if (status == nullptr) return kInvalidValue;
    if (const int error = call.model.captures.CheckImplicit(stream)) return error;
    *status = call.model.streams.At(stream).capture.status;
    return kSuccess;
  });
}

int GetCaptureInfo(void* handle, std::uintptr_t zero_is, int* status, uint64_t* id, void** graph, const void*** nodes,
                   const void** edges, size_t* node_count) {
  return OfStream(kStreamGetCaptureInfo, handle, zero_is, [&](const Call& call, size_t stream) -> int {
    if (status == nullptr) return kInvalidValue;
    if (const int error = call.model.captures.CheckImplicit(stream)) return error;
    const Capture& capture = call.model.streams.At(stream).capture;
    *status = capture.status;
    if (capture.status != kCaptureActive) return kSuccess;
    if (id != nullptr) *id = capture.id;
    if (graph != nullptr) *graph = nullptr;
    if (nodes != nullptr) *nodes = nullptr;
    if (edges != nullptr) *edges = nullptr;
    if (node_count != nullptr) *node_count = 0;
    return kSuccess;
  });
}

int CheckIdle(const Call& call, size_t stream) {
  if (!call.model.streams.At(stream).alive) return kInvalidHandle;
  if (const int error = call.model.captures.CheckUnsafe(call.me)) return error;
  return call.model.captures.CheckWait(stream);
}

int Query(void* handle, std::uintptr_t zero_is) {
  return OfStream(kStreamQuery, handle, zero_is, [&](const Call& call, size_t stream) -> int {
    if (const int error = CheckIdle(call, stream)) return error;
    return call.model.streams.ReadyNs(stream) <= call.driver.clock.NowNs() ? kSuccess : kNotReady;
  });
}

int Synchronize(void* handle, std::uintptr_t zero_is) {
  return OfStream(kStreamSynchronize, handle, zero_is, [&](const Call& call, size_t stream) -> int {
    if (const int error = CheckIdle(call, stream)) return error;
    const int64_t end_ns = call.model.streams.ReadyNs(stream);
    call.lock.unlock();
    call.driver.clock.WaitUntilNs(end_ns);
    return kSuccess;
  });
}

}  // namespace

FAKE_CUDA_API int cuStreamCreate(void** stream, unsigned flags) { return Create(kStreamCreate, stream, flags, 0); }
FAKE_CUDA_API int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return Create(kStreamCreateWithPriority, stream, flags, priority);
}

FAKE_CUDA_API int cuStreamDestroy_v2(void* stream) {
  return Enter(kStreamDestroy, [&](const Call& call) { return call.driver.DestroyStream(stream); });
}

FAKE_CUDA_API int cuStreamGetCtx(void* stream, void** context) { return GetContext(stream, kLegacy, context, nullptr); }
FAKE_CUDA_API int cuStreamGetCtx_ptsz(void* stream, void** context) {
  return GetContext(stream, kOwn, context, nullptr);
}
FAKE_CUDA_API int cuStreamGetCtx_v2(void* stream, void** context, void** green) {
  return GetContext(stream, kLegacy, context, green);
}
FAKE_CUDA_API int cuStreamGetCtx_v2_ptsz(void* stream, void** context, void** green) {
  return GetContext(stream, kOwn, context, green);
}

FAKE_CUDA_API int cuStreamGetId(void* stream, uint64_t* id) { return GetId(stream, kLegacy, id); }
FAKE_CUDA_API int cuStreamGetId_ptsz(void* stream, uint64_t* id) { return GetId(stream, kOwn, id); }

FAKE_CUDA_API int cuStreamIsCapturing(void* stream, int* status) { return IsCapturing(stream, kLegacy, status); }
FAKE_CUDA_API int cuStreamIsCapturing_ptsz(void* stream, int* status) { return IsCapturing(stream, kOwn, status); }

FAKE_CUDA_API int cuStreamGetCaptureInfo_v3(void* stream, int* status, uint64_t* id, void** graph, const void*** nodes,
                                            const void** edges, size_t* node_count) {
  return GetCaptureInfo(stream, kLegacy, status, id, graph, nodes, edges, node_count);
}
FAKE_CUDA_API int cuStreamGetCaptureInfo_v3_ptsz(void* stream, int* status, uint64_t* id, void** graph,
                                                 const void*** nodes, const void** edges, size_t* node_count) {
  return GetCaptureInfo(stream, kOwn, status, id, graph, nodes, edges, node_count);
}

FAKE_CUDA_API int cuStreamQuery(void* stream) { return Query(stream, kLegacy); }
FAKE_CUDA_API int cuStreamQuery_ptsz(void* stream) { return Query(stream, kOwn); }
FAKE_CUDA_API int cuStreamSynchronize(void* stream) { return Synchronize(stream, kLegacy); }
FAKE_CUDA_API int cuStreamSynchronize_ptsz(void* stream) { return Synchronize(stream, kOwn); }

FAKE_CUDA_API int cuThreadExchangeStreamCaptureMode(int* mode) {
  return Enter(kThreadExchangeStreamCaptureMode, [&](const Call& call) -> int {
    if (mode == nullptr || *mode < kGlobal || *mode > kRelaxed) return kInvalidValue;
    std::swap(*mode, call.me.capture_mode);
    return kSuccess;
  });
}

[[maybe_unused]] static const bool added = AddExports({
    {"cuStreamCreate", 2000, Address(&cuStreamCreate), nullptr},
    {"cuStreamCreateWithPriority", 5050, Address(&cuStreamCreateWithPriority), nullptr},
    {"cuStreamDestroy", 4000, Address(&cuStreamDestroy_v2), nullptr},
    {"cuStreamGetCtx", 9020, Address(&cuStreamGetCtx), Address(&cuStreamGetCtx_ptsz)},
    {"cuStreamGetCtx", 12050, Address(&cuStreamGetCtx_v2), Address(&cuStreamGetCtx_v2_ptsz)},
    {"cuStreamGetId", 12000, Address(&cuStreamGetId), Address(&cuStreamGetId_ptsz)},
    {"cuStreamIsCapturing", 10000, Address(&cuStreamIsCapturing), Address(&cuStreamIsCapturing_ptsz)},
    {"cuStreamGetCaptureInfo", 12030, Address(&cuStreamGetCaptureInfo_v3), Address(&cuStreamGetCaptureInfo_v3_ptsz)},
    {"cuStreamQuery", 2000, Address(&cuStreamQuery), Address(&cuStreamQuery_ptsz)},
    {"cuStreamSynchronize", 2000, Address(&cuStreamSynchronize), Address(&cuStreamSynchronize_ptsz)},
    {"cuThreadExchangeStreamCaptureMode", 10010, Address(&cuThreadExchangeStreamCaptureMode), nullptr},
});
