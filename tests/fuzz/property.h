// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FUZZ_PROPERTY(condition): what must hold for any input.

#ifndef FERRET_TESTS_FUZZ_PROPERTY_H_
#define FERRET_TESTS_FUZZ_PROPERTY_H_

#include <cstdio>
#include <cstdlib>

#define FUZZ_PROPERTY(condition)                                                         \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // FERRET_TESTS_FUZZ_PROPERTY_H_
