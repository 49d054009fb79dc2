// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stands for libtorch_cpu.so.

int fake_torch(void);

int fake_torch(void) { return 42; }
