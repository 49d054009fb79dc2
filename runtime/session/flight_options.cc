// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/flight_options.h"

#include <signal.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "runtime/session/size_text.h"

namespace ferret {
namespace {

// Signals that nothing else is known to mean to a program that does not handle them. A fault ends the process: for that
// there is the crash file.
constexpr std::pair<absl::string_view, int> kSignals[] = {
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"HUP", SIGHUP}, {"QUIT", SIGQUIT}, {"WINCH", SIGWINCH}};

bool ParseSignal(absl::string_view text, int* signal) {
  absl::ConsumePrefix(&text, "SIG");
  for (const auto& [name, number] : kSignals) {
    if (text != name) continue;
    *signal = number;
    return true;
  }
  return false;
}

bool ParseNs(absl::string_view text, uint64_t* ns) {
  absl::Duration time;
  if (!absl::ParseDuration(text, &time) || time <= absl::ZeroDuration() || time > absl::Hours(24 * 365)) return false;
  *ns = static_cast<uint64_t>(absl::ToInt64Nanoseconds(time));
  return *ns > 0;
}

// A time, or a factor: "1.5x".
bool ParseSlow(absl::string_view text, Flight* flight) {
  if (!absl::ConsumeSuffix(&text, "x")) return ParseNs(text, &flight->slow_ns);
  // SimpleAtod alone would take a sign, spaces and words.
  return !text.empty() && text.find_first_not_of("0123456789.") == absl::string_view::npos &&
         absl::SimpleAtod(text, &flight->slow_factor);
}

bool ParseSwitchText(absl::string_view text, bool* on) {
  *on = text == "1";
  return *on || text == "0";
}

bool ParseField(absl::string_view name, absl::string_view value, Flight* flight) {
  if (name == "last") return ParseNs(value, &flight->last_ns);
  if (name == "size") return ParseSizeText(value, &flight->size_bytes) && flight->size_bytes > 0;
  if (name == "signal") return ParseSignal(value, &flight->signal);
  if (name == "slow") return ParseSlow(value, flight);
  if (name == "dumps") return ParseDigits(value, &flight->dumps);
  if (name == "at_exit") return ParseSwitchText(value, &flight->at_exit);
  return false;
}

// A bound alone: a time first, so that 30m is half an hour and 30M is memory.
bool ParseBound(absl::string_view text, Flight* flight) {
  return ParseNs(text, &flight->last_ns) || (ParseSizeText(text, &flight->size_bytes) && flight->size_bytes > 0);
}

std::string TimeText(uint64_t ns) { return absl::FormatDuration(absl::Nanoseconds(ns)); }

}  // namespace

bool ParseFlight(absl::string_view text, Flight* flight) {
  Flight parsed;
  parsed.size_bytes = kDefaultFlightBytes;
  if (text == "on") {
    *flight = parsed;
    return true;
  }
  std::set<absl::string_view> named;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const std::pair<absl::string_view, absl::string_view> field = absl::StrSplit(part, absl::MaxSplits('=', 1));
    const bool is_field = absl::StrContains(part, '=');
    if (!named.insert(is_field ? field.first : "a bound").second) return false;  // twice
    if (!(is_field ? ParseField(field.first, field.second, &parsed) : ParseBound(part, &parsed))) return false;
  }
  *flight = parsed;
  return true;
}

std::string PrintFlight(const Flight& flight) {
  if (flight.size_bytes == 0) return "";
  std::vector<std::string> fields = {absl::StrCat("size=", SizeText(flight.size_bytes))};
  if (flight.last_ns != 0) fields.push_back(absl::StrCat("last=", TimeText(flight.last_ns)));
  if (flight.slow_ns != 0) fields.push_back(absl::StrCat("slow=", TimeText(flight.slow_ns)));
  if (flight.slow_factor != 0) fields.push_back(absl::StrCat("slow=", flight.slow_factor, "x"));
  if (flight.signal != 0) {
    fields.push_back(absl::StrCat("signal=", std::string(absl::StripPrefix(SignalName(flight.signal), "SIG"))));
  }
  if (flight.at_exit) fields.push_back("at_exit=1");
  fields.push_back(absl::StrCat("dumps=", flight.dumps));
  return absl::StrJoin(fields, ",");
}

absl::Status ValidateFlight(const Flight& flight) {
  if (flight.size_bytes == 0) return absl::OkStatus();
  const auto bad = [](const auto&... what) { return absl::InvalidArgumentError(absl::StrCat("a flight recorder's ", what...)); };
  if (flight.size_bytes < kMinFlightBytes || flight.size_bytes > kMaxFlightBytes) {
    return bad("size is ", flight.size_bytes, ", not from ", SizeText(kMinFlightBytes), " to ", SizeText(kMaxFlightBytes));
  }
  constexpr uint64_t kYear = uint64_t{24 * 365} * 3'600'000'000'000;
  if (flight.last_ns > kYear || flight.slow_ns > kYear) return bad("times are a year at most");
  if (flight.slow_factor != 0 && !(flight.slow_factor > 1 && flight.slow_factor <= 1e6)) {
    return bad("slow is more than 1x and at most 1000000x");
  }
  if (flight.slow_factor != 0 && flight.slow_ns != 0) return bad("slow is a time or a factor, not both");
  if (flight.dumps < 1 || flight.dumps > kMaxFlightDumps) return bad("dumps are from 1 to ", kMaxFlightDumps);
  if (flight.signal != 0 && SignalName(flight.signal).empty()) {
    return bad("signal is one of USR1, USR2, HUP, QUIT and WINCH");
  }
  return absl::OkStatus();
}

std::string SignalName(int signal) {
  for (const auto& [name, number] : kSignals) {
    if (number == signal) return absl::StrCat("SIG", std::string(name));
  }
  return "";
}

}  // namespace ferret
