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

// PyTorch gives nodes that are nobody's backward (AccumulateGrad) the number -1 and yet a forward thread.
internal::OpFields FieldsOf(const at::RecordFunction& fn) {
  const int64_t number = fn.seqNr() < 0 ? -1 : fn.seqNr();
  const uint64_t fwd_thread = number < 0 ? 0 : fn.forwardThreadId();
  return {number, static_cast<uint32_t>(fwd_thread), static_cast<uint8_t>(fn.scope())};
}

// The short record says all there is to say about an annotation or an operator without a number.
bool IsShort(const at::RecordFunction& fn) {
  return fn.seqNr() < 0 && (fn.scope() == at::RecordScope::USER_SCOPE || fn.scope() == at::RecordScope::FUNCTION);
}

// With a name that the cache has no room for.
FERRET_COLD internal::ScopeEnd BeginUncached(const at::RecordFunction& fn, const char* text, bool is_async) {
  const bool user = fn.scope() == at::RecordScope::USER_SCOPE;
  uint8_t flags = internal::kFrameworkThreads | (user ? UserNameFlags(text) : OpNameFlags(text));
  if (user) flags |= internal::kUserAnnotation;
  if (is_async) flags |= internal::kAsync;
  return IsShort(fn) ? internal::BeginNamed(text, flags) : internal::BeginOpNamed(text, flags, FieldsOf(fn));
}

uint64_t LongUserHeader(const CachedName& name) {
  const uint8_t flags = internal::FlagsOf(name.user_header);
  return internal::RecordHeader(internal::RecordType::kOpBegin, internal::kOpBeginBytes, flags, name.id);
}

FERRET_INLINE internal::ScopeEnd Begin(const at::RecordFunction& fn, const CachedName& name, uint32_t epoch,
                                       bool is_async) {
  const bool user = fn.scope() == at::RecordScope::USER_SCOPE;
  const uint64_t async = is_async ? internal::RecordHeader({}, 0, internal::kAsync, 0) : 0;
  if (IsShort(fn)) return internal::BeginScope((user ? name.user_header : name.op_header) | async, epoch);
  return internal::BeginOp((user ? LongUserHeader(name) : name.long_op_header) | async, epoch, FieldsOf(fn));
}

FERRET_COLD OpContext* Refused(OpContext* context) {
  delete context;
  return nullptr;
}

// Null where nothing was begun. PyTorch's functions are called first, so that there is little to keep over a call; and
// the pointer is a plain one since nothing throws between `new` and the end.
FERRET_INLINE OpContext* BeginContext(const at::RecordFunction& fn) {
  const char* const text = fn.name();
  const bool is_async = fn.isAsync();
  // 0 in a forked child that records nothing but inherits the callback, and for a moment around start and stop.
  const uint32_t epoch = internal::CurrentEpoch();
  if (epoch == 0) return nullptr;
  const CachedName* const name = FindName(text, &internal::InternName);
  // Before the scope begins, so that what it may cost lies outside of it.
  OpContext* const context = new OpContext;
  if (FERRET_UNLIKELY(context == nullptr)) return nullptr;
  const internal::ScopeEnd end =
      FERRET_LIKELY(name != nullptr) ? Begin(fn, *name, epoch, is_async) : BeginUncached(fn, text, is_async);
  if (FERRET_UNLIKELY(!end)) return Refused(context);
  context->end = end;
  context->thread = internal::t_writer->thread;
  context->is_async = is_async;
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

std::unique_ptr<at::ObserverContext> OnBegin(const at::RecordFunction& fn) {
  return std::unique_ptr<at::ObserverContext>(BeginContext(fn));
}

std::unique_ptr<at::ObserverContext> OnBeginWithDetails(const at::RecordFunction& fn) {
  OpContext* const context = BeginContext(fn);
  if (context != nullptr && IsInnermost(*context)) RecordDetailsOf(fn);
  return std::unique_ptr<at::ObserverContext>(context);
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
  std::unique_ptr<OpContext> context(BeginContext(fn));
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
