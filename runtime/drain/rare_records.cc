// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the EventBuilder that is not for every scope: steps, instants, memory, details.

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "ferret/internal/detail_format.h"
#include "runtime/drain/event_builder.h"
#include "runtime/drain/record_reader.h"
#include "runtime/events/detail_reader.h"
#include "runtime/events/flops.h"
#include "runtime/record/name_table.h"
#include "runtime/record/recorder.h"

namespace ferret::internal {
namespace {

// Bounds what a program can attach to one scope.
constexpr size_t kMaxScopeDetails = 1024 * 1024;

bool IsCpuMemory(DeviceType type) {
  // MKLDNN and IDEEP allocate in the CPU's memory, too.
  constexpr int kMkldnn = 2, kIdeep = 5;
  const int number = static_cast<int>(type);
  return type == DeviceType::kCpu || number == kMkldnn || number == kIdeep;
}

}  // namespace

StepTracker::Surroundings EventBuilder::SurroundingsOf(const ThreadTrace& trace) const {
  StepTracker::Surroundings at;
  at.thread = trace.thread;
  at.first_ns = trace.first_ns;
  at.next_id = config_.chunk_ids ? trace.next_id : next_id_;
  at.open_children_ns = trace.root_children_ns;
  if (!trace.open.empty()) {
    at.open_id = trace.open.back().id;
    at.open_start_ns = trace.open.back().start_ns;
    at.open_children_ns = trace.open.back().children_ns;
  }
  return at;
}

void EventBuilder::OptimizerEnded(ThreadTrace& trace, int64_t now_ns) {
  // An optimizer that wraps another one: the outer one's end is the step's.
  bool annotated = false;
  for (const OpenScope& scope : trace.open) {
    if (scope.flags & kEndsStep) return;
    annotated |= (scope.flags & kMarksStep) != 0;
  }
  StepTracker::Slice slice;
  if (steps_.OnOptimizerEnd(SurroundingsOf(trace), now_ns, annotated, &slice)) EmitStep(trace, slice, now_ns);
}

void EventBuilder::EmitStep(ThreadTrace& trace, const StepTracker::Slice& slice, int64_t now_ns) {
  if (!config_.steps) return;
  steps_ended_ = slice.number + 1;
  step_end_ns_ = now_ns;
  device_.EndStep(trace, slice.start_ns);
  FunctionEvent& event = NewExtraEvent();
  event.parent_id = trace.open.empty() ? 0 : trace.open.back().id;
  event.start_ns = slice.start_ns;
  event.end_ns = now_ns;
  event.self_ns = slice.self_ns;
  event.thread = trace.shown_thread();
  event.device_resource_id = trace.os_tid;
  event.scope = RecordScope::kUserScope;
  event.is_user_annotation = true;
  event.is_synthesized = true;
  event.activity_type = ActivityType::kUserAnnotation;
  // Numbers never end: they do not belong into the name table.
  NameStep(event, absl::StrCat(absl::string_view(kStepPrefix.data(), kStepPrefix.size()), slice.number));
}

void EventBuilder::Rare(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns) {
  const bool has_inline_name = (FlagsOf(header) & kInlineName) != 0;
  const RecordType type = TypeOf(header);
  switch (type) {
    case RecordType::kRemoteEnd:
      ++trace.remote_ends;
      RemoteEnd(static_cast<uint32_t>(Word(record, 2)), PayloadOf(header), now_ns);
      return;
    case RecordType::kInstant:
    case RecordType::kCounter: {
      DeliverIfFull(batch_->instants.size());
      ++built_;
      InstantEvent& instant = batch_->instants.emplace_back();
      instant.time_ns = now_ns;
      instant.thread = trace.shown_thread();
      instant.device_resource_id = trace.os_tid;
      uint32_t bytes = kInstantBytes;
      if (type == RecordType::kCounter) {
        instant.kind = InstantEvent::Kind::kCounter;
        const uint64_t bits = Word(record, 2);
        std::memcpy(&instant.value, &bits, sizeof(bits));
        bytes = kCounterBytes;
      }
      instant.name_id = PayloadOf(header);
      instant.name = has_inline_name ? batch_->texts.Keep(InlineName(record, header, bytes))
                                     : names_.Text(instant.name_id);
      return;
    }
    case RecordType::kLoss: {
      InstantEvent& instant = batch_->instants.emplace_back();
      ++batch_->extra;
      instant.kind = InstantEvent::Kind::kLoss;
      instant.name = LossReasonText(static_cast<LossReason>(PayloadOf(header)));
      instant.time_ns = now_ns;
      instant.value = static_cast<double>(Word(record, 2));
      instant.since_ns = std::min(now_ns, clock_->ToNs(Word(record, 3)));
      instant.thread = trace.shown_thread();
      instant.device_resource_id = trace.os_tid;
      return;
    }
    case RecordType::kStep: {
      const uint64_t number = Word(record, 2);
      if (PayloadOf(header) == kStepBegins) {
        steps_.OnStepBegin(SurroundingsOf(trace), now_ns, number);
        return;
      }
      StepTracker::Slice slice;
      if (steps_.OnProgramStep(SurroundingsOf(trace), now_ns, number != kNextStep, number, &slice)) {
        EmitStep(trace, slice, now_ns);
      }
      return;
    }
    case RecordType::kThreadName: {
      trace.name = has_inline_name ? InlineName(record, header, kThreadNameBytes) : names_.Text(PayloadOf(header));
      ThreadNotice(trace, 0);
      return;
    }
    case RecordType::kDetails: {
      const size_t length = std::min(PayloadOf(header), std::max(RecordBytes(header), kDetailsBytes) - kDetailsBytes);
      // Details without a scope have nobody whom they could describe.
      if (trace.open.empty()) return;
      std::string& details = ExtrasOf(trace.open.back()).details;
      if (details.size() + length <= kMaxScopeDetails) {
        details.append(record + kDetailsBytes, length);
      } else {
        Recorder::CountLostDetails();
      }
      return;
    }
    case RecordType::kMemory:
      Memory(trace, record, header, now_ns);
      return;
    case RecordType::kDeviceBegin:
      device_.Begin(trace, PayloadOf(header), now_ns);
      return;
    case RecordType::kDeviceEnd: {
      const uint64_t word = Word(record, 2);
      std::optional<DeviceLoss> lost;
      if (const uint64_t outcome = word >> 32; outcome != kDevicePairComplete) {
        lost = static_cast<DeviceLoss>(std::min<uint64_t>(outcome - kDevicePairLost, kDeviceLossCount - 1));
      }
      device_.End(trace, PayloadOf(header), static_cast<uint32_t>(word), lost, now_ns);
      return;
    }
    case RecordType::kThreadExit:
      CloseAll(trace, now_ns);
      trace.exited = true;
      return;
    default:
      ++unknown_records_;
  }
}

void EventBuilder::Memory(ThreadTrace& trace, const char* record, uint64_t header, int64_t now_ns) {
  DeliverIfFull(batch_->memory.size());
  ++built_;
  MemoryEvent& event = batch_->memory.emplace_back();
  event.time_ns = now_ns;
  event.address = Word(record, 2);
  event.bytes = static_cast<int64_t>(Word(record, 3));
  event.total_allocated = static_cast<int64_t>(Word(record, 4));
  event.total_reserved = static_cast<int64_t>(Word(record, 5));
  event.thread = trace.shown_thread();
  event.device_resource_id = trace.os_tid;
  event.device_index = static_cast<int16_t>(Word(record, 6));
  event.device_type = static_cast<DeviceType>(PayloadOf(header) & 0xff);
  event.out_of_memory = (PayloadOf(header) >> 8 & 1) != 0;
  if (trace.open.empty()) return;
  event.scope_id = trace.open.back().id;
  if (event.out_of_memory) return;
  ScopeExtras& extras = ExtrasOf(trace.open.back());
  extras.has_memory = true;
  (IsCpuMemory(event.device_type) ? extras.self_cpu_bytes : extras.self_device_bytes) += event.bytes;
}

ScopeExtras& EventBuilder::ExtrasOf(OpenScope& scope) {
  if (scope.extras == nullptr) scope.extras = extras_.Take();
  return *scope.extras;
}

void EventBuilder::PassMemoryOn(const OpenScope& closed, OpenScope& outer) {
  ScopeExtras& extras = ExtrasOf(outer);
  extras.has_memory = true;
  extras.children_cpu_bytes += closed.extras->self_cpu_bytes + closed.extras->children_cpu_bytes;
  extras.children_device_bytes += closed.extras->self_device_bytes + closed.extras->children_device_bytes;
}

EventDetails& EventBuilder::DetailsOf(FunctionEvent& event) {
  if (event.details == nullptr) event.details = &batch_->details.emplace_back();
  return *event.details;
}

void EventBuilder::UseExtras(FunctionEvent& event, ScopeExtras* extras) {
  if (event.name_id == 0) event.name = batch_->texts.Keep(extras->name);
  event.is_legacy = extras->is_legacy;
  if (!extras->details.empty() || extras->has_memory) {
    EventDetails& details = DetailsOf(event);
    details.recorded = batch_->texts.Keep(extras->details);
    details.flops = FlopsOf(event);
    details.self_cpu_memory_usage = extras->self_cpu_bytes;
    details.self_device_memory_usage = extras->self_device_bytes;
    details.cpu_memory_usage = extras->self_cpu_bytes + extras->children_cpu_bytes;
    details.device_memory_usage = extras->self_device_bytes + extras->children_device_bytes;
  }
  extras_.Give(extras);
}

int64_t EventBuilder::FlopsOf(const FunctionEvent& event) const {
  std::string_view own;
  int64_t flops = 0;
  if (FindDetail(event.details->recorded, DetailKind::kFlops, &own)) {
    DetailReader(own).ReadSigned(&flops);
  } else if (config_.with_flops) {
    flops = EstimateFlops(event.name, event.details->recorded);
  }
  return flops;
}

void EventBuilder::NameStep(FunctionEvent& event, std::string_view trace_name) {
  DetailsOf(event).trace_name = batch_->texts.Keep(trace_name);
  event.name = kStepName;
  event.name_id = step_name_id_;
}

}  // namespace ferret::internal
