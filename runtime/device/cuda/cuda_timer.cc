// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The recording threads' part of CudaTimer.

#include "runtime/device/cuda/cuda_timer.h"

#include <memory>
#include <utility>

namespace ferret::internal {
namespace {

CuStream LegacyStream() { return reinterpret_cast<CuStream>(uintptr_t{1}); }
CuStream PerThreadStream() { return reinterpret_cast<CuStream>(uintptr_t{2}); }
// Programs may make threads for ever: their own default streams share so many places.
constexpr uint32_t kPerThreadPlaces = 64;
bool IsDefaultStream(CuStream stream) { return stream == LegacyStream() || stream == PerThreadStream(); }

}  // namespace

CudaTimer& CudaTimer::Global() {
  static CudaTimer* const timer = new CudaTimer;  // used by threads that end after static objects are gone
  return *timer;
}

CudaTimer::~CudaTimer() {
  for (uint32_t i = 0; i < context_count_.load(std::memory_order_acquire); ++i) {
    delete contexts_[i].load(std::memory_order_relaxed);
  }
}

std::optional<DeviceLoss> CudaTimer::Begin(CuStream stream, uint32_t thread, Begun* begun) {
  Found found;
  if (const auto loss = FindStream(stream, thread, &found)) return loss;
  if (const auto loss = CheckCapture(stream)) return loss;
  uint32_t pair;
  if (!found.context->Take(&pair)) {
    WakeIfLow(*found.context);
    return DeviceLoss::kPoolExhausted;
  }
  begun->pair = MakePairId(found.value.domain, pair);
  begun->place = found.value.place;
  const int result = driver_.event_record(found.context->event(BeginMark(begun->pair)), stream);
  WakeIfLow(*found.context);
  if (result == kCuSuccess) return std::nullopt;
  found.context->GiveUp(pair);
  return OnRefused(result, found);
}

std::optional<DeviceLoss> CudaTimer::End(CuStream stream, PairId pair) {
  CudaContext& own = context(DomainOf(pair));
  if (own.lost()) {
    own.GiveUp(IndexOf(pair));
    return DeviceLoss::kDeviceLost;
  }
  // A capture that began inside of the scope would take the mark into its graph.
  std::optional<DeviceLoss> loss = CheckCapture(stream);
  if (!loss) {
    const int result = driver_.event_record(own.event(EndMark(pair)), stream);
    if (result == kCuSuccess) return std::nullopt;
    loss = OnRefused(result, Found{&own, {}, 0});
  }
  own.GiveUp(IndexOf(pair));
  return loss;
}

void CudaTimer::GiveUp(PairId pair) { context(DomainOf(pair)).GiveUp(IndexOf(pair)); }

std::optional<DeviceLoss> CudaTimer::Look(CuStream stream, uint32_t thread, bool* has_pairs) {
  Found found;
  if (const auto loss = FindStream(stream, thread, &found)) return loss;
  *has_pairs = found.context->HasPairs();
  WakeIfLow(*found.context);
  return std::nullopt;
}

void CudaTimer::WakeIfLow(const CudaContext& context) {
  if (context.HasPairs() && (!context.RunsLow() || context.created() == CudaContext::kMostPairs)) return;
  if (void (*wake)() = wake_.load(std::memory_order_acquire)) wake();
}

// Asked of the stream that the mark is about to go into: an event that gets into a graph is of no more use.
std::optional<DeviceLoss> CudaTimer::CheckCapture(CuStream stream) {
  int status = kCuCaptureNone;
  const int result = driver_.stream_is_capturing(stream, &status);
  if (result == kCuSuccess && status == kCuCaptureNone) return std::nullopt;
  if (result == kCuSuccess || (result >= kCuStreamCaptureUnsupported && result <= kCuStreamCaptureWrongThread)) {
    return DeviceLoss::kCapture;
  }
  if (result == kCuInvalidContext) return DeviceLoss::kNoContext;
  return IsTerminal(result) ? DeviceLoss::kDeviceLost : DeviceLoss::kRecordFailed;
}

DeviceLoss CudaTimer::OnRefused(int result, const Found& found) {
  // The handle may have become another context's.
  if (found.key != 0) streams_.Put(found.key, {});
  if (result >= kCuStreamCaptureUnsupported && result <= kCuStreamCaptureWrongThread) return DeviceLoss::kCapture;
  if (!IsTerminal(result)) return DeviceLoss::kRecordFailed;
  found.context->Lose();
  return DeviceLoss::kDeviceLost;
}

std::optional<DeviceLoss> CudaTimer::FindStream(CuStream stream, uint32_t thread, Found* found) {
  if (stream == nullptr) return DeviceLoss::kBadStream;
  found->key = reinterpret_cast<uint64_t>(stream);
  if (IsDefaultStream(stream)) {
    // Which one it is depends on the current context and, for the thread's own, on the thread.
    CuContext current = nullptr;
    const int result = driver_.ctx_get_current(&current);
    if (result != kCuSuccess || current == nullptr) return DeviceLoss::kNoContext;
    found->key |= reinterpret_cast<uint64_t>(current);
    if (stream == PerThreadStream()) found->key |= uint64_t{thread % kPerThreadPlaces} << 48;
  }
  found->value = streams_.Find(found->key);
  if (found->value.domain == 0) {
    if (const auto loss = AskForStream(stream, found)) return loss;
  }
  found->context = &context(found->value.domain);
  if (!found->context->lost()) return std::nullopt;
  // The handle may be a new context's by now.
  streams_.Put(found->key, {});
  if (const auto loss = AskForStream(stream, found)) return loss;
  return found->context->lost() ? std::optional(DeviceLoss::kDeviceLost) : std::nullopt;
}

std::optional<DeviceLoss> CudaTimer::AskForStream(CuStream stream, Found* found) {
  CudaContext::Identity identity;
  CuGreenContext green = nullptr;
  const int result = driver_.stream_get_ctx_v2 != nullptr
                         ? driver_.stream_get_ctx_v2(stream, &identity.handle, &green)
                         : driver_.stream_get_ctx(stream, &identity.handle);
  if (green != nullptr) return DeviceLoss::kGreenContext;
  if (result == kCuInvalidContext || (result == kCuSuccess && identity.handle == nullptr)) return DeviceLoss::kNoContext;
  if (result >= kCuStreamCaptureUnsupported && result <= kCuStreamCaptureWrongThread) return DeviceLoss::kCapture;
  if (IsTerminal(result)) return DeviceLoss::kDeviceLost;
  if (result != kCuSuccess) return DeviceLoss::kRecordFailed;
  unsigned long long id = 0;
  if (driver_.ctx_get_id != nullptr && driver_.ctx_get_id(identity.handle, &id) == kCuSuccess) identity.id = id;
  // The device is that of the current context.
  CuContext popped = nullptr;
  if (driver_.ctx_push_current(identity.handle) != kCuSuccess) return DeviceLoss::kNoContext;
  const int device_result = driver_.ctx_get_device(&identity.device);
  driver_.ctx_pop_current(&popped);
  if (device_result != kCuSuccess) return DeviceLoss::kNoContext;
  int32_t number = 0;
  unsigned long long stream_id = 0;
  if (driver_.stream_get_id != nullptr && driver_.stream_get_id(stream, &stream_id) == kCuSuccess && stream_id > 0 &&
      stream_id <= INT32_MAX) {
    number = static_cast<int32_t>(stream_id);
  }
  uint32_t domain = 0;
  found->context = ContextOf(identity, &domain);
  if (found->context == nullptr) return DeviceLoss::kPoolExhausted;
  const char* const name = stream == LegacyStream()      ? "legacy default stream"
                           : stream == PerThreadStream() ? "per-thread default stream"
                                                         : "";
  // The ones of threads that share a place share a number.
  if (stream == PerThreadStream()) number = 0;
  found->value = {domain, found->context->PlaceOf(found->key, number, name)};
  streams_.Put(found->key, found->value);
  return std::nullopt;
}

// Null if there are too many.
CudaContext* CudaTimer::ContextOf(const CudaContext::Identity& identity, uint32_t* domain) {
  std::lock_guard<std::mutex> lock(mutex_);
  const uint32_t count = context_count_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    CudaContext* const known = contexts_[i].load(std::memory_order_relaxed);
    if (known->identity().handle != identity.handle || known->identity().id != identity.id) continue;
    *domain = i + 1;
    return known;
  }
  if (count == kMostContexts) return nullptr;
  auto* const added = new CudaContext(&driver_, &calls_stopped_, identity);
  contexts_[count].store(added, std::memory_order_release);
  // Release, acquired by whoever looks through the contexts.
  context_count_.store(count + 1, std::memory_order_release);
  *domain = count + 1;
  return added;
}

}  // namespace ferret::internal
