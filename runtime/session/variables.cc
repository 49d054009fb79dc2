// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/variables.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/session/flight_options.h"
#include "runtime/session/schedule.h"
#include "runtime/session/size_text.h"

namespace ferret {
namespace {

// Parsers and printers by the type of the option. Each comes as a template over the member, so that a row of the table
// is all there is to say about a variable.

template <uint64_t Options::*kMember>
bool ParseSize(absl::string_view value, Options* options) {
  return ParseSizeText(value, &(options->*kMember));
}

template <uint64_t Options::*kMember>
std::string PrintSize(const Options& options) {
  return SizeText(options.*kMember);
}

template <uint64_t Options::*kMember>
std::string PrintNumber(const Options& options) {
  return absl::StrCat(options.*kMember);
}

template <absl::Duration Options::*kMember>
bool ParseTime(absl::string_view value, Options* options) {
  return absl::ParseDuration(value, &(options->*kMember));
}

template <absl::Duration Options::*kMember>
std::string PrintTime(const Options& options) {
  return absl::FormatDuration(options.*kMember);
}

template <std::string Options::*kMember>
bool ParseText(absl::string_view value, Options* options) {
  options->*kMember = std::string(value);
  return true;
}

template <std::string Options::*kMember>
std::string PrintText(const Options& options) {
  return options.*kMember;
}

// Words[i] is the text of the enumerator i.
constexpr const char* kOverflowWords[] = {"drop", "block", "grow"};
constexpr const char* kClockWords[] = {"auto", "tsc", "monotonic"};
constexpr const char* kCudaWords[] = {"off", "scopes", "annotations", "ops"};
constexpr const char* kForkWords[] = {"off", "restart"};
constexpr const char* kLogWords[] = {"error", "warning", "info"};

template <typename Enum, Enum Options::*kMember, const auto& kWords>
bool ParseWord(absl::string_view value, Options* options) {
  const auto word = std::find(std::begin(kWords), std::end(kWords), value);
  if (word == std::end(kWords)) return false;
  options->*kMember = static_cast<Enum>(word - std::begin(kWords));
  return true;
}

template <typename Enum, Enum Options::*kMember, const auto& kWords>
std::string PrintWord(const Options& options) {
  return kWords[static_cast<size_t>(options.*kMember)];
}

// As PyTorch's own variables: 1 and 0, and the words for them.
template <bool Options::*kMember>
bool ParseSwitch(absl::string_view value, Options* options) {
  const std::string lower = absl::AsciiStrToLower(value);
  for (const char* yes : {"1", "true", "on", "yes"}) {
    if (lower == yes) return options->*kMember = true;
  }
  for (const char* no : {"0", "false", "off", "no"}) {
    if (lower == no) return !(options->*kMember = false);
  }
  return false;
}

template <bool Options::*kMember>
std::string PrintSwitch(const Options& options) {
  return options.*kMember ? "1" : "0";
}

bool ParsePlugins(absl::string_view value, Options* options) {
  options->plugins = absl::StrSplit(value, ':', absl::SkipEmpty());
  return true;
}

std::string PrintPlugins(const Options& options) { return absl::StrJoin(options.plugins, ":"); }

bool ParseWindows(absl::string_view value, Options* options) { return ParseSchedule(value, &options->schedule); }

std::string PrintWindows(const Options& options) { return PrintSchedule(options.schedule); }

bool ParseRecorder(absl::string_view value, Options* options) { return ParseFlight(value, &options->flight); }

std::string PrintRecorder(const Options& options) { return PrintFlight(options.flight); }

using O = Options;
using Kind = Variable::Kind;

constexpr Variable kVariables[] = {
    {"FERRET_EXPORT", Kind::kOutput, "name[:target][?key=value&...][,...]",
     "Turns recording on and says which exporters get the events.", ParseText<&O::exporters>, PrintText<&O::exporters>},
    {"FERRET_EXPORTERS", Kind::kOutput, "paths of shared libraries, separated by colons",
     "Exporter plug-ins to load at start.", ParsePlugins, PrintPlugins},
    {"FERRET_RECORD_SHAPES", Kind::kSetting, "1 or 0",
     "Record operators' inputs: shapes, strides, types, scalars; and the names of overloads.",
     ParseSwitch<&O::record_shapes>, PrintSwitch<&O::record_shapes>},
    {"FERRET_WITH_FLOPS", Kind::kSetting, "1 or 0",
     "Estimate the operations of conv2d, mm, addmm, bmm, baddbmm, mul and add; records inputs, too.",
     ParseSwitch<&O::with_flops>, PrintSwitch<&O::with_flops>},
    {"FERRET_WITH_STACK", Kind::kSetting, "1 or 0", "Record the Python frames that operators are called from.",
     ParseSwitch<&O::with_stack>, PrintSwitch<&O::with_stack>},
    {"FERRET_PROFILE_MEMORY", Kind::kSetting, "1 or 0",
     "Record what tensor allocators do (in PyTorch: needs the preload, see `ferret run`).",
     ParseSwitch<&O::profile_memory>, PrintSwitch<&O::profile_memory>},
    {"FERRET_CUDA", Kind::kSetting, "off, scopes, annotations or ops",
     "What is timed on CUDA devices: scopes that ask for it, also PyTorch's annotations, or also its operators.",
     ParseWord<O::Cuda, &O::cuda, kCudaWords>, PrintWord<O::Cuda, &O::cuda, kCudaWords>},
    {"FERRET_CUDA_RATE", Kind::kSetting, "scopes a second up to 100000000; 0: no limit",
     "How many scopes are timed on CUDA devices at most; others are recorded without, and counted.",
     ParseSize<&O::cuda_rate>, PrintNumber<&O::cuda_rate>},
    {"FERRET_BUFFER_SIZE", Kind::kSetting, "bytes from 128K to 16G (K, M, G: powers of 1024)",
     "Memory that recording threads write into.", ParseSize<&O::buffer_bytes>, PrintSize<&O::buffer_bytes>},
    {"FERRET_BUFFER_CAP", Kind::kSetting, "bytes from 128K to 16G (K, M, G: powers of 1024)",
     "What FERRET_OVERFLOW=grow may grow that memory to.", ParseSize<&O::buffer_cap_bytes>,
     PrintSize<&O::buffer_cap_bytes>},
    {"FERRET_OVERFLOW", Kind::kSetting, "drop, block or grow",
     "When that memory is full: lose new scopes (counted), wait up to FERRET_BLOCK_LIMIT, or allocate more.",
     ParseWord<O::Overflow, &O::overflow, kOverflowWords>, PrintWord<O::Overflow, &O::overflow, kOverflowWords>},
    {"FERRET_BLOCK_LIMIT", Kind::kSetting, "a time from 1ms to 10s",
     "The longest that FERRET_OVERFLOW=block makes a thread wait.", ParseTime<&O::block_limit>,
     PrintTime<&O::block_limit>},
    {"FERRET_EXPORTER_QUEUE", Kind::kSetting, "bytes from 1M to 16G (K, M, G: powers of 1024)",
     "Memory for events that wait for one exporter; beyond it that exporter loses events (counted).",
     ParseSize<&O::exporter_queue_bytes>, PrintSize<&O::exporter_queue_bytes>},
    {"FERRET_LINK_TABLE", Kind::kSetting, "entries from 1K to 64M (K, M: powers of 1024)",
     "Forward ops remembered until their backward op runs.", ParseSize<&O::link_table_entries>,
     PrintSize<&O::link_table_entries>},
    {"FERRET_STOP_DEADLINE", Kind::kSetting, "a time from 10ms to 1h",
     "The longest that stopping may hold up the end of the program.", ParseTime<&O::stop_deadline>,
     PrintTime<&O::stop_deadline>},
    {"FERRET_SCHEDULE", Kind::kSetting, kScheduleForm,
     "Which steps (or times) to record, as torch.profiler's schedule; everything if it is not set.", ParseWindows,
     PrintWindows},
    {"FERRET_FLIGHT", Kind::kSetting, kFlightForm,
     "Keep only the latest events and write them when something asks for it: a flight recorder.", ParseRecorder,
     PrintRecorder},
    {"FERRET_CLOCK", Kind::kSetting, "auto, tsc or monotonic",
     "What times are read from: the time stamp counter if it is reliable (auto), always, or never.",
     ParseWord<O::Clock, &O::clock, kClockWords>, PrintWord<O::Clock, &O::clock, kClockWords>},
    {"FERRET_FORK", Kind::kSetting, "off or restart",
     "What a forked child does: nothing is recorded in it (off), or it starts a session with files of its own (restart).",
     ParseWord<O::Fork, &O::fork, kForkWords>, PrintWord<O::Fork, &O::fork, kForkWords>},
    {"FERRET_CRASH_DIR", Kind::kSetting, "a folder, or auto for /dev/shm",
     "Record into a file there, so that a kill loses nothing (see `ferret help recover`); nothing if it is not set.",
     ParseText<&O::crash_dir>, PrintText<&O::crash_dir>},
    {"FERRET_CRASH_KEEP", Kind::kSetting, "1 or 0", "Leave that file there also when the program ends well.",
     ParseSwitch<&O::crash_keep>, PrintSwitch<&O::crash_keep>},
    {"FERRET_LOG", Kind::kSetting, "error, warning or info", "Which diagnostics are printed on standard error.",
     ParseWord<O::Log, &O::log, kLogWords>, PrintWord<O::Log, &O::log, kLogWords>},
    {"FERRET_CUDA_LIBRARY", Kind::kInternal, "a path",
     "A library to be used instead of the CUDA driver, libcuda.so.1; for tests.", ParseText<&O::cuda_library>,
     PrintText<&O::cuda_library>},
    {"FERRET_RUN_ID", Kind::kInternal, "up to 64 letters, digits, - and _",
     "Which run a process belongs to; set by `ferret run` or by the first process that records.",
     ParseText<&O::run_id>, PrintText<&O::run_id>},
    {"FERRET_RUN_REPORT", Kind::kInternal, "a path",
     "Where a process tells `ferret run` what it wrote; set by `ferret run`.", ParseText<&O::run_report>,
     PrintText<&O::run_report>},
};

}  // namespace

absl::Span<const Variable> Variables() { return kVariables; }

absl::Status SetVariable(const Variable& variable, absl::string_view value, Options* options) {
  if (value.empty()) return absl::OkStatus();
  Options changed = *options;
  std::string error = absl::StrCat(variable.name, "=", Quoted(value), " is not allowed: expected ", variable.allowed);
  if (!variable.parse(value, &changed)) return absl::InvalidArgumentError(error);
  // The options were valid before, so what is wrong now is this variable, or what it needs of the earlier ones.
  const absl::Status valid = changed.Validate();
  if (!valid.ok()) return absl::InvalidArgumentError(absl::StrCat(error, " (", std::string(valid.message()), ")"));
  *options = std::move(changed);
  return absl::OkStatus();
}

std::vector<std::pair<std::string, std::string>> DescribeOptions(const Options& options) {
  std::vector<std::pair<std::string, std::string>> described;
  for (const Variable& variable : kVariables) {
    if (variable.kind == Kind::kSetting) described.emplace_back(variable.name, variable.print(options));
  }
  return described;
}

std::string VariablesText() {
  std::string text;
  for (const Variable& variable : kVariables) {
    const std::string initial = variable.print(Options());
    absl::StrAppend(&text, "  ", variable.name, "\n      ", variable.meaning, "\n      ", variable.allowed,
                    initial.empty() ? "" : absl::StrCat("; default ", initial), "\n");
  }
  return text;
}

std::string VariablesMarkdown() {
  std::string text = "| Variable | Value | Default | Meaning |\n|---|---|---|---|\n";
  for (const Variable& variable : kVariables) {
    const std::string initial = variable.print(Options());
    absl::StrAppend(&text, "| `", variable.name, "` | ", variable.allowed, " | ",
                    initial.empty() ? "" : absl::StrCat("`", initial, "`"), " | ", variable.meaning, " |\n");
  }
  return text;
}

std::string Quoted(absl::string_view value) {
  constexpr size_t kMost = 200;
  std::string escaped = absl::CHexEscape(value.substr(0, kMost));
  const bool cut = value.size() > kMost || escaped.size() > kMost;
  escaped.resize(std::min(escaped.size(), kMost));
  return absl::StrCat("\"", escaped, cut ? "...\"" : "\"");
}

}  // namespace ferret
