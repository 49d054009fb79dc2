// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the EventBuilder that is for crash files: ids that a reader finds again, and what is carried, to and fro.

#include <algorithm>
#include <cstring>

#include "runtime/drain/event_builder.h"

namespace ferret::internal {
namespace {

CarriedScope CarriedOf(const OpenScope& scope, bool is_async) {
  CarriedScope carried = {};
  carried.id = scope.id;
  carried.parent_id = scope.parent_id;
  carried.start_ns = scope.start_ns;
  carried.children_ns = scope.children_ns;
  carried.sequence_nr = scope.sequence_nr;
  carried.name_id = scope.name_id;
  carried.handle = scope.handle;
  carried.fwd_thread = scope.fwd_thread;
  carried.scope = scope.scope;
  carried.flags = scope.flags;
  carried.is_async = is_async;
  if (scope.name_id == 0 && scope.extras != nullptr) {
    carried.name_bytes = static_cast<uint32_t>(std::min(scope.extras->name.size(), sizeof(carried.name)));
    std::memcpy(carried.name, scope.extras->name.data(), carried.name_bytes);
  }
  return carried;
}

}  // namespace

void EventBuilder::NumberScopes(ThreadTrace& trace, Chunk* chunk) {
  if (chunk->first_id == 0) {
    chunk->first_id = static_cast<uint64_t>(next_id_);
    next_id_ += (chunk->chunk_bytes - chunk->header_bytes) / kBeginBytes;
  }
  trace.next_id = static_cast<int64_t>(chunk->first_id);
  trace.begins = chunk->begins;
}

std::vector<CarriedScope> EventBuilder::OpenScopes(const ThreadTrace& trace, size_t most) const {
  std::vector<CarriedScope> scopes;
  scopes.reserve(std::min(most, trace.open.size() + trace.open_async.size()));
  const auto add = [&](const OpenScope& scope, bool is_async) {
    if (scopes.size() < most) scopes.push_back(CarriedOf(scope, is_async));
    return scopes.size() < most;
  };
  for (const OpenScope& scope : trace.open) {
    if (!add(scope, false)) return scopes;
  }
  for (const auto& entry : trace.open_async) {
    if (!add(entry.second, true)) return scopes;
  }
  return scopes;
}

void EventBuilder::Reopen(ThreadTrace& trace, const CarriedScope& carried) {
  if (carried.ended != 0) return;
  OpenScope scope;
  scope.id = carried.id;
  scope.parent_id = carried.parent_id;
  scope.start_ns = carried.start_ns;
  scope.children_ns = carried.children_ns;
  scope.sequence_nr = carried.sequence_nr;
  scope.name_id = carried.name_id;
  scope.handle = carried.handle;
  scope.fwd_thread = carried.fwd_thread;
  scope.scope = carried.scope;
  // Whose turn it was to inherit is not carried.
  scope.flags = carried.flags & static_cast<uint8_t>(~kInheritsBackward);
  scope.extras = nullptr;
  if (carried.name_id == 0) {
    scope.extras = extras_.Take();
    scope.extras->name.assign(carried.name, std::min<size_t>(carried.name_bytes, sizeof(carried.name)));
  }
  trace.last_ns = std::max(trace.last_ns, scope.start_ns);
  if (carried.is_async != 0) {
    trace.open_async.emplace(scope.handle, scope);
  } else {
    trace.open.push_back(scope);
  }
}

std::optional<CarriedSteps> EventBuilder::StepsAfter(const ThreadTrace& trace, uint32_t sequence) const {
  if (trace.thread != steps_.thread()) return std::nullopt;
  CarriedSteps carried = {};
  steps_.Save(&carried);
  carried.after_sequence = sequence;
  carried.window = trace.window;
  carried.root_children_ns = trace.root_children_ns;
  return carried;
}

void EventBuilder::RestoreSteps(ThreadTrace& trace, const CarriedSteps& carried) {
  steps_.Restore(carried);
  trace.window = carried.window;
  trace.root_children_ns = carried.root_children_ns;
}

}  // namespace ferret::internal
