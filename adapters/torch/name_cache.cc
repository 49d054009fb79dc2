// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "adapters/torch/name_cache.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <new>

#include "adapters/torch/thread_memory.h"
#include "ferret/internal/record_format.h"

namespace ferret::torch_adapter {
namespace {

constexpr uint32_t kTableSlots = 2 * kMaxCachedNames;  // at most half full: probes stay short
static_assert((kTableSlots & (kTableSlots - 1)) == 0, "used as a mask");

// Release by the thread that added the name, acquired by readers: the entry is complete before it is seen.
std::atomic<const CachedName*> g_table[kTableSlots];
std::atomic<uint32_t> g_names{0};  // relaxed: only a bound

uint32_t SlotOfAddress(const char* name) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 55);
}
static_assert(kThreadSlots == 1u << (64 - 55), "SlotOfAddress yields that many bits");

bool Matches(const CachedName& entry, const char* name) { return std::strcmp(entry.text, name) == 0; }

bool StartsWith(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

const CachedName* NewEntry(std::string_view name, uint32_t id) {
  void* const memory = std::malloc(sizeof(CachedName) + name.size() + 1);
  if (memory == nullptr) return nullptr;
  auto* const entry = new (memory) CachedName{id, OpNameFlags(name), UserNameFlags(name), NameLaunches(name)};
  std::memcpy(entry->text, name.data(), name.size() + 1);
  return entry;
}

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
    if (Matches(*found, name.data())) {
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

const CachedName* FindName(const char* name, uint32_t (*intern)(std::string_view)) {
  ThreadMemory* const memory = OwnMemory();
  const CachedName** const slot = memory == nullptr ? nullptr : &memory->names[SlotOfAddress(name)];
  if (slot != nullptr && *slot != nullptr && Matches(**slot, name)) return *slot;
  const std::string_view text(name);
  if (text.size() > kMaxCachedLength) return nullptr;
  const CachedName* const found = FindInTable(text, intern);
  if (found != nullptr && slot != nullptr) *slot = found;
  return found;
}

}  // namespace ferret::torch_adapter
