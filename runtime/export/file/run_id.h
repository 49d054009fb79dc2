// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// RunId: what all processes of one run have in common.
//
// A process and everything that it spawns share FERRET_RUN_ID through the environment. Files carry it in their header,
// so that a process that finds a finished file under its own name can tell a file of an earlier run, which it replaces,
// from one that another process of the same run wrote a moment ago, which it must not touch.

#ifndef FERRET_RUNTIME_EXPORT_FILE_RUN_ID_H_
#define FERRET_RUNTIME_EXPORT_FILE_RUN_ID_H_

#include <string>

namespace ferret {

inline constexpr char kRunIdVariable[] = "FERRET_RUN_ID";

// The value of FERRET_RUN_ID if it is 1 to 64 letters, digits, '-' or '_'; otherwise 16 hex digits that are drawn once
// in this process. Any thread.
const std::string& RunId();

// Puts RunId() into this process's environment if it has none, for the processes that it will spawn. It calls setenv,
// so call it at start-up, while the environment belongs to one thread.
void PublishRunId();

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_RUN_ID_H_
