// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/config/trace_context.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ferret::otlp {
namespace {

// version-trace-parent-flags: where the parts begin, and how long all of it is.
constexpr size_t kTraceAt = 3, kParentAt = 36, kFlagsAt = 53, kLength = 55;
// What every reader of a tracestate has to let pass; a longer one is cut by others.
constexpr size_t kMostEntries = 32;

bool IsLowerHex(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsZero(absl::string_view hex) { return hex.find_first_not_of('0') == absl::string_view::npos; }

uint64_t Number(absl::string_view hex) {
  uint64_t number = 0;
  for (char c : hex) number = number << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  return number;
}

// A lower-case name, or tenant@system.
bool IsStateKey(absl::string_view key) {
  if (key.empty() || key.size() > 256) return false;
  if (!absl::ascii_islower(key[0]) && !absl::ascii_isdigit(key[0])) return false;
  if (std::count(key.begin(), key.end(), '@') > 1 || key.back() == '@') return false;
  return std::all_of(key.begin(), key.end(), [](char c) {
    return absl::ascii_islower(static_cast<unsigned char>(c)) || absl::ascii_isdigit(static_cast<unsigned char>(c)) ||
           c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
  });
}

bool IsStateValue(absl::string_view value) {
  return !value.empty() && value.size() <= 256 && value.back() != ' ' &&
         std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~' && c != '=' && c != ','; });
}

}  // namespace

std::optional<RemoteContext> ParseTraceparent(std::string_view given) {
  const absl::string_view text(given.data(), given.size());
  if (text.size() < kLength) return std::nullopt;
  const absl::string_view version = text.substr(0, 2);
  const absl::string_view trace = text.substr(kTraceAt, 32);
  const absl::string_view parent = text.substr(kParentAt, 16);
  const absl::string_view flags = text.substr(kFlagsAt, 2);
  for (size_t dash : {kTraceAt, kParentAt, kFlagsAt}) {
    if (text[dash - 1] != '-') return std::nullopt;
  }
  if (!IsLowerHex(version) || !IsLowerHex(trace) || !IsLowerHex(parent) || !IsLowerHex(flags)) return std::nullopt;
  if (version == "ff" || IsZero(trace) || IsZero(parent)) return std::nullopt;
  if (text.size() > kLength && (version == "00" || text[kLength] != '-')) return std::nullopt;

  RemoteContext remote;
  const std::string trace_bytes = absl::HexStringToBytes(trace);
  std::copy(trace_bytes.begin(), trace_bytes.end(), remote.trace_id.begin());
  remote.span_id = Number(parent);
  remote.flags = static_cast<uint8_t>(Number(flags));
  return remote;
}

bool IsTracestate(std::string_view text) {
  std::vector<absl::string_view> keys;
  for (absl::string_view entry : absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty()) continue;
    const size_t equals = std::min(entry.find('='), entry.size());
    const absl::string_view key = entry.substr(0, equals);
    if (equals == entry.size() || !IsStateKey(key) || !IsStateValue(entry.substr(equals + 1))) return false;
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return false;
    keys.push_back(key);
  }
  return !keys.empty() && keys.size() <= kMostEntries;
}

std::optional<RemoteContext> ReadRemoteContext(const OtlpVariables& variables) {
  const std::string parent = variables.Text("TRACEPARENT");
  if (parent.empty()) return std::nullopt;
  std::optional<RemoteContext> remote = ParseTraceparent(parent);
  if (!remote.has_value()) {
    variables.Ignore("TRACEPARENT", parent,
                     "allowed is 00-TRACE-SPAN-FLAGS with 32, 16 and 2 lower-case hex digits and no id of zeros; so is "
                     "TRACESTATE");
    return std::nullopt;
  }
  const std::string state = variables.Text("TRACESTATE");
  if (state.empty()) return remote;
  if (IsTracestate(state)) {
    remote->state = state;
  } else {
    variables.Ignore("TRACESTATE", state, "allowed are up to 32 entries key=value with commas between them");
  }
  return remote;
}

}  // namespace ferret::otlp
