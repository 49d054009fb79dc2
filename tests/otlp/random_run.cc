// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/otlp/random_run.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "ferret/scope_details.h"

namespace ferret::otlp {

int64_t RandomRun::AnyInt() {
  switch (Below(6)) {
    case 0: return 0;
    case 1: return std::numeric_limits<int64_t>::min();
    case 2: return std::numeric_limits<int64_t>::max();
    case 3: return -static_cast<int64_t>(Below(1000));
    default: return static_cast<int64_t>(random_() >> Below(64));
  }
}

double RandomRun::AnyDouble() {
  switch (Below(6)) {
    case 0: return std::numeric_limits<double>::quiet_NaN();
    case 1: return std::numeric_limits<double>::infinity();
    case 2: return -std::numeric_limits<double>::infinity();
    case 3: return -0.0;
    case 4: return std::numeric_limits<double>::denorm_min();
    default: return static_cast<double>(AnyInt()) / 7;
  }
}

std::string RandomRun::AnyText(size_t longest) {
  std::string text(Below(longest + 1), '\0');
  const uint64_t kind = Below(3);
  for (char& c : text) {
    c = static_cast<char>(kind == 0 ? 'a' + Below(26) : kind == 1 ? Below(128) : Below(256));
  }
  if (Below(4) == 0) text += "\xe2\x82\xac\xf0\x9f\x90\xbe";
  return text;
}

void RandomRun::Describe(EventBatch* batch, FunctionEvent* event) {
  EventDetails& details = batch->details.emplace_back();
  event->details = &details;
  if (Below(2) == 0) details.cpu_memory_usage = AnyInt();
  if (Below(2) == 0) details.self_device_memory_usage = AnyInt();
  if (Below(2) == 0) details.flops = AnyInt();
  if (Below(5) == 0) {
    details.trace_name = batch->texts.Keep(Below(2) == 0 ? "ProfilerStep#" + std::to_string(Below(1000)) : AnyText(30));
  }
  ScopeDetails recorded;
  if (Below(2) == 0) recorded.Tensor(AnyText(10), {AnyInt(), 3}, {3, AnyInt()}).Scalar(AnyDouble()).Scalar(AnyInt());
  if (Below(3) == 0) recorded.Scalar(AnyText(20)).None().ScalarList({AnyInt(), AnyInt()}).Scalar(true);
  if (Below(3) == 0) {
    const std::string key = AnyText(5);
    recorded.Keyword(key, AnyDouble()).Keyword(AnyText(5), AnyInt()).Keyword(key, AnyText(9)).Keyword("flag", false);
  }
  if (Below(3) == 0) recorded.Overload(AnyText(12));
  if (Below(3) == 0) recorded.Frame(AnyText(40)).Frame("main.py(3): <module>");
  if (Below(4) == 0) recorded.Module(AnyText(12)).Node(AnyInt(), Below(2) == 0);
  details.recorded = batch->texts.Keep(recorded.bytes());
}

// A scope ends before the one around it is delivered.
void RandomRun::AddScopes(EventBatch* batch, int64_t parent, int32_t os_tid, int64_t from_ns, int64_t to_ns, int depth,
                          int* left) {
  while (*left > 0 && from_ns < to_ns) {
    --*left;
    FunctionEvent event;
    event.id = next_id_++;
    event.parent_id = parent;
    event.start_ns = from_ns + static_cast<int64_t>(Below(static_cast<uint64_t>(to_ns - from_ns)));
    event.end_ns = event.start_ns + static_cast<int64_t>(Below(static_cast<uint64_t>(to_ns - event.start_ns) + 1));
    from_ns = event.end_ns + 1;
    if (depth < 12 && Below(2) == 0) AddScopes(batch, event.id, os_tid, event.start_ns, event.end_ns, depth + 1, left);

    if (Below(8) == 0) {
      event.name = batch->texts.Keep(AnyText(Below(40) == 0 ? 5000 : 60));
    } else {
      event.name_id = static_cast<uint32_t>(1 + Below(table_.size()));
      event.name = table_[event.name_id - 1];
    }
    event.thread = static_cast<uint32_t>(os_tid);
    event.device_resource_id = os_tid;
    event.scope = static_cast<RecordScope>(Below(10));
    event.is_user_annotation = event.scope == RecordScope::kUserScope;
    event.is_truncated = Below(20) == 0;
    event.is_synthesized = Below(50) == 0;
    if (Below(20) == 0) {
      event.is_async = true;
      event.parent_id = 0;
    }
    if (Below(3) == 0) {
      event.sequence_nr = Below(10) == 0 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(Below(1000));
      if (Below(2) == 0 && !forwards_.empty()) {
        event.fwd_thread = Below(2) == 0 ? std::numeric_limits<uint32_t>::max() : 1;
        event.forward_id = forwards_[Below(forwards_.size())];
      } else {
        forwards_.push_back(event.id);
      }
    }
    if (Below(5) == 0) Describe(batch, &event);
    batch->events.push_back(event);

    if (Below(6) == 0) {
      FunctionEvent kernel;
      kernel.id = next_id_++;
      kernel.name_id = event.name_id;
      kernel.name = event.name;
      kernel.start_ns = event.start_ns + 10;
      kernel.end_ns = event.end_ns + 1000;  // outlives the scope
      kernel.device_type = DeviceType::kCuda;
      kernel.device_index = static_cast<int16_t>(Below(3));
      kernel.device_resource_id = static_cast<int32_t>(7 + Below(2));
      kernel.activity_type = Below(2) == 0 ? ActivityType::kKernel : ActivityType::kGpuMemcpy;
      EventDetails& details = batch->details.emplace_back();
      details.launch = &batch->launches.emplace_back(
          DeviceLaunch{event.id, 1, os_tid, kernel.id, event.start_ns, event.start_ns + 5, 300, AnyInt()});
      kernel.details = &details;
      batch->events.push_back(kernel);
    }
  }
}

void RandomRun::AddMoments(EventBatch* batch) {
  for (uint64_t i = Below(5); i > 0; --i) {
    InstantEvent instant;
    instant.kind = static_cast<InstantEvent::Kind>(Below(3));
    instant.name = batch->texts.Keep(AnyText(20));
    instant.time_ns = AnyInt();
    instant.value = AnyDouble();
    instant.device_resource_id = static_cast<int32_t>(Below(4));
    batch->instants.push_back(instant);
  }
  for (uint64_t i = Below(5); i > 0; --i) {
    MemoryEvent memory;
    memory.time_ns = static_cast<int64_t>(random_() >> 2);
    memory.address = random_();
    memory.bytes = AnyInt();
    memory.total_allocated = AnyInt();
    memory.out_of_memory = Below(4) == 0;
    memory.scope_id = static_cast<int64_t>(Below(static_cast<uint64_t>(next_id_)));
    memory.device_index = static_cast<int16_t>(static_cast<int>(Below(3)) - 1);
    batch->memory.push_back(memory);
  }
}

std::vector<std::unique_ptr<EventBatch>> RandomRun::Batches(int count, int events_each) {
  table_ = {"aten::mm", "", "Optimizer.step#AdamW.step", "bad \xff\xfe name", "quote \" and \\", std::string("nul\0", 4)};
  for (int i = 0; i < 20; ++i) table_.push_back(AnyText(40));
  std::vector<std::unique_ptr<EventBatch>> batches;
  int64_t now_ns = 1757000000123456789;
  for (int i = 0; i < count; ++i) {
    batches.push_back(std::make_unique<EventBatch>());
    EventBatch* const batch = batches.back().get();
    batch->sequence = static_cast<uint64_t>(i) + 1;
    for (int32_t thread = 1; thread <= 3; ++thread) {
      if (i == 0) batch->threads.push_back({static_cast<uint32_t>(thread), 0, thread, AnyText(15)});
      int left = events_each / 3 + 1;
      while (left > 0) {
        AddScopes(batch, 0, thread, now_ns, now_ns + 1'000'000, 0, &left);
        now_ns += 1'000'000;
      }
    }
    AddMoments(batch);
  }
  return batches;
}

}  // namespace ferret::otlp
