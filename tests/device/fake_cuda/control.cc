// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FakeCuda over the driver's model.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/device/fake_cuda/call.h"
#include "tests/device/fake_cuda/driver.h"
#include "tests/device/fake_cuda/fake_cuda.h"

namespace fake_cuda {
namespace {

int FunctionOrAll(const char* function) { return function == nullptr ? Faults::kAll : FindFunction(function); }

// For what only a mistake in the test brings about.
void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fake CUDA: %s\n", what);
  std::abort();
}

class Control final : public FakeCuda {
 private:
  template <typename Body>
  auto With(const Body& body) {
    const std::lock_guard<std::mutex> lock(driver_.mutex);
    return body(driver_.model());
  }

  static Model& Initialized(Model& model) {
    model.init_result = model.devices.empty() ? kNoDevice : kSuccess;
    return model;
  }

  static Device& At(Model& model, int device) {
    Require(device >= 0 && static_cast<size_t>(device) < model.devices.size(), "no such device");
    return model.devices[static_cast<size_t>(device)];
  }

  template <typename Change>
  void ChangeClock(int device, const Change& change) {
    With([&](Model& model) { change(At(model, device).NewClock(driver_.clock.NowNs())); });
  }

  size_t Resolve(void* stream) {
    size_t found = HandleSpace::kNone;
    driver_.ResolveStream(driver_.ThisThread(), stream, kLegacyStream, &found);
    Require(found != HandleSpace::kNone, "no such stream");
    return found;
  }

  Driver& driver_ = Driver::Get();

 public:
  void Reset() override { driver_.Reset(); }

  int64_t NowNs() override { return driver_.clock.NowNs(); }
  void AdvanceNs(int64_t ns) override { driver_.clock.AdvanceNs(ns); }
  void UseVirtualClock(int64_t now_ns) override { driver_.clock.UseVirtual(now_ns); }
  void UseClock(int64_t (*now_ns)(void* user), void* user) override { driver_.clock.UseFunction(now_ns, user); }
  void UseMonotonicClock() override { driver_.clock.UseMonotonic(); }

  void SetDriftPpm(int device, double ppm) override {
    ChangeClock(device, [&](GpuClock& clock) { clock.ppm = ppm; });
  }
  void StepDeviceClockNs(int device, int64_t ns) override {
    ChangeClock(device, [&](GpuClock& clock) { clock.offset_ns += ns; });
  }
  void SetWander(int device, double (*wander_ns)(void* user, int64_t now_ns), void* user) override {
    ChangeClock(device, [&](GpuClock& clock) {
      clock.wander_ns = wander_ns;
      clock.user = user;
    });
  }
  void SetGranularityNs(int device, int64_t ns) override {
    ChangeClock(device, [&](GpuClock& clock) { clock.granularity_ns = ns; });
  }
  void SetFrontEndCostNs(int64_t ns) override {
    With([&](Model& model) { model.front_end_ns = ns; });
  }
  void SetLatencyNs(const char* function, int64_t ns) override {
    const int only = FunctionOrAll(function);
    for (int i = 0; i < kFunctionCount; ++i) {
      if (only == Faults::kAll || only == i) driver_.latency_ns[static_cast<size_t>(i)] = ns;
    }
  }

  void SetDeviceCount(int count) override {
    With([&](Model& model) {
      Require(model.init_result != kSuccess, "the number of devices is set before cuInit");
      while (model.devices.size() > static_cast<size_t>(count)) model.devices.pop_back();
      while (model.devices.size() < static_cast<size_t>(count)) {
        model.devices.emplace_back(static_cast<int>(model.devices.size()), driver_.clock.NowNs());
      }
    });
  }
  void SetDriverVersion(int version) override {
    With([&](Model& model) { model.driver_version = version; });
  }
  void SetDeviceName(int device, const char* name) override {
    With([&](Model& model) { At(model, device).name = name; });
  }
  void SetDeviceMemory(int device, size_t bytes) override {
    With([&](Model& model) { At(model, device).memory_bytes = bytes; });
  }
  void SetDeviceAttribute(int device, int attribute, int value) override {
    With([&](Model& model) { At(model, device).attributes[attribute] = value; });
  }
  void SetUnavailable(const char* function, bool unavailable) override {
    With([&](Model& model) {
      if (unavailable) {
        model.unavailable.insert(FindFunction(function));
      } else {
        model.unavailable.erase(FindFunction(function));
      }
    });
  }

