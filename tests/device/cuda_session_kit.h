// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole sessions over the fake driver, on the real clock: what tests of ferret/cuda.h share.

#ifndef FERRET_TESTS_DEVICE_CUDA_SESSION_KIT_H_
#define FERRET_TESTS_DEVICE_CUDA_SESSION_KIT_H_

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ferret/cuda.h"
#include "ferret/session.h"
#include "runtime/device/cuda/cuda_switch.h"
#include "runtime/device/cuda/cuda_timer.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"
#include "tests/session/session_kit.h"

namespace ferret {

class CudaSessions {
 public:
  explicit CudaSessions(int devices = 1) : fake(fake_cuda::Load().fake) {
    fake.Reset();
    fake.UseMonotonicClock();
    fake.SetDeviceCount(devices);
    fake.Initialize();
    options = TestOptions();
    options.cuda_library = fake_cuda::Load().path;
    options.cuda_rate = 0;
    options.log = Options::Log::kError;
  }

  void* NewContext(int device = 0) {
    void* const context = fake.NewContext(device);
    fake.MakeCurrent(context);
    return context;
  }
  cuda::Stream NewStream(void* context, unsigned flags = 0) {
    return static_cast<cuda::Stream>(fake.NewStream(context, flags));
  }

  void Start() {
    collector = std::make_shared<MemoryCollector>(100'000'000);
    const absl::Status status = StartSession(options, Exporters().Memory(collector).Take());
    ASSERT_TRUE(status.ok()) << status;
  }
  CollectedTrace Stop() {
    EXPECT_TRUE(Stop60().ok());
    return collector->Take();
  }

  fake_cuda::FakeCuda& fake;
  Options options;
  std::shared_ptr<MemoryCollector> collector;
};

inline bool IsTimed(const FunctionEvent& event) { return event.device_type == DeviceType::kCuda && !event.is_synthesized; }

// asked = timed + lost, and as many events on devices as were timed, each of which belongs to a scope that was delivered.
// Why scopes were not timed, for people: "pool_exhausted 2".
inline std::string DeviceLossesText() {
  const DeviceCounts counts = DeviceLosses();
  std::string text;
  for (size_t i = 0; i < kDeviceLossCount; ++i) {
    const DeviceLoss reason = static_cast<DeviceLoss>(i);
    if (counts[reason] > 0) text += std::string(DeviceLossText(reason)) + " " + std::to_string(counts[reason]) + " ";
  }
  return text;
}

inline void ExpectExactDevices(uint64_t asked, const CollectedTrace& trace) {
  const DeviceCounts counts = DeviceLosses();
  EXPECT_TRUE(trace.complete());
  EXPECT_EQ(counts.asked, asked);
  EXPECT_EQ(counts.asked, counts.timed + counts.total_lost());
  EXPECT_EQ(trace.progress.device.asked, counts.asked) << "what an exporter was told at its end";
  EXPECT_EQ(trace.progress.device.timed, counts.timed);
  std::map<int64_t, const FunctionEvent*> scopes;
  for (const FunctionEvent& event : trace.events) {
    if (event.device_type == DeviceType::kCpu) scopes[event.id] = &event;
  }
  uint64_t timed = 0, unlinked = 0, misnamed = 0, early = 0, backwards = 0;
  for (const FunctionEvent& event : trace.events) {
    if (!IsTimed(event)) continue;
    ++timed;
    ASSERT_NE(event.details, nullptr);
    ASSERT_NE(event.details->launch, nullptr);
    const DeviceLaunch& launch = *event.details->launch;
    const auto found = scopes.find(launch.scope_id);
    if (found == scopes.end()) {
      ++unlinked;
      continue;
    }
    misnamed += event.name != found->second->name;
    early += event.start_ns < launch.start_ns || launch.start_ns < found->second->start_ns ||
             launch.end_ns > found->second->end_ns || event.end_ns < launch.end_ns;
    backwards += event.end_ns < event.start_ns;
  }
  EXPECT_EQ(timed, counts.timed);
  EXPECT_EQ(unlinked, 0u);
  EXPECT_EQ(misnamed, 0u);
  EXPECT_EQ(early, 0u);
  EXPECT_EQ(backwards, 0u);
}

inline std::string Text(const DeviceCounts& counts) {
  std::string text = "asked " + std::to_string(counts.asked) + ", timed " + std::to_string(counts.timed);
  for (size_t i = 0; i < kDeviceLossCount; ++i) {
    if (counts.lost[i] == 0) continue;
    text += std::string(", ") + DeviceLossText(static_cast<DeviceLoss>(i)) + " " + std::to_string(counts.lost[i]);
  }
  return text;
}

}  // namespace ferret

#endif  // FERRET_TESTS_DEVICE_CUDA_SESSION_KIT_H_
