// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Where an output goes: patterns in targets, and names for files that would otherwise be one.
//
//   %p process id   %r rank, 0 without one   %h host   %t start, 20250102T030405Z   %n part number   %% a percent sign
//
// An output with a label (a dump of a flight recorder) has it in its name: for %n, or before the extensions.

#ifndef FERRET_RUNTIME_EXPORT_FILE_OUTPUT_PATH_H_
#define FERRET_RUNTIME_EXPORT_FILE_OUTPUT_PATH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ferret {

struct PathContext {
  int32_t pid = 0;
  bool in_forked_child = false;
  bool has_rank = false;
  int rank = 0;
  std::string host;
  int64_t start_ns = 0;  // Unix ns
  bool split = false;    // the output comes in parts
  int part = 1;          // from 1
  std::string label;     // SessionInfo::label
};

// InvalidArgument, naming the pattern and what is allowed, unless every '%' starts one of the patterns above.
absl::Status CheckPathPattern(std::string_view pattern);

// The file name for a pattern that passed CheckPathPattern. A process with a rank whose pattern has neither %p nor %r
// gets "-rank<N>" before the extensions, and a part of a split output without %n gets "-part<N>": the ranks of one job
// are started with one environment and must not write one file. So does a label without %n; of a split output with a label,
// %n is "<label>-<N>". In a forked child, a pattern without %p gets
// "-<pid>".
std::string ExpandPath(std::string_view pattern, const PathContext& context);

// "out/trace.json.gz" and "-rank1" make "out/trace-rank1.json.gz". What counts as extensions: .gz, .jsonl, .json,
// .trace and .pt in this order from the end, each optional, or else whatever follows the last dot.
std::string InsertBeforeExtension(std::string_view path, std::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_OUTPUT_PATH_H_
