// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/run_id.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "runtime/environment/process_environment.h"

namespace ferret {
namespace {

bool IsRunId(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  for (char c : text) {
    const bool allowed =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
    if (!allowed) return false;
  }
  return true;
}

std::string MakeRunId() {
  const char* inherited = EnvironmentVariable(kRunIdVariable);
  if (inherited != nullptr && IsRunId(inherited)) return inherited;
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits)) {
    // Early in the boot of a machine there is no entropy; the time and the pid tell runs apart well enough.
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bits = (static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec)) ^
           (static_cast<uint64_t>(getpid()) << 44);
  }
  char text[17];
  snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(bits));
  return text;
}

}  // namespace

const std::string& RunId() {
  // Leaked: exporters may close after static destructors have run.
  static const std::string* const id = new std::string(MakeRunId());
  return *id;
}

void PublishRunId() {
  const char* inherited = EnvironmentVariable(kRunIdVariable);
  if (inherited == nullptr || !IsRunId(inherited)) setenv(kRunIdVariable, RunId().c_str(), 1);
}

}  // namespace ferret
