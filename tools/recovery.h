// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// One crash file's way into outputs: those that its process had, or another one.

#ifndef FERRET_TOOLS_RECOVERY_H_
#define FERRET_TOOLS_RECOVERY_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/crash/crash_reader.h"
#include "tools/recover.h"

namespace ferret {

// Lines for people are added to `lines`, one for each output among them. How many outputs have everything now; an error:
// not everything could be recovered, for the reason that is the last line. Changes FERRET_RUN_ID and, for outputs of the
// process, the current directory. `named` is what request.named is to have for files after this one.
absl::StatusOr<size_t> RecoverContents(internal::CrashContents* contents, const RecoverRequest& request,
                                       std::vector<std::string>* lines, std::string* named);

}  // namespace ferret

#endif  // FERRET_TOOLS_RECOVERY_H_
