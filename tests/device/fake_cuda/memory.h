// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory, which is the host's, and modules, whose kernels compute nothing. Callers hold the driver's mutex.
#ifndef FERRET_TESTS_DEVICE_FAKE_CUDA_MEMORY_H_
#define FERRET_TESTS_DEVICE_FAKE_CUDA_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace fake_cuda {

class Memory {
 public:
  // 0 if there is none.
  uint64_t Allocate(size_t bytes);
  bool Free(uint64_t address);
  // The bytes, if all of them lie in one allocation; else nullptr.
  char* Bytes(uint64_t address, size_t size);

 private:
  struct Block {
    std::unique_ptr<char[]> bytes;
    size_t size;
  };
  std::map<uint64_t, Block> blocks_;
};

class Modules {
 public:
  void* Load();
  bool Unload(void* module);
  // The module's function of this name: every name is one. nullptr if there is no such module.
  void* Function(void* module, const char* name);
  // Of a function of a loaded module; nullptr otherwise.
  const std::string* NameOf(void* function) const;

  void SetKernelNs(const char* kernel, int64_t ns) { ns_[kernel] = ns; }
  int64_t KernelNs(const std::string& kernel) const;

  int64_t default_ns = 10'000;
  int64_t copy_ns = 2'000;

 private:
  struct Module {
    std::set<std::string> functions;
  };
  std::set<std::unique_ptr<Module>> modules_;
  std::map<std::string, int64_t> ns_;
};

}  // namespace fake_cuda

#endif  // FERRET_TESTS_DEVICE_FAKE_CUDA_MEMORY_H_
