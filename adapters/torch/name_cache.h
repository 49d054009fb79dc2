// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// From the name of an operator, as PyTorch hands it out at every call, to Ferret's id for it.
//
// Two levels. Both find names by content only, since a pointer says little: PyTorch keeps operator names in schemas,
// which may be unloaded and their memory used again, and all other names inside of RecordFunction objects on the stack.
//
//   per thread:  512 slots, chosen by the *address* of the text  ──┐
//                                                                  ├──► CachedName (immutable, never freed)
//   process:     open hash table, chosen by the text ──────────────┘
//
// An address that was seen before nearly always holds the same text again, so the first level usually answers, after
// one comparison of the text. Neither level allocates or locks for a name that is in the second one. Bounded: 8,192
// names of at most 255 bytes; what does not fit is simply not cached.

#ifndef FERRET_ADAPTERS_TORCH_NAME_CACHE_H_
#define FERRET_ADAPTERS_TORCH_NAME_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "adapters/torch/text_words.h"
#include "adapters/torch/thread_memory.h"

namespace ferret::torch_adapter {

struct CachedName {
  // What a begin writes first: kScopeBegin of an operator and of an annotation, kOpBegin of an operator. With the flags
  // that follow from the name, and kFrameworkThreads.
  uint64_t op_header;
  uint64_t user_header;
  uint64_t long_op_header;
  uint32_t id;            // Ferret's, never 0
  uint8_t op_flags;       // RecordFlags that follow from the name if it is an operator's …
  uint8_t user_flags;     // … and if it is an annotation's
  bool launches;          // see NameLaunches
  uint8_t whole_words;    // of the text: those that its terminating zero is not in
  uint64_t last_mask;     // of the word that it is in: the bytes up to it
  char text[];            // padded to words with zero bytes
};

inline constexpr uint32_t kMaxCachedNames = 8192;
inline constexpr size_t kMaxCachedLength = 255;

// The flags that follow from a name, as in CachedName.
uint8_t OpNameFlags(std::string_view name);
uint8_t UserNameFlags(std::string_view name);
// Whether an operator of that name may have a device do something: not one that only makes or looks at a tensor.
bool NameLaunches(std::string_view name);

// Any text, ended by a zero byte.
inline bool IsTextOf(const CachedName& entry, const char* name) {
  if (!MayReadWords(name, size_t{entry.whole_words} + 1)) return std::strcmp(entry.text, name) == 0;
  const char* text = entry.text;
  for (uint32_t words = entry.whole_words; words != 0; --words, text += 8, name += 8) {
    if (WordAt(text) != WordAt(name)) return false;
  }
  return WordAt(text) == (WordAt(name) & entry.last_mask);
}

inline uint32_t SlotOfAddress(const char* name) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(name) * 0x9e3779b97f4a7c15u >> 55);
}
static_assert(kThreadSlots == 1u << (64 - 55), "SlotOfAddress yields that many bits");

// FindName for what is not in the calling thread's first level.
__attribute__((noinline)) const CachedName* FindNameInTable(const char* name, uint32_t (*intern)(std::string_view));

// nullptr when the name is not cached and cannot be. Any thread, also while thread-local destructors run. The function
// that gives out ids is called for a name that is new; it may return 0 for "none left".
inline const CachedName* FindName(const char* name, uint32_t (*intern)(std::string_view)) {
  const ThreadMemory* const memory = t_memory;
  if (IsThere(memory)) {
    const CachedName* const cached = memory->names[SlotOfAddress(name)];
    if (__builtin_expect(cached != nullptr && IsTextOf(*cached, name), 1)) return cached;
  }
  return FindNameInTable(name, intern);
}

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_NAME_CACHE_H_
