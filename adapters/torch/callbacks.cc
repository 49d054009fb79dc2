// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/callbacks.h"

#include <c10/core/DeviceType.h>

#include "adapters/torch/cuda_stream.h"
#include "adapters/torch/details.h"
#include "adapters/torch/name_cache.h"
#include "adapters/torch/op_context.h"
#include "ferret/cuda.h"
#include "ferret/internal/adapter.h"
#include "ferret/internal/hot_path.h"
#include "ferret/record_scope.h"

namespace ferret::torch_adapter {
namespace {

// Kinds of scopes and of devices go through Ferret as numbers.
static_assert(static_cast<int>(RecordScope::kBackwardFunction) == static_cast<int>(at::RecordScope::BACKWARD_FUNCTION));
static_assert(static_cast<int>(RecordScope::kUserScope) == static_cast<int>(at::RecordScope::USER_SCOPE));
static_assert(static_cast<int>(RecordScope::kStaticRuntimeModel) ==
              static_cast<int>(at::RecordScope::STATIC_RUNTIME_MODEL));
static_assert(static_cast<int>(DeviceType::kCuda) == static_cast<int>(c10::DeviceType::CUDA));
static_assert(static_cast<int>(DeviceType::kXpu) == static_cast<int>(c10::DeviceType::XPU));
static_assert(static_cast<int>(DeviceType::kHpu) == static_cast<int>(c10::DeviceType::HPU));
static_assert(static_cast<int>(DeviceType::kMtia) == static_cast<int>(c10::DeviceType::MTIA));
static_assert(static_cast<int>(DeviceType::kPrivateUse1) == static_cast<int>(c10::DeviceType::PrivateUse1));

internal::ScopeEnd Begin(const at::RecordFunction& fn, uint32_t epoch, bool is_async) {
  using internal::RecordHeader;
  using internal::RecordType;
  const char* const text = fn.name();
  const CachedName* const name = FindName(text, &internal::InternName);

  const bool user = fn.scope() == at::RecordScope::USER_SCOPE;
  uint8_t flags = internal::kFrameworkThreads;
  if (user) flags |= internal::kUserAnnotation;
  if (is_async) flags |= internal::kAsync;
  if (name != nullptr) {
    flags |= user ? name->user_flags : name->op_flags;
  } else {
    flags |= user ? UserNameFlags(text) : OpNameFlags(text);
  }

  const int64_t number = fn.seqNr() < 0 ? -1 : fn.seqNr();
  // The short record says all there is to say about an annotation or an operator without a number.
  if (number < 0 && (user || fn.scope() == at::RecordScope::FUNCTION)) {
    if (name == nullptr) return internal::BeginNamed(text, flags);
    return internal::BeginScope(RecordHeader(RecordType::kScopeBegin, internal::kBeginBytes, flags, name->id), epoch);
  }

  // PyTorch gives nodes that are nobody's backward (AccumulateGrad) the number -1 and yet a forward thread.
  const uint64_t fwd_thread = number < 0 ? 0 : fn.forwardThreadId();
  const internal::OpFields op{number, static_cast<uint32_t>(fwd_thread), static_cast<uint8_t>(fn.scope())};
  if (name == nullptr) return internal::BeginOpNamed(text, flags, op);
  return internal::BeginOp(RecordHeader(RecordType::kOpBegin, internal::kOpBeginBytes, flags, name->id), epoch, op);
}

std::unique_ptr<OpContext> BeginContext(const at::RecordFunction& fn) {
  // 0 in a forked child that records nothing but inherits the callback, and for a moment around start and stop.
  const uint32_t epoch = internal::CurrentEpoch();
  if (epoch == 0) return nullptr;
  // First, so that what it may cost lies outside of the scope.
  std::unique_ptr<OpContext> context(new OpContext);
  if (context == nullptr) return nullptr;
  context->is_async = fn.isAsync();
  context->end = Begin(fn, epoch, context->is_async);
  if (!context->end) return nullptr;
  context->thread = internal::t_writer->thread;
  return context;
}

// Details and marks go to the innermost open scope of the thread, which an asynchronous one never is.
bool IsInnermost(const OpContext& context) { return !context.is_async; }

// The callback of a forked child is its parent's, but a child has no marks.
bool WantsMarks(const at::RecordFunction& fn, uint32_t wants) {
  if (!NeedsMarks(wants)) return false;
  if (fn.scope() == at::RecordScope::USER_SCOPE) return true;
  if ((wants & internal::kWantCudaOps) == 0) return false;
  if (fn.scope() != at::RecordScope::FUNCTION && fn.scope() != at::RecordScope::BACKWARD_FUNCTION) return false;
  // Once more, so that nothing is carried through BeginContext where there are no marks.
  const CachedName* const name = FindName(fn.name(), &internal::InternName);
  return name != nullptr ? name->launches : NameLaunches(fn.name());
}

// A thread that launches nothing does not even ask for device time.
internal::DeviceMark BeginMark() {
  CUstream_st* stream = nullptr;
  if (!CurrentCudaStream(&stream)) return {};
  return internal::BeginCudaMark(stream, true);
}

}  // namespace

std::unique_ptr<at::ObserverContext> OnBegin(const at::RecordFunction& fn) { return BeginContext(fn); }

std::unique_ptr<at::ObserverContext> OnBeginWithDetails(const at::RecordFunction& fn) {
  std::unique_ptr<OpContext> context = BeginContext(fn);
  if (context != nullptr && IsInnermost(*context)) RecordDetailsOf(fn);
  return context;
}

void OnEnd(const at::RecordFunction& /*fn*/, at::ObserverContext* context) {
  if (context == nullptr) return;
  const auto* const begun = static_cast<const OpContext*>(context);
  // A future may end what a thread began without declaring it asynchronous.
  if (begun->is_async || begun->thread != internal::t_writer->thread) {
    internal::EndRemote(begun->thread, begun->end.handle());
  } else {
    internal::EndScope(begun->end);
  }
}

bool NeedsMarks(uint32_t wants) { return (wants & (internal::kWantCudaAnnotations | internal::kWantCudaOps)) != 0; }

std::unique_ptr<at::ObserverContext> OnBeginWithMarks(const at::RecordFunction& fn) {
  std::unique_ptr<OpContext> context = BeginContext(fn);
  if (context == nullptr) return nullptr;
  context->mark = {};
  if (!IsInnermost(*context)) return context;
  const uint32_t wants = internal::g_switch.wants.load(std::memory_order_relaxed);
  if (NeedsDetails(wants)) RecordDetailsOf(fn);
  if (WantsMarks(fn, wants)) context->mark = BeginMark();
  return context;
}

void OnEndWithMarks(const at::RecordFunction& fn, at::ObserverContext* context) {
  if (context == nullptr) return;
  const auto* const begun = static_cast<const OpContext*>(context);
  if (begun->mark.pair != 0) {
    if (begun->thread == internal::t_writer->thread) {
      internal::EndCudaMark(begun->mark);
    } else {
      internal::AbandonCudaMark(begun->mark);
    }
  }
  OnEnd(fn, context);
}

}  // namespace ferret::torch_adapter
