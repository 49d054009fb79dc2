// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/process_identity.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "runtime/environment/process_environment.h"
#include "runtime/session/variables.h"

namespace ferret {
namespace {

struct Launcher {
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* restart_count;  // null if it says none
};

constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RESTART_COUNT"},
    {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_RESTART_COUNT"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr},
};

constexpr size_t kLongestJobId = 128;

// The value of a variable, empty if it is not set.
absl::string_view Value(GetEnv getenv, const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? absl::string_view() : absl::string_view(value);
}

void Ignore(const char* name, absl::string_view value, absl::string_view reason, ProcessIdentity* identity) {
  identity->ignored.push_back(absl::StrCat(name, "=", Quoted(value), " is ignored: ", reason));
}

// Reads a decimal number of at least `least`. False, with a reason unless nothing is set, if there is none; `number` is
// then unchanged.
bool ReadNumber(GetEnv getenv, const char* name, int least, int* number, ProcessIdentity* identity) {
  const absl::string_view value = Value(getenv, name);
  if (value.empty()) return false;
  int parsed = 0;
  if (!std::all_of(value.begin(), value.end(), absl::ascii_isdigit) || !absl::SimpleAtoi(value, &parsed) ||
      parsed < least || parsed == INT_MAX) {
    Ignore(name, value, absl::StrCat("not a whole number from ", least), identity);
    return false;
  }
  *number = parsed;
  return true;
}

void ReadRank(GetEnv getenv, ProcessIdentity* identity) {
  for (const Launcher& launcher : kLaunchers) {
    if (!ReadNumber(getenv, launcher.rank, 0, &identity->rank, identity)) continue;
    identity->has_rank = true;
    int world_size = 0;
    if (ReadNumber(getenv, launcher.world_size, 1, &world_size, identity) && world_size <= identity->rank) {
      Ignore(launcher.world_size, Value(getenv, launcher.world_size),
             absl::StrCat(launcher.rank, " is ", identity->rank), identity);
      world_size = 0;
    }
    // Without a usable number: the smallest world that has this rank.
    identity->world_size = world_size != 0 ? world_size : identity->rank + 1;
    ReadNumber(getenv, launcher.local_rank, 0, &identity->local_rank, identity);
    if (launcher.restart_count != nullptr) {
      ReadNumber(getenv, launcher.restart_count, 0, &identity->restart_count, identity);
    }
    return;
  }
}

void ReadJob(GetEnv getenv, ProcessIdentity* identity) {
  for (const char* name : {"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"}) {
    const absl::string_view value = Value(getenv, name);
    // torchrun calls a job without a name "none".
    if (value.empty() || value == "none") continue;
    if (value.size() > kLongestJobId || !std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
      Ignore(name, value, absl::StrCat("not printable or over ", kLongestJobId, " characters"), identity);
      continue;
    }
    identity->job_id = std::string(value);
    return;
  }
}

// The name of the process, which is that of its first thread, whichever thread asks.
std::string ProcessName() {
  std::string name;
  std::ifstream comm("/proc/self/comm");
  if (!std::getline(comm, name) || name.empty()) name = program_invocation_short_name;
  return name;
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof(name)) != 0) return "";
  name[HOST_NAME_MAX] = '\0';
  return name;
}

}  // namespace

void ProcessIdentity::CopyTo(SessionInfo* info) const {
  info->pid = pid;
  info->process_name = process_name;
  info->host_name = host_name;
  info->has_rank = has_rank;
  info->rank = rank;
  info->world_size = world_size;
  info->local_rank = local_rank;
  info->restart_count = restart_count;
  info->job_id = job_id;
}

ProcessIdentity IdentifyProcess(GetEnv getenv) {
  ProcessIdentity identity;
  identity.pid = getpid();
  identity.process_name = ProcessName();
  identity.host_name = HostName();
  ReadRank(getenv, &identity);
  ReadJob(getenv, &identity);
  return identity;
}

ProcessIdentity IdentifyProcess() {
  return IdentifyProcess(EnvironmentVariable);
}

}  // namespace ferret
