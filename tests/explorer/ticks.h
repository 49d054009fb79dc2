// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Included before everything else in the code under test: its cycle counter, which must read the same in every
// execution.

#ifndef FERRET_TESTS_EXPLORER_TICKS_H_
#define FERRET_TESTS_EXPLORER_TICKS_H_

// Grows with each reading of the same modelled thread.
extern "C" unsigned long long FerretExplorerTicks(void);

#define __builtin_ia32_rdtsc FerretExplorerTicks

#endif  // FERRET_TESTS_EXPLORER_TICKS_H_
