// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts what the test's process takes from malloc, operator new included. Link it once into an executable.

#ifndef FERRET_TESTS_TORCH_MALLOC_COUNTER_H_
#define FERRET_TESTS_TORCH_MALLOC_COUNTER_H_

#include <cstdint>

namespace ferret {

// Calls of malloc, calloc, realloc and the aligned ones on the calling thread.
uint64_t MallocsOfThisThread();
// Blocks of all threads that are not freed yet.
uint64_t LiveBlocks();

}  // namespace ferret

#endif  // FERRET_TESTS_TORCH_MALLOC_COUNTER_H_
