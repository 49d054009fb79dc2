// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records a number of scopes, on request no faster than so many a second, and says as JSON how many it attempted, how
// many were lost, and how much memory the process had in use.
//
//     record_scopes SCOPES [SCOPES_PER_SECOND]

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

uint64_t ResidentKilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    uint64_t kilobytes = 0;
    status >> kilobytes;
    return kilobytes;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const uint64_t scopes = std::strtoull(argv[1], nullptr, 10);
  const uint64_t per_second = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 0;
  const uint64_t portion = std::max<uint64_t>(scopes / 1000, 1);
  const auto start = std::chrono::steady_clock::now();
  uint64_t resident_after_tenth = 0;
  uint64_t resident_highest_after = 0;
  for (uint64_t recorded = 0; recorded < scopes;) {
    const uint64_t end = std::min(scopes, recorded + portion);
    for (; recorded < end; ++recorded) {
      FERRET_SCOPE("scope");
    }
    if (per_second != 0) {
      std::this_thread::sleep_until(start + std::chrono::microseconds(recorded * 1000000 / per_second));
    }
    if (recorded < scopes / 10) continue;
    const uint64_t resident = ResidentKilobytes();
    if (resident_after_tenth == 0) resident_after_tenth = resident;
    resident_highest_after = std::max(resident_highest_after, resident);
  }
  const ferret::Error error = ferret::Stop(300000);
  if (!error.empty()) std::fprintf(stderr, "stop: %s\n", error.c_str());
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("{\"attempted\": %llu, \"lost\": %llu, \"kb_after_tenth\": %llu, \"kb_highest_after\": %llu}\n",
              number(scopes), number(ferret::Losses().total()), number(resident_after_tenth),
              number(resident_highest_after));
  return error.empty() ? 0 : 1;
}
