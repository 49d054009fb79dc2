// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The events that the Chrome-trace exporter and its peer are measured with.

#ifndef FERRET_BENCH_CHROME_TRACE_EVENTS_H_
#define FERRET_BENCH_CHROME_TRACE_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ferret/event_batch.h"

namespace ferret {

inline constexpr int kBatchEvents = 4096;
inline constexpr int kNames = 128;
inline constexpr int64_t kStartNs = 1751410836123456789;

inline std::vector<std::string> Names() {
  const char* const stems[] = {"aten::add_",
                               "aten::_foreach_lerp_",
                               "autograd::engine::evaluate_function: AddmmBackward",
                               "aten::native_layer_norm_backward",
                               "aten::copy_",
                               "Optimizer.step#AdamW.step"};
  std::vector<std::string> names;
  for (int i = 0; i < kNames; ++i) names.push_back(stems[i % 6] + std::to_string(i));
  return names;
}

// A stream of batches whose times go on, so that a compressor sees what it would see in a run.
class Source {
 public:
  // Of scopes, or of kernels that were timed: launches and arrows come with them.
  explicit Source(bool kernels) : kernels_(kernels), names_(Names()) {}

  const EventBatch& Next() {
    batch_.Clear();
    for (int i = 0; i < kBatchEvents; ++i) {
      seed_ = seed_ * 6364136223846793005 + 1442695040888963407;
      const uint32_t random = static_cast<uint32_t>(seed_ >> 33);
      FunctionEvent event;
      event.id = next_id_++;
      event.name_id = 1 + random % kNames;
      event.name = names_[event.name_id - 1];
      now_ += 200 + random % 4000;
      event.start_ns = now_;
      event.end_ns = now_ + 100 + random % 90000;
      event.device_resource_id = 4000 + (i / 512) % 8;
      event.sequence_nr = random % 4 == 0 ? next_id_ / 4 : -1;
      event.is_user_annotation = random % 5 == 0;
      if (kernels_) MakeKernel(&event);
      batch_.events.push_back(event);
    }
    return batch_;
  }

 private:
  void MakeKernel(FunctionEvent* event) {
    event->end_ns = event->start_ns + 150;
    event->device_type = event->use_device = DeviceType::kCuda;
    event->device_resource_id = 7;
    event->activity_type = ActivityType::kKernel;
    event->is_user_annotation = false;
    EventDetails& details = batch_.details.emplace_back();
    const int64_t start_ns = event->start_ns - 5000;
    details.launch = &batch_.launches.emplace_back(
        DeviceLaunch{event->id, 1, 4000, event->id, start_ns, start_ns + 1000, 300, 1});
    event->details = &details;
  }

  const bool kernels_;
  const std::vector<std::string> names_;
  EventBatch batch_;
  uint64_t seed_ = 1;
  int64_t next_id_ = 1;
  int64_t now_ = kStartNs;
};

}  // namespace ferret

#endif  // FERRET_BENCH_CHROME_TRACE_EVENTS_H_
