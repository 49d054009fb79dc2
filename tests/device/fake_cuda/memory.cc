// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Allocations and modules.
#include "tests/device/fake_cuda/memory.h"

#include <new>

namespace fake_cuda {

uint64_t Memory::Allocate(size_t bytes) {
  std::unique_ptr<char[]> block(new (std::nothrow) char[bytes]());
  if (block == nullptr) return 0;
  const uint64_t address = reinterpret_cast<std::uintptr_t>(block.get());
  blocks_.emplace(address, Block{std::move(block), bytes});
  return address;
}

bool Memory::Free(uint64_t address) { return blocks_.erase(address) == 1; }

char* Memory::Bytes(uint64_t address, size_t size) {
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const auto& [start, block] = *std::prev(after);
  const size_t offset = address - start;
  return offset <= block.size && size <= block.size - offset ? block.bytes.get() + offset : nullptr;
}

void* Modules::Load() { return modules_.insert(std::make_unique<Module>()).first->get(); }

bool Modules::Unload(void* module) {
  for (auto found = modules_.begin(); found != modules_.end(); ++found) {
    if (found->get() != module) continue;
    modules_.erase(found);
    return true;
  }
  return false;
}

void* Modules::Function(void* module, const char* name) {
  for (const auto& candidate : modules_) {
    // A function's handle is the address of its name, which the set keeps in place.
    if (candidate.get() == module) return const_cast<std::string*>(&*candidate->functions.insert(name).first);
  }
  return nullptr;
}

const std::string* Modules::NameOf(void* function) const {
  for (const auto& module : modules_) {
    for (const std::string& name : module->functions) {
      if (&name == function) return &name;
    }
  }
  return nullptr;
}

int64_t Modules::KernelNs(const std::string& kernel) const {
  const auto found = ns_.find(kernel);
  return found != ns_.end() ? found->second : default_ns;
}

}  // namespace fake_cuda
