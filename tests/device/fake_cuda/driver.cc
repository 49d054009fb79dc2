// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What several kinds of objects have to do with each other.
#include "tests/device/fake_cuda/driver.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace fake_cuda {
namespace {

constexpr int64_t kStartNs = 1'000'000'000;

}  // namespace

Model::Model(size_t first_context, size_t first_stream, size_t first_event, int64_t now_ns)
    : contexts(first_context), streams(first_stream, contexts), captures(streams), events(first_event, contexts) {
  devices.emplace_back(0, now_ns);
}

Driver::Driver() : model_(std::make_unique<Model>(1, 1, 1, kStartNs)) {}

Driver& Driver::Get() {
  static Driver& driver = *new Driver;
  return driver;
}

void Driver::Reset() {
  const std::lock_guard<std::mutex> lock(mutex);
  faults.Reset();
  clock.UseVirtual(kStartNs);
  for (auto& latency : latency_ns) latency.store(0, std::memory_order_relaxed);
  model_ = std::make_unique<Model>(model_->contexts.NextHandle(), model_->streams.NextHandle(),
                                   model_->events.NextHandle(), kStartNs);
  generation_.fetch_add(1, std::memory_order_release);
}

ThreadState& Driver::ThisThread() {
  thread_local ThreadState me;
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (me.generation != generation) {
    me = ThreadState{};
    me.generation = generation;
    me.tid = static_cast<int>(syscall(SYS_gettid));
  }
  return me;
}

int Driver::CurrentContext(const ThreadState& me, size_t* context) {
  *context = model_->contexts.Find(me.Current());
  return *context == HandleSpace::kNone ? kInvalidContext : model_->contexts.At(*context).Error();
}

int Driver::ResolveStream(const ThreadState& me, void* handle, std::uintptr_t zero_is, size_t* stream) {
  std::uintptr_t value = reinterpret_cast<std::uintptr_t>(handle);
  if (value == 0) value = zero_is;
  if (value == kLegacyStream || value == kPerThreadStream) {
    size_t context;
    if (const int error = CurrentContext(me, &context)) return error;
    *stream = value == kLegacyStream ? model_->streams.Legacy(context) : model_->streams.PerThread(context, me.tid);
    return kSuccess;
  }
  *stream = model_->streams.Find(handle);
  return *stream == HandleSpace::kNone ? kInvalidHandle
                                       : model_->contexts.At(model_->streams.At(*stream).context).Error();
}

size_t Driver::ActivePrimary(int device) {
  const size_t context = model_->contexts.Find(model_->devices[static_cast<size_t>(device)].primary);
  return context != HandleSpace::kNone && model_->contexts.At(context).alive ? context : HandleSpace::kNone;
}

int Driver::RetainPrimary(int device, void** context) {
  Device& owner = model_->devices[static_cast<size_t>(device)];
  if (owner.primary == nullptr) {
    owner.primary = model_->contexts.Add(device, false);
  } else if (ActivePrimary(device) == HandleSpace::kNone) {
    model_->contexts.Revive(owner.primary);
  }
  ++owner.primary_uses;
  *context = owner.primary;
  return kSuccess;
}

int Driver::ReleasePrimary(int device, bool all) {
  Device& owner = model_->devices[static_cast<size_t>(device)];
  const size_t context = ActivePrimary(device);
  if (context == HandleSpace::kNone) return all ? kSuccess : kInvalidContext;
  owner.primary_uses = all ? 0 : owner.primary_uses - 1;
  if (owner.primary_uses == 0) EndContext(context);
  return kSuccess;
}

int Driver::DestroyContext(void* handle) {
  const size_t context = model_->contexts.Find(handle);
  if (context == HandleSpace::kNone) return kInvalidContext;
  if (!model_->contexts.At(context).alive) return kContextIsDestroyed;
  EndContext(context);
  return kSuccess;
}

void Driver::EndContext(size_t context) {
  model_->events.ForgetAllOf(context);
  for (const size_t stream : model_->contexts.At(context).streams) model_->captures.Forget(stream);
  model_->contexts.At(context).alive = false;
}

int Driver::DestroyStream(void* handle) {
  const size_t stream = model_->streams.Find(handle);
  if (stream == HandleSpace::kNone) return kInvalidHandle;
  Stream& target = model_->streams.At(stream);
  if (!target.alive) {
    ++model_->stream_double_destroys;
    return kInvalidHandle;
  }
  if (const int error = model_->contexts.At(target.context).Error()) return error;
  model_->captures.Forget(stream);
  model_->streams.Destroy(stream);
  return kSuccess;
}

int Driver::Work(size_t stream, int64_t ns, int64_t* end_ns) {
  const int64_t now_ns = clock.NowNs();
  if (end_ns != nullptr) *end_ns = now_ns;
  if (!model_->streams.At(stream).alive) return kInvalidHandle;
  const int check = model_->captures.CheckWork(stream);
  if (check == Captures::kNodeOfGraph) return kSuccess;
  if (check != kSuccess) return check;
  const int64_t end = model_->streams.Enqueue(stream, ns, now_ns);
  if (end_ns != nullptr) *end_ns = end;
  return kSuccess;
}

}  // namespace fake_cuda
