// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The process's environment as a fuzz target: options that can be printed and read again, or an error for people that
// names the variable, the value and what is allowed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/session/environment.h"
#include "runtime/session/process_identity.h"
#include "runtime/session/schedule.h"
#include "runtime/session/variables.h"
#include "tests/fuzz/environment_text.h"
#include "tests/fuzz/property.h"

namespace {

using ferret::Options;
using ferret::Variable;
using ferret::fuzz::EnvironmentText;
using ferret::fuzz::IsOneLine;

void CheckError(std::string_view message, const EnvironmentText& environment) {
  FUZZ_PROPERTY(IsOneLine(message) && message.find("expected ") != message.npos);
  for (const Variable& variable : ferret::Variables()) {
    const std::string start = std::string(variable.name) + "=";
    if (message.substr(0, start.size()) != start) continue;
    const char* const value = environment.Get(variable.name);
    FUZZ_PROPERTY(value != nullptr && message.find(ferret::Quoted(value)) == start.size());
    FUZZ_PROPERTY(message.find(variable.allowed) != message.npos);
    return;
  }
  FUZZ_PROPERTY(!"the message names no variable");
}

void CheckPrinted(const Options& options) {
  FUZZ_PROPERTY(options.Validate().ok());
  Options again;
  for (const Variable& variable : ferret::Variables()) {
    FUZZ_PROPERTY(SetVariable(variable, variable.print(options), &again).ok());
  }
  for (const Variable& variable : ferret::Variables()) FUZZ_PROPERTY(variable.print(options) == variable.print(again));
  for (const auto& [name, value] : DescribeOptions(options)) FUZZ_PROPERTY(!name.empty());
}

// What is said of one step agrees with what is said of where it changes.
void CheckSchedule(const ferret::Schedule& schedule) {
  uint64_t at = 0;
  for (int i = 0; i < 6; ++i) {
    const uint64_t next = NextSwitch(schedule, at);
    FUZZ_PROPERTY(next > at);
    const bool records = RecordsAt(schedule, at);
    const uint64_t last = next == ferret::kNoSwitch ? at + (uint64_t{1} << 62) : next - 1;
    FUZZ_PROPERTY(RecordsAt(schedule, last) == records);
    FUZZ_PROPERTY(RecordsAt(schedule, at + (last - at) / 2) == records);
    if (next == ferret::kNoSwitch) return;
    FUZZ_PROPERTY(RecordsAt(schedule, next) != records);
    at = next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const EnvironmentText environment(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto get = [&environment](const char* name) { return environment.Get(name); };
  FUZZ_PROPERTY(IsOneLine(ferret::UnknownVariables(environment.pointers())));
  const ferret::ProcessIdentity identity = ferret::IdentifyProcess(get);
  FUZZ_PROPERTY(identity.rank >= 0 && identity.world_size > identity.rank && IsOneLine(identity.job_id));
  for (const std::string& line : identity.ignored) FUZZ_PROPERTY(IsOneLine(line) && line.find(" is ignored") != line.npos);
  const absl::StatusOr<Options> options = ferret::OptionsFromEnvironment(get);
  if (!options.ok()) {
    const absl::string_view message = options.status().message();
    CheckError({message.data(), message.size()}, environment);
    return 0;
  }
  CheckPrinted(*options);
  CheckSchedule(options->schedule);
  return 0;
}
