// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the crash file's log under the explorer, where there is no crash file.

#ifndef FERRET_TESTS_EXPLORER_MODEL_CRASH_LOG_H_
#define FERRET_TESTS_EXPLORER_MODEL_CRASH_LOG_H_

#include <cstdint>
#include <string>

namespace ferret::internal {

class CrashLog {
 public:
  static constexpr uint32_t kNoSlot = UINT32_MAX;

  uint32_t AddThread(uint32_t, int32_t, const std::string&) { return kNoSlot; }
  void ForgetThread(uint32_t) {}
  bool HasRoom(uint64_t) const { return true; }
  void SetLastBatch(uint64_t) {}
  void SetSteps(uint64_t, int64_t) {}
};

}  // namespace ferret::internal

#endif  // FERRET_TESTS_EXPLORER_MODEL_CRASH_LOG_H_
