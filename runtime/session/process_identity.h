// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ProcessIdentity: which process of which job on which machine this is, as far as its launcher has told it.

#ifndef FERRET_RUNTIME_SESSION_PROCESS_IDENTITY_H_
#define FERRET_RUNTIME_SESSION_PROCESS_IDENTITY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/export/exporter.h"
#include "runtime/session/environment.h"

namespace ferret {

struct ProcessIdentity {
  int32_t pid = 0;
  std::string process_name;  // as in /proc/self/comm
  std::string host_name;
  bool has_rank = false;
  int rank = 0;
  int world_size = 1;   // > rank
  int local_rank = -1;     // -1 if no launcher said
  int restart_count = -1;  // -1 if no launcher said
  std::string job_id;      // printable; empty if unknown
  // One line for each value of a launcher that could not be used.
  std::vector<std::string> ignored;

  // Everything that SessionInfo has a place for.
  void CopyTo(SessionInfo* info) const;
};

// The rank, the number of ranks, the local rank and the restart count come from the first launcher that gives a usable
// rank, never mixed: torchrun's RANK, WORLD_SIZE, LOCAL_RANK, TORCHELASTIC_RESTART_COUNT; Slurm's SLURM_PROCID,
// SLURM_NTASKS, SLURM_LOCALID, SLURM_RESTART_COUNT; Open MPI's OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK. Under torchrun started by Slurm, Slurm counts the torchruns. The job is
// SLURM_JOB_ID or else TORCHELASTIC_RUN_ID.
ProcessIdentity IdentifyProcess(GetEnv getenv);
// The calling process; a program with more rights than its caller ignores the environment (see environment.h).
ProcessIdentity IdentifyProcess();

}  // namespace ferret

#endif  // FERRET_RUNTIME_SESSION_PROCESS_IDENTITY_H_
