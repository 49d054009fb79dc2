// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CrashNames: the names of a crash file, each taken into a table of its own when a record first needs it.
//
// Entries of a real file do not overlap. Those of a damaged one may each say that they are the whole part: texts are taken
// up to the part's size, all together, and names up to kMostNameBytes each, so that no file gives more than it has.

#ifndef FERRET_RUNTIME_CRASH_CRASH_NAMES_H_
#define FERRET_RUNTIME_CRASH_CRASH_NAMES_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/record/name_table.h"

namespace ferret::internal {

class CrashNames {
 public:
  static constexpr uint32_t kMostNameBytes = 64 * 1024;

  // The file's part with the names, and how many entries it begins with. The part is needed until Close.
  void Open(std::string_view part, uint32_t entries);
  void Close() { part_ = {}; }

  // The id in `table` of what the file has under `id`.
  uint32_t IdOf(uint32_t id);

  NameTable& table() { return table_; }
  uint64_t missing() const { return missing_; }
  uint64_t cut() const { return cut_; }

 private:
  NameTable table_{NameTable::Bounds{}};
  std::string_view part_;
  uint64_t entries_ = 0;
  uint64_t bytes_left_ = 0;
  std::vector<uint32_t> known_;  // by the file's id; 0: not asked for yet
  uint64_t missing_ = 0;
  uint64_t cut_ = 0;
};

}  // namespace ferret::internal

#endif  // FERRET_RUNTIME_CRASH_CRASH_NAMES_H_
