// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/proc_stat.h"

#include <fstream>

namespace ferret {

ProcStat ReadProcStat(const std::string& folder) {
  ProcStat stat;
  // id (name) state …: the name may hold anything, parentheses too.
  std::string line;
  std::getline(std::ifstream(folder + "/stat"), line);
  const size_t begin = line.find('(');
  const size_t end = line.rfind(") ");
  if (begin == std::string::npos || end == std::string::npos || begin > end || end + 2 >= line.size()) return stat;
  stat.known = true;
  stat.name = line.substr(begin + 1, end - begin - 1);
  stat.state = line[end + 2];
  return stat;
}

}  // namespace ferret