  void Initialize() override {
    With([](Model& model) { Initialized(model); });
  }
  void* NewContext(int device, bool green) override {
    return With([&](Model& model) {
      At(Initialized(model), device);
      return model.contexts.Add(device, green);
    });
  }
  void* RetainPrimary(int device) override {
    return With([&](Model& model) {
      At(Initialized(model), device);
      void* context = nullptr;
      driver_.RetainPrimary(device, &context);
      return context;
    });
  }
  void ReleasePrimary(int device) override {
    With([&](Model& model) {
      At(model, device);
      Require(driver_.ReleasePrimary(device, /*all=*/false) == kSuccess, "no primary context to release");
    });
  }
  void DestroyContext(void* context) override {
    With([&](Model&) { Require(driver_.DestroyContext(context) == kSuccess, "no context to destroy"); });
  }
  void MakeCurrent(void* context) override {
    With([&](Model&) { driver_.ThisThread().SetCurrent(context); });
  }
  void* NewStream(void* context, unsigned flags, int priority) override {
    return With([&](Model& model) {
      const size_t owner = model.contexts.Find(context);
      Require(owner != HandleSpace::kNone, "a stream of no context");
      return model.streams.Handle(model.streams.Add(owner, flags, priority));
    });
  }
  void DestroyStream(void* stream) override {
    With([&](Model&) { Require(driver_.DestroyStream(stream) == kSuccess, "no stream to destroy"); });
  }
  void SetStreamGreen(void* stream, bool green) override {
    With([&](Model& model) { model.streams.At(Resolve(stream)).green = green; });
  }
  uint64_t StreamId(void* stream) override {
    return With([&](Model& model) { return model.streams.At(Resolve(stream)).id; });
  }
  uint64_t ContextId(void* context) override {
    return With([&](Model& model) {
      const size_t found = model.contexts.Find(context);
      Require(found != HandleSpace::kNone, "the id of no context");
      return model.contexts.At(found).id;
    });
  }

  int Kernel(void* stream, int64_t ns) override {
    return With([&](Model&) {
      size_t found;
      const int error = driver_.ResolveStream(driver_.ThisThread(), stream, kLegacyStream, &found);
      return error != kSuccess ? error : driver_.Work(found, ns, nullptr);
    });
  }
  int64_t ReadyAtNs(void* stream) override {
    return With([&](Model& model) { return std::max(model.streams.ReadyNs(Resolve(stream)), driver_.clock.NowNs()); });
  }
  void SetKernelNs(const char* kernel, int64_t ns) override {
    With([&](Model& model) {
      if (kernel == nullptr) {
        model.modules.default_ns = ns;
      } else {
        model.modules.SetKernelNs(kernel, ns);
      }
    });
  }
  void SetCopyNs(int64_t ns) override {
    With([&](Model& model) { model.modules.copy_ns = ns; });
  }

  int BeginCapture(void* stream, int mode) override {
    return With([&](Model& model) { return model.captures.Begin(Resolve(stream), mode, driver_.ThisThread()); });
  }
  int EndCapture(void* stream) override {
    return With([&](Model& model) { return model.captures.End(Resolve(stream)); });
  }
  void SetViolationsInvalidate(bool invalidate) override {
    With([&](Model& model) { model.captures.violations_invalidate = invalidate; });
  }

