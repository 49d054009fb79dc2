// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/runtime_copy.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "ferret/internal/export_symbol.h"

extern "C" {

// What copies know of each other, of whatever versions they are.
struct ferret_copy_state {
  // 1 once this copy has the process. Written under the loader's lock; relaxed, nothing else is published with it.
  std::atomic<uint32_t> has_process;
};
static_assert(sizeof(ferret_copy_state) == 4 && std::atomic<uint32_t>::is_always_lock_free, "read by other copies");

extern ferret_copy_state ferret_this_copy;
__attribute__((visibility("hidden"), used)) ferret_copy_state ferret_this_copy{};

// Another copy's, if the loader has bound this copy's public functions to that one's.
FERRET_EXPORT_SYMBOL const void* ferret_bound_copy(void);
const void* ferret_bound_copy(void) { return &ferret_this_copy; }

}  // extern "C"

// Name "Ferret", type 1: how far away the ferret_copy_state is.
asm(".pushsection .note.ferret, \"a\", %note\n"
    ".balign 4\n"
    ".long 7, 8, 1\n"
    ".asciz \"Ferret\"\n"
    ".balign 4\n"
    ".quad ferret_this_copy - .\n"
    ".popsection\n");

namespace ferret {
namespace {

constexpr char kNoteName[] = "Ferret";
constexpr uint32_t kNoteType = 1;

ferret_copy_state* CopyIn(const char* notes, size_t size) {
  const auto padded = [](size_t bytes) { return (bytes + 3) & ~size_t{3}; };
  ElfW(Nhdr) header;
  while (size >= sizeof(header)) {
    std::memcpy(&header, notes, sizeof(header));
    const size_t whole = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (whole > size) return nullptr;
    const char* const name = notes + sizeof(header);
    const char* const description = name + padded(header.n_namesz);
    if (header.n_type == kNoteType && header.n_namesz == sizeof(kNoteName) && header.n_descsz == sizeof(int64_t) &&
        std::memcmp(name, kNoteName, sizeof(kNoteName)) == 0) {
      int64_t distance;
      std::memcpy(&distance, description, sizeof(distance));
      return reinterpret_cast<ferret_copy_state*>(reinterpret_cast<intptr_t>(description) + distance);
    }
    notes += whole;
    size -= whole;
  }
  return nullptr;
}

struct Claim {
  const ferret_copy_state* other = nullptr;  // that has the process
  std::string other_file;
  std::string this_file;
  bool is_new = false;
};

int LookAtObject(dl_phdr_info* object, size_t, void* argument) {
  auto* const claim = static_cast<Claim*>(argument);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const ferret_copy_state* const copy =
        CopyIn(reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (copy == nullptr) continue;
    if (copy == &ferret_this_copy) {
      claim->this_file = object->dlpi_name;
    } else if (copy == ferret_bound_copy() || copy->has_process.load(std::memory_order_relaxed) != 0) {
      claim->other = copy;
      claim->other_file = object->dlpi_name;
    }
  }
  return 0;
}

// Called for one object only. The loader's lock is held, recursively: copies that claim at the same time do so in turn.
int ClaimUnderLock(dl_phdr_info*, size_t, void* argument) {
  auto* const claim = static_cast<Claim*>(argument);
  dl_iterate_phdr(&LookAtObject, claim);
  claim->is_new = claim->other == nullptr && ferret_this_copy.has_process.load(std::memory_order_relaxed) == 0;
  if (claim->is_new) ferret_this_copy.has_process.store(1, std::memory_order_relaxed);
  return 1;
}

std::string NameOf(const std::string& file) { return file.empty() ? "the program" : file; }

}  // namespace

absl::Status ClaimProcess() {
  if (ferret_this_copy.has_process.load(std::memory_order_relaxed) != 0) return absl::OkStatus();
  Claim claim;
  dl_iterate_phdr(&ClaimUnderLock, &claim);
  if (claim.other != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat("this process has two copies of Ferret: the one in ",
                                                 NameOf(claim.other_file), " records, the one in ",
                                                 NameOf(claim.this_file), " is off"));
  }
  // The program itself is never unloaded.
  if (claim.is_new && !claim.this_file.empty()) {
    dlopen(claim.this_file.c_str(), RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
  return absl::OkStatus();
}

}  // namespace ferret
