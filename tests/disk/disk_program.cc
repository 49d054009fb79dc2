// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A program that records on a disk that its surroundings make for it. It starts and stops nothing itself.
//
//   disk_program SCOPES [WHAT]...
//
// Four rounds of SCOPES scopes with a flush after each; then it prints how many scopes that were, and its exit status is 7.
// After the second round it does WHAT: "remove PATH" or "cut PATH", to each file if that is a folder, or "fill PATH", which
// writes there until the disk is full.

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "ferret/scope.h"
#include "ferret/session.h"

namespace {

int Do(const std::string& what, const char* path) {
  if (std::filesystem::is_directory(path)) {
    int result = -1;  // with nothing in it
    for (const auto& entry : std::filesystem::directory_iterator(path)) result = Do(what, entry.path().c_str());
    return result;
  }
  if (what == "remove") return unlink(path);
  if (what == "cut") return truncate(path, 0);
  const int file = open(path, O_WRONLY | O_CREAT, 0600);
  if (file < 0) return -1;
  const std::string zeros(65536, '\0');
  for (size_t size = zeros.size(); size > 0;) {
    if (write(file, zeros.data(), size) < 0) size /= 2;
  }
  return close(file);
}

}  // namespace

int main(int argc, char** arguments) {
  if (argc < 2) return 2;
  const int scopes = atoi(arguments[1]);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < scopes; ++i) { FERRET_SCOPE("scope"); }
    (void)ferret::Flush(60'000);
    if (round != 1) continue;
    for (int i = 2; i + 1 < argc; i += 2) {
      if (Do(arguments[i], arguments[i + 1]) != 0) return 3;
    }
  }
  printf("%d\n", 4 * scopes);
  fflush(stdout);
  return 7;
}
