// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/rescue.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "runtime/export/file/document_head.h"
#include "runtime/export/file/output_path.h"
#include "tools/proc_stat.h"

namespace ferret {
namespace {

// A writer holds a lock on its file for as long as it lives. A file system without locks leaves only its process id.
bool IsWriterAlive(int file, int32_t pid) {
  if (flock(file, LOCK_EX | LOCK_NB) == 0) return false;
  return errno == EWOULDBLOCK || IsProcessAlive(pid);
}

// Whether the open file is still what `path` names: its writer may just have finished it.
bool IsStillNamed(int file, const std::string& path, struct stat* status) {
  struct stat named;
  return fstat(file, status) == 0 && stat(path.c_str(), &named) == 0 && named.st_ino == status->st_ino &&
         named.st_dev == status->st_dev;
}

// final_path unless another process of the run has finished a file of that name.
std::string FreeName(const RunReport::Opened& output, const std::string& run_id) {
  if (ReadDocumentHead(output.final_path).run_id != run_id) return output.final_path;
  std::string name;
  int attempt = 1;
  do {
    const std::string mark = attempt == 1 ? absl::StrCat("-", output.pid) : absl::StrCat("-", output.pid, "-", attempt);
    name = InsertBeforeExtension(output.final_path, mark);
    ++attempt;
  } while (access(name.c_str(), F_OK) == 0);
  return name;
}

Rescue RescueOpenFile(int file, const RunReport::Opened& output, const std::string& run_id) {
  if (IsWriterAlive(file, output.pid)) return {Rescue::Outcome::kStillWritten, "", ""};
  struct stat status;
  if (!IsStillNamed(file, output.temporary_path, &status) || !S_ISREG(status.st_mode)) return {};
  if (status.st_size == 0) {
    unlink(output.temporary_path.c_str());
    return {};
  }
  const std::string name = FreeName(output, run_id);
  if (rename(output.temporary_path.c_str(), name.c_str()) == 0) return {Rescue::Outcome::kRescued, name, ""};
  return {Rescue::Outcome::kFailed, "",
          absl::StrCat("cannot rename ", output.temporary_path, " to ", name, ": ", strerror(errno))};
}

}  // namespace

Rescue RescueFile(const RunReport::Opened& output, const std::string& run_id) {
  const int file = open(output.temporary_path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT) return {};
    return {Rescue::Outcome::kFailed, "", absl::StrCat("cannot open ", output.temporary_path, ": ", strerror(errno))};
  }
  Rescue rescue = RescueOpenFile(file, output, run_id);
  close(file);
  return rescue;
}

bool IsProcessAlive(int32_t pid) {
  const ProcStat stat = ReadProcStat(absl::StrCat("/proc/", pid));
  return stat.known && !stat.is_dead();
}

}  // namespace ferret
