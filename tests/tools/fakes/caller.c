// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A library that loads others: the loader searches where this one's RPATH or RUNPATH says.

#include <dlfcn.h>

void* open_for(const char* name);

void* open_for(const char* name) {
  // Volatile: otherwise the call could become a jump, and the caller that dlopen sees would be whoever called this.
  void* volatile handle = dlopen(name, RTLD_NOW);
  return handle;
}
