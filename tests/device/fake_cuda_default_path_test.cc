// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The system's search path leads to the fake driver where LD_LIBRARY_PATH says so.
#include <dlfcn.h>

#include "gtest/gtest.h"

namespace fake_cuda {
namespace {

TEST(FakeCudaDefaultPath, IsTheDriversName) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_NE(dlsym(library, "ferret_fake_cuda"), nullptr);
}

}  // namespace
}  // namespace fake_cuda
