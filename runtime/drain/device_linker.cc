// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/drain/device_linker.h"

#include <algorithm>

#include "ferret/internal/detail_format.h"
#include "ferret/internal/record_format.h"
#include "ferret/record_scope.h"
#include "runtime/drain/record_reader.h"
#include "runtime/events/detail_reader.h"
#include "runtime/record/name_table.h"

namespace ferret::internal {
namespace {

// Of one thread, since its last step: a program without steps has none of them.
constexpr size_t kMostCandidates = 16'384;
// As in Kineto's traces, which keep them in 31 bits.
constexpr uint64_t kMostCorrelation = 0x7fffffff;

// What the program said of a launch: copies have bytes and no grid.
ActivityType WorkOf(std::string_view recorded) {
  std::string_view payload;
  if (!FindDetail(recorded, DetailKind::kMetadata, &payload)) return ActivityType::kKernel;
  ActivityType work = ActivityType::kKernel;
  DetailReader reader(payload);
  std::string_view name;
  for (Value value; !reader.done() && reader.ReadText(&name) && reader.ReadValue(&value);) {
    if (name == "grid") return ActivityType::kKernel;
    if (name == "bytes") work = ActivityType::kGpuMemcpy;
  }
  return work;
}

ShareKey StepKey(uint32_t name_id) {
  ShareKey key;
  key.name = kStepName;
  key.name_id = name_id;
  key.is_user_annotation = true;
  return key;
}

bool IsAnnotation(const OpenScope& scope) {
  return scope.scope == static_cast<uint8_t>(RecordScope::kUserScope);
}

}  // namespace

DeviceLinker::DeviceLinker(Sink* sink, ExtrasPool* extras, NameTable* names)
    : sink_(sink),
      extras_(extras),
      names_(names),
      step_name_id_(names->Intern(kStepName)),
      step_key_(StepKey(step_name_id_)) {}

DeviceLinker::~DeviceLinker() = default;

std::shared_ptr<const ShareKey> DeviceLinker::KeyOf(OpenScope& scope) {
  if (scope.extras == nullptr) scope.extras = extras_->Take();
  ScopeExtras& extras = *scope.extras;
  if (extras.key != nullptr) return extras.key;
  auto key = std::make_shared<ShareKey>();
  key->name_id = scope.name_id;
  if (scope.name_id == 0) key->name = extras.name;
  key->is_user_annotation = IsAnnotation(scope);
  const std::string_view name = scope.name_id == 0 ? extras.name : names_->Text(scope.name_id);
  // As in the event: steps share a name.
  if (key->is_user_annotation && IsStepName(name)) {
    key->trace_name = name;
    key->name = kStepName;
    key->name_id = step_name_id_;
  }
  key->is_legacy = extras.timed != nullptr && (extras.timed->inner != 0 || key->is_user_annotation);
  key->recorded = extras.details;
  extras.key = key;
  return key;
}

void DeviceLinker::Begin(ThreadTrace& trace, PairId pair, int64_t now_ns) {
  if (trace.open.empty()) {
    ++counts_[DeviceLoss::kScopeLost];
    return;
  }
  OpenScope& scope = trace.open.back();
  if (scope.extras == nullptr) scope.extras = extras_->Take();
  if (scope.extras->timed != nullptr) {  // one pair for each scope
    ++counts_[DeviceLoss::kScopeLost];
    return;
  }
  auto timed = std::make_unique<TimedScope>();
  timed->token = next_token_++;
  timed->pair = pair;
  timed->scope_id = scope.id;
  timed->begin_ns = now_ns;
  timed->thread = trace.shown_thread();
  timed->os_tid = trace.os_tid;
  for (size_t i = trace.open.size() - 1; i-- > 0 && timed->outer == nullptr;) {
    if (trace.open[i].extras != nullptr) timed->outer = trace.open[i].extras->timed;
  }
  if (timed->outer != nullptr) {
    ++timed->outer->inner;
    ++timed->outer->inner_pending;
  }
  scope.extras->timed = timed.get();
  scopes_.emplace(timed->token, std::move(timed));
}

void DeviceLinker::End(ThreadTrace& trace, PairId pair, uint32_t place, std::optional<DeviceLoss> lost,
                       int64_t now_ns) {
  size_t depth = trace.open.size();
  const auto is_this = [pair](const OpenScope& scope) {
    return scope.extras != nullptr && scope.extras->timed != nullptr && scope.extras->timed->pair == pair &&
           !scope.extras->timed->ended;
  };
  while (depth > 0 && !is_this(trace.open[depth - 1])) --depth;
  if (depth == 0) {
    // Its beginning was not read: the scope is of an earlier window, or was closed by force. The pair goes back all the
    // same.
    if (!lost) submitted_.push_back({pair, place, 0, 0, 0});
    return;
  }
  TimedScope* const timed = trace.open[depth - 1].extras->timed;
  timed->ended = true;
  timed->end_ns = now_ns;
  Describe(trace, depth - 1, timed);
  if (lost) {
    ++counts_[*lost];
    Fail(timed);
  } else {
    submitted_.push_back({pair, place, timed->begin_ns, now_ns, timed->token});
  }
}

// What is needed of the scopes around, which may be closed when the result comes.
void DeviceLinker::Describe(ThreadTrace& trace, size_t place, TimedScope* timed) {
  OpenScope& scope = trace.open[place];
  timed->key = KeyOf(scope);
  scope.extras->is_legacy = timed->key->is_legacy;
  bool inside_outer = false;
  for (size_t i = place; i-- > 0;) {
    OpenScope& around = trace.open[i];
    inside_outer |= around.extras != nullptr && around.extras->timed != nullptr;
    if (!inside_outer) timed->around.push_back(KeyOf(around));
    if (timed->outer != nullptr && around.extras != nullptr && around.extras->timed == timed->outer) {
      timed->outer->key = KeyOf(around);
    }
    // The pair of an annotation that is timed itself says more than what was timed inside.
    if (!IsAnnotation(around) || (around.extras != nullptr && around.extras->timed != nullptr)) continue;
    const std::shared_ptr<const ShareKey> key = KeyOf(around);
    ScopeExtras& extras = *around.extras;
    if (extras.range == nullptr) {
      auto range = std::make_unique<AnnotationRange>();
      range->scope_id = around.id;
      range->key = key;
      range->thread = trace.shown_thread();
      extras.range = range.get();
      ranges_.emplace(extras.range, std::move(range));
    }
    ++extras.range->pending;
    timed->annotations.push_back(extras.range);
  }
  std::vector<std::shared_ptr<StepCandidate>>& candidates = candidates_[trace.thread];
  if (candidates.size() >= kMostCandidates) Fold(&candidates);
  timed->candidate = std::make_shared<StepCandidate>();
  timed->candidate->start_ns = timed->begin_ns;
  if (timed->outer != nullptr) timed->candidate->outer = timed->outer->token;
  candidates.push_back(timed->candidate);
}

// What is settled and lies in nothing that is timed becomes one: a step lies behind the last one, and has all of them.
void DeviceLinker::Fold(std::vector<std::shared_ptr<StepCandidate>>* candidates) {
  auto sum = std::make_shared<StepCandidate>();
  sum->settled = true;
  std::vector<std::shared_ptr<StepCandidate>> kept = {sum};
  for (const std::shared_ptr<StepCandidate>& candidate : *candidates) {
    if (candidate->settled && candidate->outer == 0) {
      sum->start_ns = std::max(sum->start_ns, candidate->start_ns);
      sum->device_ns += candidate->device_ns;
    } else {
      kept.push_back(candidate);
    }
  }
  // All run, or lie in one timed scope that has their time: what is oldest is of the least use.
  if (kept.size() >= kMostCandidates) kept.erase(kept.begin() + 1, kept.begin() + kMostCandidates / 2);
  *candidates = std::move(kept);
}

void DeviceLinker::Close(ThreadTrace& trace, size_t place, bool truncated) {
  ScopeExtras& extras = *trace.open[place].extras;
  if (TimedScope* const timed = extras.timed) {
    if (!timed->ended) {  // there was no room for its second mark, or the scope is not over
      ++counts_[truncated ? DeviceLoss::kAbandonedAtStop : DeviceLoss::kScopeLost];
      timed->ended = true;
      Describe(trace, place, timed);
      Fail(timed);
    }
    extras.timed = nullptr;
    timed->open = false;
    Release(timed);
  }
  if (AnnotationRange* const range = extras.range) {
    extras.range = nullptr;
    range->closed = true;
    Annotate(range);
  }
}

void DeviceLinker::EndStep(const ThreadTrace& trace, int64_t start_ns) {
  const auto found = candidates_.find(trace.thread);
  if (found == candidates_.end()) return;
  // The step lies inside of what is open at its end.
  const auto is_around = [&trace](uint64_t token) {
    return std::any_of(trace.open.begin(), trace.open.end(), [token](const OpenScope& scope) {
      return scope.extras != nullptr && scope.extras->timed != nullptr && scope.extras->timed->token == token;
    });
  };
  int64_t known_ns = 0;
  for (const auto& candidate : found->second) {
    if (candidate->start_ns < start_ns || (candidate->outer != 0 && !is_around(candidate->outer))) continue;
    candidate->in_step = true;
    if (candidate->settled) known_ns += candidate->device_ns;
  }
  candidates_.erase(found);
  if (known_ns != 0) Share(step_key_, 0, known_ns);
}

void DeviceLinker::Use(const ShareKey& key) {
  if (key.batch == sink_->BatchNumber()) return;
  key.batch = sink_->BatchNumber();
  TextArena& texts = sink_->CurrentBatch().texts;
  key.batch_name = key.name_id != 0 ? names_->Text(key.name_id) : texts.Keep(key.name);
  key.batch_recorded = texts.Keep(key.recorded);
}

void DeviceLinker::Share(const ShareKey& key, int64_t self_ns, int64_t total_ns) {
  EventBatch& batch = sink_->CurrentBatch();
  DeviceTimeShare& share = batch.device_times.emplace_back();
  Use(key);
  share.name_id = key.name_id;
  share.name = key.batch_name;
  share.is_user_annotation = key.is_user_annotation;
  share.is_legacy = key.is_legacy;
  share.recorded = key.batch_recorded;
  share.self_ns = self_ns;
  share.total_ns = total_ns;
}

void DeviceLinker::Fail(TimedScope* timed) {
  timed->failed = true;
  if (timed->inner_pending == 0) Settle(timed, timed->inner_ns);
}

void DeviceLinker::Settle(TimedScope* timed, int64_t device_ns) {
  timed->settled = true;
  if (device_ns != 0) {
    Share(*timed->key, device_ns, device_ns);
    for (const auto& key : timed->around) Share(*key, 0, device_ns);
    if (timed->outer != nullptr) Share(*timed->outer->key, -device_ns, 0);
  }
  if (StepCandidate* const candidate = timed->candidate.get()) {
    candidate->settled = true;
    candidate->device_ns = device_ns;
    if (candidate->in_step && device_ns != 0) Share(step_key_, 0, device_ns);
  }
  for (AnnotationRange* range : timed->annotations) {
    --range->pending;
    Annotate(range);
  }
  TimedScope* const outer = timed->outer;
  timed->outer = nullptr;
  if (outer != nullptr) {
    outer->inner_ns += device_ns;
    --outer->inner_pending;
    if (outer->failed && !outer->settled && outer->inner_pending == 0) {
      Settle(outer, outer->inner_ns);
    } else {
      Release(outer);
    }
  }
  Release(timed);
}

void DeviceLinker::Release(TimedScope* timed) {
  if (timed->settled && !timed->open && timed->inner_pending == 0) scopes_.erase(timed->token);
}

void DeviceLinker::OnOutput(const DeviceOutput& output) {
  EventBatch& batch = sink_->CurrentBatch();
  batch.devices.insert(batch.devices.end(), output.devices.begin(), output.devices.end());
  batch.streams.insert(batch.streams.end(), output.streams.begin(), output.streams.end());
  for (const PairResult& result : output.results) {
    const auto found = scopes_.find(result.token);
    if (found == scopes_.end() || found->second->settled) continue;
    if (result.timed) {
      ++counts_.timed;
      Emit(found->second.get(), result);
    } else {
      ++counts_[result.reason];
      Fail(found->second.get());
    }
  }
}

FunctionEvent& DeviceLinker::NewEvent(const ShareKey& key, StreamId stream, const DeviceRange& range, uint32_t thread,
                                      int64_t scope_id) {
  FunctionEvent& event = sink_->NewExtraEvent();
  EventBatch& batch = sink_->CurrentBatch();
  Use(key);
  event.name_id = key.name_id;
  event.name = key.batch_name;
  event.start_ns = range.start_ns;
  event.end_ns = range.end_ns;
  event.self_ns = range.end_ns - range.start_ns;
  event.thread = thread;
  event.device_type = event.use_device = DeviceType::kCuda;
  event.device_index = stream.first;
  event.device_resource_id = stream.second;
  event.details = &batch.details.emplace_back();
  event.details->linked_correlation_id = scope_id;
  event.details->trace_name = batch.texts.Keep(key.trace_name);
  return event;
}

void DeviceLinker::Emit(TimedScope* timed, const PairResult& result) {
  const StreamId stream{result.device_index, result.stream};
  DeviceRange range{result.start_ns, result.end_ns};
  // What was done inside of it on the same stream was done inside of it, whatever the clocks' relation made of it.
  if (const auto inside = timed->inside.find(stream); inside != timed->inside.end()) {
    range.Cover(inside->second.start_ns, inside->second.end_ns);
  }
  if (timed->outer != nullptr) timed->outer->inside[stream].Cover(range.start_ns, range.end_ns);
  for (AnnotationRange* annotation : timed->annotations) annotation->streams[stream].Cover(range.start_ns, range.end_ns);

  const ShareKey& key = *timed->key;
  FunctionEvent& event = NewEvent(key, stream, range, timed->thread, timed->scope_id);
  event.is_legacy = key.is_legacy;
  event.is_user_annotation = key.is_legacy;
  event.activity_type = key.is_legacy ? ActivityType::kGpuUserAnnotation : WorkOf(key.recorded);
  event.details->recorded = key.batch_recorded;
  DeviceLaunch& launch = sink_->CurrentBatch().launches.emplace_back();
  launch.scope_id = timed->scope_id;
  launch.thread = timed->thread;
  launch.os_tid = timed->os_tid;
  launch.correlation = static_cast<int64_t>((timed->token - 1) % kMostCorrelation) + 1;
  launch.start_ns = timed->begin_ns;
  launch.end_ns = timed->end_ns;
  launch.clock_error_ns = result.error_ns;
  launch.context = result.shown_domain;
  event.details->launch = &launch;
  Settle(timed, event.end_ns - event.start_ns);
}

void DeviceLinker::Annotate(AnnotationRange* range) {
  if (!range->closed || range->pending != 0) return;
  for (const auto& [stream, extent] : range->streams) {
    FunctionEvent& event = NewEvent(*range->key, stream, extent, range->thread, range->scope_id);
    event.is_user_annotation = true;
    event.is_synthesized = true;
    event.activity_type = ActivityType::kGpuUserAnnotation;
  }
  ranges_.erase(range);
}

// Inner ones first, so that those around them know what they have.
void DeviceLinker::Finish() {
  while (!scopes_.empty()) {
    const auto last = std::prev(scopes_.end());
    if (last->second->settled) {
      scopes_.erase(last);
    } else {
      if (!last->second->failed) ++counts_[DeviceLoss::kAbandonedAtStop];
      last->second->failed = true;
      last->second->open = true;  // erased here only
      Settle(last->second.get(), last->second->inner_ns);
    }
  }
}

}  // namespace ferret::internal
