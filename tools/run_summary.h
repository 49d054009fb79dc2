// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What `ferret run` says when its command has ended, and the files it finishes for processes that were killed.

#ifndef FERRET_TOOLS_RUN_SUMMARY_H_
#define FERRET_TOOLS_RUN_SUMMARY_H_

#include <string>
#include <vector>

#include "runtime/session/run_report.h"

namespace ferret {

// Gives the files of killed processes their names. Returns what to print, one line for each outcome that occurred:
// finished, finished here, still being written, failed; or that nothing was recorded, unless what became of
// crash files was `told`.
std::vector<std::string> FinishRun(const RunReport& report, const std::string& run_id, bool told = false);

}  // namespace ferret

#endif  // FERRET_TOOLS_RUN_SUMMARY_H_
