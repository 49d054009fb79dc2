// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the EventBuilder that shows what is open while it is open: after a hang there is nothing more telling.

#include <algorithm>

#include "runtime/drain/event_builder.h"

namespace ferret::internal {

std::shared_ptr<EventBatch> EventBuilder::ListOpen(uint64_t ticks) const {
  auto batch = std::make_shared<EventBatch>();
  const int64_t now_ns = clock_->ToNs(ticks);
  for (const auto& entry : traces_) {
    const ThreadTrace& trace = *entry.second;
    const int64_t until_ns = std::min(std::max(now_ns, trace.last_ns), WindowEndNs(trace));
    const auto add = [&](const OpenScope& scope, const OpenScope* child, bool async) {
      FunctionEvent& event = batch->events.emplace_back(trace.usual);
      event.id = scope.id;
      event.parent_id = scope.parent_id;
      event.start_ns = scope.start_ns;
      event.end_ns = std::max(until_ns, scope.start_ns);
      // The child's time is not among its children's yet.
      const int64_t child_ns = child == nullptr ? 0 : std::max<int64_t>(0, event.end_ns - child->start_ns);
      event.self_ns = async ? 0 : std::max<int64_t>(0, event.duration_ns() - scope.children_ns - child_ns);
      event.sequence_nr = scope.sequence_nr;
      event.name_id = scope.name_id;
      event.scope = static_cast<RecordScope>(scope.scope);
      if (event.scope == RecordScope::kUserScope) {
        event.is_user_annotation = true;
        event.activity_type = ActivityType::kUserAnnotation;
      }
      event.is_async = async;
      event.is_truncated = true;
      event.is_synthesized = true;
      if (scope.fwd_thread != 0) {
        const bool framework_ids = (scope.flags & kFrameworkThreads) != 0;
        event.fwd_thread = framework_ids ? scope.fwd_thread : ShownThread(scope.fwd_thread);
      }
      const bool is_inline = scope.name_id == 0 && scope.extras != nullptr;
      event.name = is_inline ? batch->texts.Keep(scope.extras->name) : names_.Text(scope.name_id);
    };
    for (size_t i = trace.open.size(); i-- > 0;) {
      add(trace.open[i], i + 1 < trace.open.size() ? &trace.open[i + 1] : nullptr, false);
    }
    for (const auto& async : trace.open_async) add(async.second, nullptr, true);
  }
  batch->extra = batch->events.size();
  return batch;
}

}  // namespace ferret::internal
