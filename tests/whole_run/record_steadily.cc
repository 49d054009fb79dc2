// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Records until it is killed, and says how much is safe: after each ferret::Flush it prints how many scopes it has
// recorded by then.
//
//     record_steadily SCOPES_PER_FLUSH

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "ferret/scope.h"
#include "ferret/session.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const unsigned long per_flush = std::strtoul(argv[1], nullptr, 10);
  for (unsigned long recorded = 0;;) {
    for (unsigned long i = 0; i < per_flush; ++i) {
      FERRET_SCOPE("steady");
    }
    recorded += per_flush;
    const ferret::Error error = ferret::Flush(60000);
    if (!error.empty()) {
      std::fprintf(stderr, "flush: %s\n", error.c_str());
      return 1;
    }
    // One write: a killed process leaves a whole line or none.
    char line[32];
    const int size = std::snprintf(line, sizeof(line), "%lu\n", recorded);
    if (write(STDOUT_FILENO, line, static_cast<size_t>(size)) != size) return 1;
  }
}
