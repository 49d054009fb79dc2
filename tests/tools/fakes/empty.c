// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library that is only loaded.

int empty_library(void);

int empty_library(void) { return 1; }
