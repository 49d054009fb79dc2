// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The spans that the OTLP exporter is measured with: 128 names of framework length, 4,096 events that follow each other.

#ifndef FERRET_BENCH_OTLP_EVENTS_H_
#define FERRET_BENCH_OTLP_EVENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"

namespace ferret::otlp {

inline constexpr int kSpans = 4096;
inline constexpr int kNames = 128;
inline constexpr int64_t kStartNs = 1751410836123456789;
inline constexpr char kThreadName[] = "pt_autograd_0";

// plain: no attributes. op: a named thread, a sequence number; every other one a backward op with its link. kernel: device,
// stream, launch.
enum SpanKind { kPlain, kOp, kKernel };

inline const std::vector<std::string>& Names() {
  static const std::vector<std::string>* const names = [] {
    const char* const stems[] = {"aten::add_",
                                 "aten::_foreach_lerp_",
                                 "autograd::engine::evaluate_function: AddmmBackward",
                                 "aten::native_layer_norm_backward",
                                 "aten::copy_",
                                 "Optimizer.step#AdamW.step"};
    auto* list = new std::vector<std::string>;
    for (int i = 0; i < kNames; ++i) list->push_back(stems[i % 6] + std::to_string(i));
    return list;
  }();
  return *names;
}

inline void Fill(SpanKind kind, EventBatch* batch) {
  uint64_t seed = 1;
  int64_t now = kStartNs;
  batch->threads.push_back({1, 0, 4000, kThreadName});
  for (int i = 0; i < kSpans; ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    const uint32_t random = static_cast<uint32_t>(seed >> 33);
    FunctionEvent event;
    event.id = i + 1;
    event.parent_id = i / 2;
    event.name_id = 1 + random % kNames;
    event.name = Names()[event.name_id - 1];
    now += 200 + random % 4000;
    event.start_ns = now;
    event.end_ns = now + 100 + random % 90000;
    event.thread = 1;
    if (kind == kOp) {
      event.device_resource_id = 4000;
      event.sequence_nr = i / 4;
      if (i % 2 == 1) {
        event.fwd_thread = 1;
        event.forward_id = i / 2 + 1;
      }
    }
    if (kind == kKernel) {
      event.device_type = DeviceType::kCuda;
      event.device_resource_id = 7;
      event.activity_type = ActivityType::kKernel;
      EventDetails& details = batch->details.emplace_back();
      details.launch = &batch->launches.emplace_back(
          DeviceLaunch{i / 2 + 1, 1, 4000, event.id, event.start_ns - 5000, event.start_ns - 4000, 300, 1});
      event.details = &details;
    }
    batch->events.push_back(event);
  }
}

inline SessionInfo Info() {
  SessionInfo info;
  info.start_ns = kStartNs;
  info.pid = 900;
  info.host_name = "node-b";
  return info;
}

}  // namespace ferret::otlp

#endif  // FERRET_BENCH_OTLP_EVENTS_H_
