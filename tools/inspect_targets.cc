// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/inspect_targets.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tools/crash_files.h"
#include "tools/proc_stat.h"

namespace ferret {
namespace {

// ferret-<pid>-<n>.crash; empty if the path is of no such file. `pid` is the name's.
absl::string_view CrashName(absl::string_view path, int32_t* pid) {
  const absl::string_view name = path.substr(path.rfind('/') + 1);
  const std::vector<absl::string_view> parts = absl::StrSplit(name, '-');
  const bool is_one = parts.size() == 3 && parts[0] == "ferret" && absl::SimpleAtoi(parts[1], pid) &&
                      absl::EndsWith(parts[2], ".crash");
  return is_one ? name : absl::string_view();
}

struct Mappings {
  int error = 0;                       // errno: the process's memory may not be looked at, or it is gone
  std::vector<InspectTarget> files;
  bool has_copy = false;  // a forked child's, of its parent's file
};

// A path by which the mapped file can be opened although it may have no name, or another one here than there.
std::string OpenPath(const std::string& process, const std::string& range, const std::string& path) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(process + "/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    if (std::filesystem::read_symlink(entry->path(), unreadable).string() == path) return entry->path().string();
  }
  const std::string mapped = absl::StrCat(process, "/map_files/", range);
  if (access(mapped.c_str(), R_OK) == 0) return mapped;
  return absl::StrCat(process, "/root", path);
}

// Lines of: range protection offset device inode path.
Mappings MappingsOf(int32_t pid) {
  Mappings mappings;
  const std::string process = absl::StrCat("/proc/", pid);
  errno = 0;
  std::ifstream maps(process + "/maps");
  if (!maps) mappings.error = errno;
  std::string line;
  std::vector<std::string> inodes;
  while (std::getline(maps, line)) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos || !absl::StrContains(line, "/ferret-")) continue;
    const std::string path = line.substr(slash);
    int32_t named = 0;
    const std::vector<std::string> fields = absl::StrSplit(line.substr(0, slash), ' ', absl::SkipEmpty());
    if (fields.size() != 5 || fields[1].size() != 4 ||
        CrashName(absl::StripSuffix(path, " (deleted)"), &named).empty()) {
      continue;
    }
    if (fields[1][3] != 's') {
      mappings.has_copy = true;
      continue;
    }
    if (fields[1][1] != 'w') continue;  // another `ferret inspect`
    const std::string inode = fields[3] + " " + fields[4];
    if (std::find(inodes.begin(), inodes.end(), inode) != inodes.end()) continue;
    inodes.push_back(inode);
    mappings.files.push_back({path, OpenPath(process, fields[0], path), pid});
  }
  if (maps.bad() && mappings.error == 0) mappings.error = errno;
  return mappings;
}

}  // namespace

absl::StatusOr<std::vector<InspectTarget>> TargetsOfPid(int32_t pid, const std::vector<std::string>& folders) {
  Mappings mappings = MappingsOf(pid);
  if (!mappings.files.empty()) return std::move(mappings.files);
  struct stat status;
  const std::string process = absl::StrCat("/proc/", pid);
  const bool lives = stat(process.c_str(), &status) == 0;
  // What lies there under the name of a process that lives is an earlier one's.
  if (lives && mappings.error == EACCES && status.st_uid != geteuid()) {
    return absl::PermissionDeniedError(absl::StrCat("process ", pid, " belongs to user ", status.st_uid,
                                                    ": only that user and root may look into it"));
  }
  if (lives && mappings.error != 0 && mappings.error != ENOENT && mappings.error != ESRCH) {
    return absl::UnavailableError(absl::StrCat("process ", pid, " cannot be looked into: ", strerror(mappings.error)));
  }
  if (lives && mappings.error == 0 && !ReadProcStat(process).is_dead()) {
    return absl::NotFoundError(absl::StrCat(
        "process ", pid, " does not record into a file",
        mappings.has_copy ? ", its parent does: inspect that one"
                          : ": start it with FERRET_CRASH_DIR=auto besides FERRET_EXPORT, and it can be inspected"));
  }
  std::vector<InspectTarget> targets;
  for (const std::string& folder : folders) {
    const absl::StatusOr<std::vector<std::string>> files = CrashFilesAt(folder);
    if (!files.ok()) continue;
    for (const std::string& file : *files) {
      int32_t named = 0;
      if (!CrashName(file, &named).empty() && named == pid && access(file.c_str(), R_OK) == 0) {
        targets.push_back({file, file, 0});
      }
    }
  }
  if (!targets.empty()) return targets;
  return absl::NotFoundError(absl::StrCat("no process ", pid, ", and it has left no crash file in ",
                                          absl::CHexEscape(folders[0]), " (--dir says where else)"));
}

absl::StatusOr<std::vector<InspectTarget>> TargetsAt(const std::string& path) {
  const absl::StatusOr<std::vector<std::string>> files = CrashFilesAt(path);
  if (!files.ok()) return files.status();
  if (files->empty()) return absl::NotFoundError(absl::StrCat(absl::CHexEscape(path), ": no crash files"));
  std::vector<InspectTarget> targets;
  for (const std::string& file : *files) targets.push_back({file, file, 0});
  return targets;
}

std::vector<InspectTarget> AllTargets() {
  std::vector<InspectTarget> targets;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    int32_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    Mappings mappings = MappingsOf(pid);
    std::move(mappings.files.begin(), mappings.files.end(), std::back_inserter(targets));
  }
  return targets;
}

bool HasGone(const InspectTarget& target) {
  constexpr char kRemoved[] = " (deleted)";
  const std::vector<InspectTarget> files = MappingsOf(target.pid).files;
  return std::none_of(files.begin(), files.end(), [&](const InspectTarget& file) {
    return absl::StripSuffix(file.file, kRemoved) == absl::StripSuffix(target.file, kRemoved);
  });
}

}  // namespace ferret
