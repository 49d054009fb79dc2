// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The dlopen that this library stands before.

#ifndef FERRET_ADAPTERS_TORCH_PRELOAD_REAL_DLOPEN_H_
#define FERRET_ADAPTERS_TORCH_PRELOAD_REAL_DLOPEN_H_

typedef void* (*dlopen_function)(const char* name, int mode);
dlopen_function RealDlopen(void);

#endif  // FERRET_ADAPTERS_TORCH_PRELOAD_REAL_DLOPEN_H_
