// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Finds and loads the fake CUDA driver among a test's runfiles. The library stays loaded until the process ends. A
// test that links this library has the driver in its data.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_LOADER_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_LOADER_H_

#include <string>

#include "tests/device/fake_cuda/fake_cuda.h"

namespace fake_cuda {

// Absolute paths, for FERRET_CUDA_LIBRARY. All three are named libcuda.so.1, in folders of their own.
std::string LibraryPath();
std::string IncompleteLibraryPath();  // lacks cuEventElapsedTime
std::string StubLibraryPath();        // every function returns 34 and does nothing else

struct Library {
  FakeCuda& fake;
  std::string path;
  void* handle;  // of dlopen
};

// Loads the driver once. Ends the process with the reason if that fails: no test can go on without.
const Library& Load();

// The exported function of this name, as `Function` (a function type). Ends the process if there is none.
void* Symbol(const char* name);
template <typename Function>
Function* Symbol(const char* name) {
  return reinterpret_cast<Function*>(Symbol(name));
}

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_FAKE_CUDA_LOADER_H_
