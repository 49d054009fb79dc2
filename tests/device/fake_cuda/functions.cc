// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Names of the functions.
#include "tests/device/fake_cuda/functions.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace fake_cuda {
namespace {

constexpr const char* kNames[] = {
#define FAKE_CUDA_FUNCTION(name) "cu" #name,
    FAKE_CUDA_FUNCTIONS(FAKE_CUDA_FUNCTION)
#undef FAKE_CUDA_FUNCTION
};

bool IsSuffix(std::string_view text) {
  return text.empty() || text.substr(0, 2) == "_v" || text.substr(0, 3) == "_pt";
}

}  // namespace

const char* FunctionName(Function function) { return kNames[function]; }

Function FindFunction(const char* name) {
  const std::string_view wanted = name;
  for (int i = 0; i < kFunctionCount; ++i) {
    const std::string_view candidate = kNames[i];
    if (wanted.substr(0, candidate.size()) == candidate && IsSuffix(wanted.substr(candidate.size()))) {
      return static_cast<Function>(i);
    }
  }
  std::fprintf(stderr, "fake CUDA: no function is named \"%s\"\n", name);
  std::abort();
}

}  // namespace fake_cuda
