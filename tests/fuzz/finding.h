// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A finding: an input that a target must not, but does, crash, fail or go astray on. It is written to a file, and ends
// the program.

#ifndef FERRET_TESTS_FUZZ_FINDING_H_
#define FERRET_TESTS_FUZZ_FINDING_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace ferret::fuzz {

inline constexpr int kFindingStatus = 77;

// Signals and errors that sanitizers report are findings from here on. Files go into `folder`.
void WatchForCrashes(const std::string& folder);

// The input that is being executed. It must stay until the next call.
void SetCurrentInput(const uint8_t* data, size_t size);

// Ends the program with kFindingStatus.
[[noreturn]] void ReportFinding(const char* what);

}  // namespace ferret::fuzz

#endif  // FERRET_TESTS_FUZZ_FINDING_H_
