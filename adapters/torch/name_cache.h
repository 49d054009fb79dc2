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

#include <cstdint>
#include <string_view>

namespace ferret::torch_adapter {

struct CachedName {
  uint32_t id;        // Ferret's, never 0
  uint8_t op_flags;   // RecordFlags that follow from the name if it is an operator's …
  uint8_t user_flags;  // … and if it is an annotation's
  bool launches;      // see NameLaunches
  char text[];        // ends with a zero byte
};

inline constexpr uint32_t kMaxCachedNames = 8192;
inline constexpr size_t kMaxCachedLength = 255;

// The flags that follow from a name, as in CachedName.
uint8_t OpNameFlags(std::string_view name);
uint8_t UserNameFlags(std::string_view name);
// Whether an operator of that name may have a device do something: not one that only makes or looks at a tensor.
bool NameLaunches(std::string_view name);

// nullptr when the name is not cached and cannot be. Any thread, also while thread-local destructors run. The function
// that gives out ids is called for a name that is new; it may return 0 for "none left".
const CachedName* FindName(const char* name, uint32_t (*intern)(std::string_view));

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_NAME_CACHE_H_
