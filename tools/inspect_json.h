// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An inspected process as a JSON object for programs. Its keys stay what they are; more may come.

#ifndef FERRET_TOOLS_INSPECT_JSON_H_
#define FERRET_TOOLS_INSPECT_JSON_H_

#include <string>

#include "tools/inspect_report.h"

namespace ferret {

std::string InspectJson(const InspectedProcess& process);

}  // namespace ferret

#endif  // FERRET_TOOLS_INSPECT_JSON_H_
