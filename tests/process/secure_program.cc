// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// secure_program [EXPORT [DEADLINE]]: for secure_process_test. It records, by itself or to EXPORT, stops within DEADLINE
// milliseconds, and prints what it has loaded.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include <fstream>
#include <string>

#include "ferret/scope.h"
#include "ferret/session.h"

int main(int count, char** arguments) {
  printf("secure %lu\n", getauxval(AT_SECURE));
  printf("recording %d\n", ferret::IsRecording());
  if (count > 1) {
    const ferret::Error error = ferret::Start(arguments[1]);
    printf("start \"%s\"\n", error.c_str());
  }
  { FERRET_SCOPE("scope"); }
  const ferret::Error error = ferret::Stop(count > 2 ? atoi(arguments[2]) : 60'000);
  if (!error.empty()) printf("stop \"%s\"\n", error.c_str());
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (strstr(line.c_str(), "evil") != nullptr) printf("loaded %s\n", line.c_str());
  }
  return 7;
}
