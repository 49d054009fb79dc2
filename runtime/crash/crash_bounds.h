// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reader of crash files takes for possible, and how it loads what the file has.

#ifndef FERRET_RUNTIME_CRASH_CRASH_BOUNDS_H_
#define FERRET_RUNTIME_CRASH_CRASH_BOUNDS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace ferret::internal {

// Ranges that leave room for any sum and difference: ids, and Unix ns up to the year 2116.
inline constexpr int64_t kMostId = int64_t{1} << 61;
inline constexpr uint64_t kMostCount = uint64_t{1} << 56;
inline constexpr int64_t kMostNs = int64_t{1} << 62;
// Ns per tick, as a segment's slope has it: more than any clock's.
inline constexpr uint64_t kMostSlope = uint64_t{1} << 40;
// A year, about, after the last reading of the clock, and some hours before the first.
inline constexpr uint64_t kMostNsAfter = uint64_t{1} << 55;
inline constexpr uint64_t kMostTicksBefore = uint64_t{1} << 44;

// A value of the file's, which may stand at any address.
template <typename Type>
void CopyFrom(std::string_view bytes, uint64_t offset, Type* to) {
  std::memcpy(static_cast<void*>(to), bytes.data() + offset, sizeof(Type));
}

// Up to its 0, if it has one.
inline std::string TextOf(const char* text, size_t size) { return std::string(text, strnlen(text, size)); }

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_BOUNDS_H_