  void FailNext(const char* function, int code, int count, int skip) override {
    With([&](Model&) { driver_.faults.Fail(FunctionOrAll(function), code, count, skip); });
  }
  void FailAlways(const char* function, int code) override {
    With([&](Model&) { driver_.faults.Fail(FunctionOrAll(function), code, Faults::kForEver, 0); });
  }
  void StopFailing() override {
    With([&](Model&) { driver_.faults.StopFailing(); });
  }
  void LoseDevice(int device, int code) override {
    With([&](Model& model) {
      for (size_t i = 0; i < model.contexts.size(); ++i) {
        if (model.contexts.At(i).device == device) model.contexts.At(i).lost = code;
      }
    });
  }
  void LoseContext(void* context, int code) override {
    With([&](Model& model) {
      const size_t found = model.contexts.Find(context);
      Require(found != HandleSpace::kNone, "no context to lose");
      model.contexts.At(found).lost = code;
    });
  }
  void HangNext(const char* function, int count) override {
    With([&](Model&) { driver_.faults.Hang(FunctionOrAll(function), count); });
  }
  void WaitUntilHung(const char* function) override {
    std::unique_lock<std::mutex> lock(driver_.mutex);
    driver_.faults.WaitUntilHung(FunctionOrAll(function), lock);
  }
  int HungThreads() override {
    return With([&](Model&) { return driver_.faults.Hung(); });
  }
  void ReleaseHangs() override {
    With([&](Model&) { driver_.faults.ReleaseHangs(); });
  }

  Counts GetCounts() override {
    return With([&](Model& model) {
      const Events& events = model.events;
      Counts counts = {};
      counts.events_created = events.created;
      counts.events_destroyed = events.destroyed;
      counts.events_alive = events.alive;
      counts.events_alive_max = events.alive_max;
      counts.records = events.records;
      counts.records_into_captures = events.records_into_captures;
      counts.double_destroys = events.double_destroys + model.stream_double_destroys;
      counts.uses_after_destroy = events.uses_after_destroy;
      counts.records_on_destroyed_streams = events.records_on_destroyed_streams;
      counts.rerecords_of_unread = events.rerecords_of_unread;
      counts.elapsed_on_pending = events.elapsed_on_pending;
      counts.capture_violations = model.captures.violations;
      counts.captures_invalidated = model.captures.invalidated;
      counts.forbidden_calls = model.forbidden_calls;
      return counts;
    });
  }
  uint64_t Calls(const char* function) override {
    return With([&](Model&) { return driver_.faults.Calls(FunctionOrAll(function)); });
  }
  uint64_t EventsCreatedBy(int tid) override {
    return With([&](Model& model) {
      const auto found = model.events.created_by.find(tid);
      return found != model.events.created_by.end() ? found->second : 0;
    });
  }
  void ForbidThread(int tid, bool forbid) override {
    With([&](Model& model) {
      if (forbid) {
        model.forbidden_threads.insert(tid);
      } else {
        model.forbidden_threads.erase(tid);
      }
    });
  }
  const char* ForbiddenCalls() override {
    thread_local std::string names;
    names.clear();
    With([&](Model& model) {
      for (const int function : model.forbidden_functions) {
        names += std::string(names.empty() ? "" : ", ") + FunctionName(static_cast<Function>(function));
      }
    });
    return names.c_str();
  }

  bool StampNs(void* event, int64_t* now_ns) override {
    return With([&](Model& model) {
      const Event* const found = model.events.Find(event);
      if (found == nullptr || !found->recorded || found->stamp_ns == Event::kNever) return false;
      *now_ns = found->stamp_ns;
      return true;
    });
  }
};

}  // namespace
}  // namespace fake_cuda

FAKE_CUDA_API fake_cuda::FakeCuda* ferret_fake_cuda() {
  static fake_cuda::Control& control = *new fake_cuda::Control;
  return &control;
}
