// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The part of the drain that is for crash files, where there is none: nothing of it is ever called.

#include <cstdlib>

#include "runtime/drain/drain.h"

namespace ferret::internal {

bool Drain::ReadFrontInSlices(ThreadTrace&) { std::abort(); }
void Drain::Cut(bool) { std::abort(); }
void Drain::ReleaseHeldChunks() { std::abort(); }

}  // namespace ferret::internal
