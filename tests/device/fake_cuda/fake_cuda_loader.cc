// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runfiles: a test runs in their root, and Bazel names it for those that have moved.
#include "tests/device/fake_cuda/fake_cuda_loader.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace fake_cuda {
namespace {

// Where the test started.
const std::string& Root() {
  static const std::string& root = *new std::string([] {
    const char* const folder = std::getenv("TEST_SRCDIR");
    const char* const workspace = std::getenv("TEST_WORKSPACE");
    if (folder != nullptr && workspace != nullptr) return std::string(folder) + "/" + workspace;
    char* const here = getcwd(nullptr, 0);
    std::string result = here != nullptr ? here : ".";
    std::free(here);
    return result;
  }());
  return root;
}

std::string InPackage(const char* file) { return Root() + "/tests/device/fake_cuda/" + file; }

void* Required(void* found, const std::string& what) {
  if (found != nullptr) return found;
  const char* const reason = dlerror();
  std::fprintf(stderr, "%s: %s\n", what.c_str(), reason != nullptr ? reason : "not found");
  std::abort();
}

}  // namespace

std::string LibraryPath() { return InPackage("libcuda.so.1"); }
std::string IncompleteLibraryPath() { return InPackage("incomplete/libcuda.so.1"); }
std::string StubLibraryPath() { return InPackage("stub/libcuda.so.1"); }

const Library& Load() {
  static const Library& library = *new Library([] {
    const std::string path = LibraryPath();
    void* const handle = Required(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), path);
    void* const entry = Required(dlsym(handle, "ferret_fake_cuda"), "ferret_fake_cuda");
    return Library{*reinterpret_cast<FakeCuda* (*)()>(entry)(), path, handle};
  }());
  return library;
}

void* Symbol(const char* name) { return Required(dlsym(Load().handle, name), name); }

}  // namespace fake_cuda
