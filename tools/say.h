// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the `ferret` command says.

#ifndef FERRET_TOOLS_SAY_H_
#define FERRET_TOOLS_SAY_H_

#include "absl/strings/string_view.h"

namespace ferret {

// A line to standard error, marked as Ferret's: standard output belongs to what was asked for, or to a command.
void Say(absl::string_view line);

// Writes all of it to standard output. False if that is not possible, which has been said.
bool Print(absl::string_view text);

}  // namespace ferret

#endif  // FERRET_TOOLS_SAY_H_
