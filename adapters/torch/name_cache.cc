// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/name_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "ferret/internal/record_format.h"

namespace ferret::torch_adapter {
namespace {

constexpr uint32_t kTableSlots = 2 * kMaxCachedNames;  // at most half full: probes stay short
static_assert((kTableSlots & (kTableSlots - 1)) == 0, "used as a mask");

// Release by the thread that added the name, acquired by readers: the entry is complete before it is seen.
std::atomic<const CachedName*> g_table[kTableSlots];
std::atomic<uint32_t> g_names{0};  // relaxed: only a bound

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

const CachedName* NewEntry(std::string_view name, uint32_t id) {
  using internal::RecordHeader;
  using internal::RecordType;
  const size_t whole_words = name.size() / 8;
  void* const memory = std::calloc(1, sizeof(CachedName) + (whole_words + 1) * 8);
  if (memory == nullptr) return nullptr;
  const uint8_t op_flags = OpNameFlags(name), user_flags = UserNameFlags(name);
  const uint8_t op = op_flags | internal::kFrameworkThreads, user = user_flags | internal::kFrameworkThreads |
                                                                   internal::kUserAnnotation;
  auto* const entry = new (memory) CachedName{
      RecordHeader(RecordType::kScopeBegin, internal::kBeginBytes, op, id),
      RecordHeader(RecordType::kScopeBegin, internal::kBeginBytes, user, id),
      RecordHeader(RecordType::kOpBegin, internal::kOpBeginBytes, op, id),
      id,
      op_flags,
      user_flags,
      NameLaunches(name),
      static_cast<uint8_t>(whole_words),
      ~uint64_t{0} >> (56 - name.size() % 8 * 8),
  };
  std::memcpy(entry->text, name.data(), name.size());
  return entry;
}
static_assert(kMaxCachedLength / 8 <= 255, "whole_words holds it");

// `name` is followed by a zero byte.
const CachedName* FindInTable(std::string_view name, uint32_t (*intern)(std::string_view)) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  uint32_t slot = static_cast<uint32_t>(hash ^ hash >> 32) % kTableSlots;

  for (const CachedName* added = nullptr;; slot = (slot + 1) % kTableSlots) {
    const CachedName* found = g_table[slot].load(std::memory_order_acquire);
    if (found == nullptr) {
      if (added == nullptr) {
        if (g_names.fetch_add(1, std::memory_order_relaxed) >= kMaxCachedNames) {
          g_names.fetch_sub(1, std::memory_order_relaxed);
          return nullptr;
        }
        const uint32_t id = intern(name);
        added = id == 0 ? nullptr : NewEntry(name, id);
        if (added == nullptr) {
          g_names.fetch_sub(1, std::memory_order_relaxed);
          return nullptr;
        }
      }
      if (g_table[slot].compare_exchange_strong(found, added, std::memory_order_release, std::memory_order_acquire)) {
        return added;
      }
    }
    // Either it was there, or another thread was faster and `found` is that thread's.
    if (IsTextOf(*found, name.data())) {
      if (added != nullptr) {
        std::free(const_cast<CachedName*>(added));
        g_names.fetch_sub(1, std::memory_order_relaxed);
      }
      return found;
    }
  }
}

}  // namespace

uint8_t OpNameFlags(std::string_view name) {
  return StartsWith(name, "autograd::engine::evaluate_function: ") ? internal::kInheritsBackward : internal::kNoFlags;
}

uint8_t UserNameFlags(std::string_view name) {
  if (StartsWith(name, "Optimizer.step#")) return internal::kEndsStep;
  if (StartsWith(name, "ProfilerStep#")) return internal::kMarksStep;
  return internal::kNoFlags;
}

bool NameLaunches(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  // Those that PyTorch's own timing of operators with events left out.
  constexpr std::string_view kLaunchNothing[] = {
      "view",       "t",      "transpose", "stride",  "empty",     "empty_like",   "empty_strided",
      "as_strided", "expand", "resize_",   "squeeze", "unsqueeze", "_unsafe_view", "slice",         "size"};
  if (!StartsWith(name, kPrefix)) return true;
  name.remove_prefix(kPrefix.size());
  return std::find(std::begin(kLaunchNothing), std::end(kLaunchNothing), name) == std::end(kLaunchNothing);
}

const CachedName* FindNameInTable(const char* name, uint32_t (*intern)(std::string_view)) {
  const std::string_view text(name);
  if (text.size() > kMaxCachedLength) return nullptr;
  const CachedName* const found = FindInTable(text, intern);
  ThreadMemory* const memory = OwnMemory();
  if (found != nullptr && memory != nullptr) memory->names[SlotOfAddress(name)] = found;
  return found;
}

}  // namespace ferret::torch_adapter
