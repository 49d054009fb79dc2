// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeviceKit: a CudaTimer over the fake driver and a PairTracker over that, on the fake's virtual clock, without threads.
//
//   DeviceKit kit;
//   void* const stream = kit.NewStream();
//   kit.Time(stream, [&] { kit.fake.Kernel(stream, 5000); });
//   kit.RunFor(10'000'000);
//   kit.results ...

#ifndef FERRET_TESTS_DEVICE_DEVICE_KIT_H_
#define FERRET_TESTS_DEVICE_DEVICE_KIT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/device/cuda/cuda_timer.h"
#include "runtime/device/pair_tracker.h"
#include "tests/device/fake_cuda/fake_cuda_loader.h"

namespace ferret::internal {

class DeviceKit {
 public:
  explicit DeviceKit(PairTracker::Config config = {}) : fake(fake_cuda::Load().fake) {
    fake.Reset();
    fake.Initialize();
    EXPECT_TRUE(timer.Open(fake_cuda::Load().path)) << timer.status().text;
    tracker = std::make_unique<PairTracker>(config, &timer, [this] { return fake.NowNs(); });
  }

  CuStream NewStream(int device = 0, unsigned flags = 0) {
    void*& context = contexts_[device];
    if (context == nullptr) context = fake.NewContext(device);
    fake.MakeCurrent(context);
    return static_cast<CuStream>(fake.NewStream(context, flags));
  }
  void* context(int device = 0) { return contexts_[device]; }

  // So that there are pairs to be had.
  void Prepare(CuStream stream) {
    bool has_pairs = false;
    EXPECT_EQ(timer.Look(stream, 1, &has_pairs), std::nullopt);
    Pass();
  }

  struct Truth {
    int64_t begin_put_ns = 0;
    int64_t end_put_ns = 0;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
  };

  // What a recording thread and the drain do with a timed scope. The loss, if there is one.
  template <typename Work>
  std::optional<DeviceLoss> Time(CuStream stream, Work work, uint64_t* token = nullptr) {
    SubmittedPair pair;
    pair.begin_ns = fake.NowNs();
    CudaTimer::Begun begun;
    if (const auto loss = timer.Begin(stream, 1, &begun)) return loss;
    work();
    pair.end_ns = fake.NowNs();
    if (const auto loss = timer.End(stream, begun.pair)) return loss;
    pair.pair = begun.pair;
    pair.place = begun.place;
    pair.token = ++tokens;
    if (token != nullptr) *token = pair.token;
    CudaContext& context = timer.context(DomainOf(pair.pair));
    Truth& truth = truths[pair.token];
    truth.begin_put_ns = pair.begin_ns;
    truth.end_put_ns = pair.end_ns;
    fake.StampNs(context.event(BeginMark(pair.pair)), &truth.start_ns);
    fake.StampNs(context.event(EndMark(pair.pair)), &truth.end_ns);
    tracker->Submit(pair);
    return std::nullopt;
  }

  void Pass(bool settle = false) {
    timer.Maintain();
    DeviceOutput output;
    tracker->Pass(settle, &output);
    Take(&output);
  }
  void GiveUp() {
    DeviceOutput output;
    tracker->GiveUp(&output);
    Take(&output);
  }
  // Passes every so often, as the device thread would.
  void RunFor(int64_t ns, int64_t step_ns = 5'000'000) {
    for (const int64_t until = fake.NowNs() + ns; fake.NowNs() < until;) {
      fake.AdvanceNs(step_ns);
      Pass();
    }
  }
  void Settle() {
    for (int i = 0; i < 100 && !tracker->idle(); ++i) {
      fake.AdvanceNs(1'000'000);
      Pass(true);
    }
  }

  const PairResult* ResultOf(uint64_t token) const {
    const auto found = results.find(token);
    return found == results.end() ? nullptr : &found->second;
  }

  fake_cuda::FakeCuda& fake;
  CudaTimer timer;
  std::unique_ptr<PairTracker> tracker;
  uint64_t tokens = 0;
  std::map<uint64_t, Truth> truths;
  std::map<uint64_t, PairResult> results;  // by token
  std::vector<DeviceInfo> devices;
  std::vector<StreamInfo> streams;

 private:
  void Take(DeviceOutput* output) {
    for (const PairResult& result : output->results) {
      EXPECT_TRUE(results.emplace(result.token, result).second) << "two results of one pair";
    }
    devices.insert(devices.end(), output->devices.begin(), output->devices.end());
    streams.insert(streams.end(), output->streams.begin(), output->streams.end());
  }

  std::map<int, void*> contexts_;
};

}  // namespace ferret::internal

#endif  // FERRET_TESTS_DEVICE_DEVICE_KIT_H_
