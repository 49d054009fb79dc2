// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library that no program with rights of its own may load.

int ferret_test_evil(void);
int ferret_test_evil(void) { return 0; }
