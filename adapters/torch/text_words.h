// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads texts that end with a zero byte by words of eight bytes, beyond that zero byte too.

#ifndef FERRET_ADAPTERS_TORCH_TEXT_WORDS_H_
#define FERRET_ADAPTERS_TORCH_TEXT_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ferret::torch_adapter {

// Whether so many words at a text may be read although the text may be shorter: what is on the page that it begins on is
// there. Nowhere that the bytes behind a text are watched: by a sanitizer, or by the tags that other CPUs keep of memory.
inline bool MayReadWords(const char* text, size_t words) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr uintptr_t kPage = 4096;  // the smallest there is
  return (reinterpret_cast<uintptr_t>(text) & (kPage - 1)) <= kPage - 8 * words;
#else
  static_cast<void>(text);
  static_cast<void>(words);
  return false;
#endif
}

inline uint64_t WordAt(const char* at) {
  uint64_t word;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

}  // namespace ferret::torch_adapter

#endif  // FERRET_ADAPTERS_TORCH_TEXT_WORDS_H_
