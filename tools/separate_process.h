// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads a crash file in a process of its own. A file that somebody cuts short, or that is damaged in a way that nobody
// thought of, ends that process and does not spoil the others.

#ifndef FERRET_TOOLS_SEPARATE_PROCESS_H_
#define FERRET_TOOLS_SEPARATE_PROCESS_H_

#include <functional>
#include <string>

namespace ferret {

struct SeparateResult {
  int status = -1;      // what the work returned; −1 if it did not
  std::string answer;   // what it gave
  std::string failure;  // why it did not return
};

// `work` returns a status from 0 to 99. It may use much more memory and time than the largest real file of the size of
// the one at `path` takes, but not all that the machine has, and it leaves no core file.
SeparateResult RunSeparately(const std::string& path, const std::function<int(std::string* answer)>& work);

}  // namespace ferret

#endif  // FERRET_TOOLS_SEPARATE_PROCESS_H_
