// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/say.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"

namespace ferret {

void Say(absl::string_view line) {
  const std::string whole = absl::StrCat("ferret: ", line, "\n");
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

bool Print(absl::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return true;
  Say("cannot write to standard output");
  return false;
}

}  // namespace ferret
