// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/run_environment.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace ferret {
namespace {

// From the folder of the executable: as installed (bin/ beside lib/), as built.
constexpr const char* kPreloadPlaces[] = {
    "../lib/libferret_preload.so",
    "../adapters/torch/preload/libferret_preload.so",
};

bool IsEntryOf(absl::string_view entry, absl::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && absl::StartsWith(entry, name);
}

}  // namespace

EnvironmentCopy::EnvironmentCopy(const char* const* environment) {
  for (; *environment != nullptr; ++environment) entries_.emplace_back(*environment);
}

const char* EnvironmentCopy::Get(absl::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsEntryOf(entry, name)) return entry.c_str() + name.size() + 1;
  }
  return nullptr;
}

void EnvironmentCopy::Set(absl::string_view name, absl::string_view value) {
  std::string changed = absl::StrCat(name, "=", value);
  for (std::string& entry : entries_) {
    if (IsEntryOf(entry, name)) {
      entry = std::move(changed);
      return;
    }
  }
  entries_.push_back(std::move(changed));
}

std::vector<char*> EnvironmentCopy::Pointers() {
  std::vector<char*> pointers;
  for (std::string& entry : entries_) pointers.push_back(&entry[0]);
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<std::string> AddPreload(absl::string_view current, const std::string& library) {
  // The loader splits at both and knows no escape.
  if (library.find_first_of(" :") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat("LD_PRELOAD cannot hold a path with a space or colon: ", library));
  }
  for (absl::string_view present : absl::StrSplit(current, absl::ByAnyChar(" :"))) {
    if (present == library) return std::string(current);
  }
  return current.empty() ? library : absl::StrCat(current, ":", library);
}

std::string FindPreloadLibrary() {
  std::error_code error;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  for (const char* place : kPreloadPlaces) {
    const std::filesystem::path path = std::filesystem::canonical(executable.parent_path() / place, error);
    if (!error) return path.string();
  }
  return "";
}

std::string FreshRunId() {
  uint64_t random = 0;
  if (getrandom(&random, sizeof(random), 0) != sizeof(random)) random = static_cast<uint64_t>(getpid());
  return absl::StrCat(absl::Hex(static_cast<uint64_t>(time(nullptr))), "-", absl::Hex(random, absl::kZeroPad16));
}

}  // namespace ferret
