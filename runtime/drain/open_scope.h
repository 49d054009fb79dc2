// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A scope between its begin and its end, as the drain keeps it.

#ifndef FERRET_RUNTIME_DRAIN_OPEN_SCOPE_H_
#define FERRET_RUNTIME_DRAIN_OPEN_SCOPE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ferret::internal {

struct TimedScope;       // device_linker.h
struct AnnotationRange;  // device_linker.h
struct ShareKey;         // device_linker.h

// What few scopes have.
struct ScopeExtras {
  std::string name;     // of a scope with kInlineName
  std::string details;  // as recorded, see internal/detail_format.h
  // Bytes allocated less bytes freed while it was the innermost one, and in its closed children.
  int64_t self_cpu_bytes = 0;
  int64_t self_device_bytes = 0;
  int64_t children_cpu_bytes = 0;
  int64_t children_device_bytes = 0;
  bool has_memory = false;
  // The device linker's, which owns them.
  TimedScope* timed = nullptr;         // its time on a device is being taken
  AnnotationRange* range = nullptr;    // it is an annotation around such a scope
  std::shared_ptr<const ShareKey> key;  // what it is added up under
  bool is_legacy = false;              // see FunctionEvent

  bool has_details() const { return !details.empty() || has_memory; }
};

// Extras that keep their memory from one scope to the next.
class ExtrasPool {
 public:
  ScopeExtras* Take() {
    if (free_.empty()) return new ScopeExtras;
    ScopeExtras* const extras = free_.back().release();
    free_.pop_back();
    return extras;
  }
  void Give(ScopeExtras* extras) {
    std::unique_ptr<ScopeExtras> owned(extras);
    if (free_.size() >= kMaxFree) return;
    owned->name.clear();
    owned->details.clear();
    owned->self_cpu_bytes = owned->self_device_bytes = 0;
    owned->children_cpu_bytes = owned->children_device_bytes = 0;
    owned->has_memory = false;
    owned->timed = nullptr;
    owned->range = nullptr;
    owned->key.reset();
    owned->is_legacy = false;
    free_.push_back(std::move(owned));
  }

 private:
  static constexpr size_t kMaxFree = 1024;
  std::vector<std::unique_ptr<ScopeExtras>> free_;
};

struct OpenScope {
  OpenScope() {}  // whoever opens it writes every field, once and in place

  // Not in an event's order: the compiler would copy two at once, and wait until both were stored.
  int64_t id;
  int64_t start_ns;
  int64_t parent_id;
  int64_t children_ns;  // time of its direct children so far
  int64_t sequence_nr;
  ScopeExtras* extras;  // owned, null for most
  uint32_t name_id;
  uint32_t handle;
  uint32_t fwd_thread;
  uint8_t scope;  // RecordScope
  uint8_t flags;  // RecordFlags
};
static_assert(sizeof(OpenScope) == 64, "one cache line");

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_OPEN_SCOPE_H_
