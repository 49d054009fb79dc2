// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// `ferret table`: prints what the events of a trace add up to.

#ifndef FERRET_TOOLS_TABLE_H_
#define FERRET_TOOLS_TABLE_H_

namespace ferret {

// `arguments` is what follows "table", ending with null. Returns an exit status.
int Table(char** arguments);

}  // namespace ferret

#endif  // FERRET_TOOLS_TABLE_H_
