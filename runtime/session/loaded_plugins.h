// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The plug-ins that sessions of this process have asked for.

#ifndef FERRET_RUNTIME_SESSION_LOADED_PLUGINS_H_
#define FERRET_RUNTIME_SESSION_LOADED_PLUGINS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace ferret {

// Loads those that were not loaded for an earlier session. Not under the session lock: a library that another thread is
// loading may hold the loader's lock and want the session's. Two threads at once are not kept apart: one may be told that
// the exporter is there already. No lock is held meanwhile, which a child that is forked then would find taken.
absl::Status LoadPlugins(const std::vector<std::string>& paths);

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_LOADED_PLUGINS_H_
