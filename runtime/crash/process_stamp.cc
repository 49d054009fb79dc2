// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/crash/process_stamp.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>

namespace ferret::internal {
namespace {

struct ProcessStat {
  bool known = false;
  char state = '?';
  uint64_t start_time = 0;
};

// pid (name) state ppid …: the name may hold anything, parentheses too. The start time is field 22.
ProcessStat ReadStat(int32_t pid) {
  ProcessStat stat;
  std::string line;
  if (!std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), line)) return stat;
  const size_t end_of_name = line.rfind(") ");
  if (end_of_name == std::string::npos) return stat;
  std::istringstream fields(line.substr(end_of_name + 2));
  fields >> stat.state;
  std::string skipped;
  for (int field = 4; field < 22; ++field) fields >> skipped;
  stat.known = static_cast<bool>(fields >> stat.start_time);
  return stat;
}

std::string BootId() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id.substr(0, 39);
}

}  // namespace

ProcessStamp OwnProcessStamp() { return {getpid(), ReadStat(getpid()).start_time, BootId()}; }

bool IsOfThisBoot(const ProcessStamp& stamp) {
  const std::string boot = BootId();
  return stamp.boot_id.empty() || boot.empty() || stamp.boot_id == boot;
}

bool IsProcessRunning(const ProcessStamp& stamp) {
  if (!IsOfThisBoot(stamp)) return false;
  const ProcessStat stat = ReadStat(stamp.pid);
  // Without /proc the pid has to do.
  if (!stat.known) return stamp.pid > 0 && access("/proc/self/stat", R_OK) != 0 && (kill(stamp.pid, 0) == 0 || errno == EPERM);
  if (stat.state == 'Z' || stat.state == 'X') return false;
  return stamp.start_time == 0 || stamp.start_time == stat.start_time;
}

// A line is: addresses, rights, offset, device, inode, path. The name tells too: the inode may be shown as that of a layer
// below.
bool IsWriterRunning(const ProcessStamp& stamp, const std::string& path) {
  if (!IsProcessRunning(stamp)) return false;
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return true;
  const std::string name = path.substr(path.rfind('/') + 1);
  std::ifstream maps("/proc/" + std::to_string(stamp.pid) + "/maps");
  bool has_lines = false;
  for (std::string line; std::getline(maps, line); has_lines = true) {
    std::istringstream fields(line);
    std::string addresses, rights, offset, device, mapped;
    uint64_t inode = 0;
    fields >> addresses >> rights >> offset >> device >> inode >> std::ws;
    std::getline(fields, mapped);
    if (rights.size() < 4 || rights[1] != 'w' || rights[3] != 's') continue;
    if (inode == status.st_ino || mapped.substr(mapped.rfind('/') + 1) == name) return true;
  }
  return !has_lines;
}

}  // namespace ferret::internal
