// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether exporters can be made, before anything is done for them.

#ifndef FERRET_TOOLS_CHECK_EXPORTERS_H_
#define FERRET_TOOLS_CHECK_EXPORTERS_H_

#include <string>

#include "absl/status/status.h"

namespace ferret {

// Names, targets and parameters, as FERRET_EXPORT has them. Of plug-ins, which are not loaded for it, a name may be one.
absl::Status CheckExporters(const std::string& exporters, bool has_plugins);

}  // namespace ferret

#endif  // FERRET_TOOLS_CHECK_EXPORTERS_H_
