// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Access to the words and texts of a record.

#ifndef FERRET_RUNTIME_DRAIN_RECORD_READER_H_
#define FERRET_RUNTIME_DRAIN_RECORD_READER_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "ferret/internal/record_format.h"

namespace ferret::internal {

inline uint64_t Word(const char* record, uint32_t index) {
  uint64_t value;
  std::memcpy(&value, record + 8 * index, 8);
  return value;
}

// The text of a record with kInlineName, whose fixed part is `bytes` long.
inline std::string_view InlineName(const char* record, uint64_t header, uint32_t bytes) {
  // Signed: a record that is too short for a text has none.
  const int64_t room = int64_t{RecordBytes(header)} - bytes - 8;
  if (room <= 0) return {};
  return {record + bytes + 8, std::min(Word(record, bytes / 8), static_cast<uint64_t>(room))};
}

// `ProfilerStep#7`, the name of the training step with that number. In averages all steps share kStepName.
inline constexpr std::string_view kStepPrefix = "ProfilerStep#";
inline constexpr std::string_view kStepName = "ProfilerStep*";
inline bool IsStepName(std::string_view name) { return name.substr(0, kStepPrefix.size()) == kStepPrefix; }

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_DRAIN_RECORD_READER_H_
