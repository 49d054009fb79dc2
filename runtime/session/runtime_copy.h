// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// One process, one runtime: several libraries and the program may each have brought their own copy of Ferret, linked into
// them. The first copy that starts a session records from then on; every other one stays off, and says so.
//
// Copies find each other by a note in the file that each is linked into, as debuggers find build ids: whatever the linker
// has hidden, and however the library was loaded.

#ifndef FERRET_RUNTIME_SESSION_RUNTIME_COPY_H_
#define FERRET_RUNTIME_SESSION_RUNTIME_COPY_H_

#include "absl/status/status.h"

namespace ferret {

// The process is this copy's when it is OK, for good, and the library that the copy is in is never unloaded: threads hold
// pointers into it. AlreadyExists, with a line for the user, when another copy has it. Any thread; takes the loader's lock.
absl::Status ClaimProcess();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_RUNTIME_COPY_H_
