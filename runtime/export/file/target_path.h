// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What exporters that write files have in common before the first byte and after the last one.

#ifndef FERRET_RUNTIME_EXPORT_FILE_TARGET_PATH_H_
#define FERRET_RUNTIME_EXPORT_FILE_TARGET_PATH_H_

#include <string>

#include "absl/status/status.h"

namespace ferret {

// With a slash at its end; empty if it is unknown.
std::string CurrentDirectory();

// Whether the file could be made, as far as can be said without making it.
absl::Status CheckWritable(const std::string& path);

// The path as a user in `directory` would write it.
std::string ShownPath(const std::string& path, const std::string& directory);

// A DiagnosticFn.
void WriteLineToStderr(const std::string& text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_TARGET_PATH_H_
