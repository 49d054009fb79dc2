// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What rounds of kills came to, as a line for the sum of all tests.

#ifndef FERRET_TESTS_CRASH_KILL_FIGURES_H_
#define FERRET_TESTS_CRASH_KILL_FIGURES_H_

#include <linux/magic.h>
#include <sys/vfs.h>

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace ferret {

// The kind of file system that a folder is on.
inline std::string FileSystemOf(const std::string& folder) {
  struct statfs status {};
  if (statfs(folder.c_str(), &status) != 0) return "unknown";
  switch (static_cast<uint64_t>(status.f_type) & 0xffffffff) {
    case TMPFS_MAGIC: return "tmpfs";
    case EXT4_SUPER_MAGIC: return "ext4";
    case OVERLAYFS_SUPER_MAGIC: return "overlayfs";
    case XFS_SUPER_MAGIC: return "xfs";
    case BTRFS_SUPER_MAGIC: return "btrfs";
    default: break;
  }
  char number[32];
  std::snprintf(number, sizeof(number), "type 0x%llx", static_cast<unsigned long long>(status.f_type));
  return number;
}

struct KillFigures {
  int rounds = 0;
  int threads = 0;                          // of all rounds together
  uint64_t ops = 0;                         // that were recorded before the kill
  uint64_t lost = 0;                        // of them, not in the trace
  uint64_t doubled = 0;                     // there more than once
  std::map<std::string, int> file_systems;  // of the crash file: rounds

  void Print() const {
    std::string places;
    for (const auto& [name, count] : file_systems) {
      places += (places.empty() ? "" : ", ") + std::to_string(count) + " on " + name;
    }
    std::printf("FIGURE: kills: %d rounds (%s), %d threads, %llu ops recorded before the kill, %llu lost, %llu doubled\n",
                rounds, places.c_str(), threads, static_cast<unsigned long long>(ops),
                static_cast<unsigned long long>(lost), static_cast<unsigned long long>(doubled));
  }
};

}  // namespace ferret

#endif  // FERRET_TESTS_CRASH_KILL_FIGURES_H_
