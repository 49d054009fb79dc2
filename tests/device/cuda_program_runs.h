// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs cuda_program with a folder of its own to write to, with the given variables and no other FERRET_* ones.

#ifndef FERRET_TESTS_DEVICE_CUDA_PROGRAM_RUNS_H_
#define FERRET_TESTS_DEVICE_CUDA_PROGRAM_RUNS_H_

#include <map>
#include <string>

#include "tests/device/fake_cuda/fake_cuda_loader.h"
#include "tests/session/program_runs.h"

namespace ferret {

struct CudaRun {
  int status = -1;  // exit status, or 128 and the signal
  std::string out;
  std::string err;
};

class CudaProgramRuns : public ProgramRuns {
 protected:
  // `shell` stands before the program's command line: variables.
  CudaRun RunCuda(const std::string& shell, const std::string& how) {
    const std::string command =
        shell + " tests/device/cuda_program " + how + " >" + folder_ + ".out 2>" + folder_ + ".err";
    CudaRun run;
    const int status = system(command.c_str());
    run.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    run.out = Read(folder_ + ".out");
    run.err = Read(folder_ + ".err");
    return run;
  }

  // What the trace in the folder says of scopes that asked for device time; empty if there is no such trace.
  std::map<std::string, int64_t> DeviceCountsIn(const std::string& file) const {
    std::map<std::string, int64_t> counts;
    rapidjson::Document document;
    const std::string text = Read(folder_ + "/" + file);
    document.Parse<rapidjson::kParseValidateEncodingFlag>(text.data(), text.size());
    if (document.HasParseError() || !document.IsObject() || !document.HasMember("traceEvents")) return counts;
    for (const auto& event : document["traceEvents"].GetArray()) {
      if (!event.HasMember("args") || !event["args"].HasMember("device_counts")) continue;
      for (const auto& count : event["args"]["device_counts"].GetObject()) {
        counts[count.name.GetString()] = count.value.GetInt64();
      }
    }
    return counts;
  }
};

}  // namespace ferret

#endif  // FERRET_TESTS_DEVICE_CUDA_PROGRAM_RUNS_H_
