// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/driver_options.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace ferret::fuzz {

absl::StatusOr<DriverOptions> ParseDriverOptions(const char* const* arguments) {
  DriverOptions options;
  const char* const outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  options.artifacts = outputs == nullptr ? "." : outputs;
  const std::pair<absl::string_view, uint64_t*> numbers[] = {
      {"runs", &options.runs},
      {"seed", &options.seed},
      {"max_len", &options.most_bytes},
      {"most_blocks", &options.most_blocks},
      {"most_blocks_per_byte", &options.most_blocks_per_byte},
      {"most_memory", &options.most_memory},
      {"most_files", &options.most_files},
      {"most_memory_per_byte", &options.most_memory_per_byte},
  };
  const std::pair<absl::string_view, std::string*> texts[] = {
      {"dict", &options.dictionary},
      {"artifact_prefix", &options.artifacts},
      {"smallest", &options.smallest},
  };
  for (; *arguments != nullptr; ++arguments) {
    absl::string_view argument = *arguments;
    if (!absl::ConsumePrefix(&argument, "-")) {
      options.seeds.push_back(std::string(argument));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> option = absl::StrSplit(argument, absl::MaxSplits('=', 1));
    bool known = false;
    for (const auto& [name, number] : numbers) known |= option.first == name && absl::SimpleAtoi(option.second, number);
    for (const auto& [name, text] : texts) {
      if (option.first != name) continue;
      *text = std::string(option.second);
      known = true;
    }
    if (!known) return absl::InvalidArgumentError(absl::StrCat(*arguments, " is no option, or its value is no number"));
  }
  return options;
}

}  // namespace ferret::fuzz
