// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/export_spec.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace ferret {
namespace {

using absl::string_view;

constexpr char kNameForm[] = "a lower-case letter followed by lower-case letters, digits, '_' and '-'";
constexpr char kParameterForm[] = "parameters are ?key=value&key=value, with %2C for ',' and %26 for '&' in a value";
// Its value holds credentials, which no message may show. Where a ',' or '&' in it is not encoded, what comes next in
// FERRET_EXPORT is a part of it too.
constexpr char kSecretKey[] = "headers";
constexpr char kSizeForm[] = "whole numbers with kB, MB, GB, KiB, MiB, GiB or no unit";

string_view View(std::string_view text) { return {text.data(), text.size()}; }

bool IsNameChar(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_' || c == '-'; }

// The byte that the two hexadecimal digits at the start of `text` stand for.
std::optional<char> HexByte(string_view text) {
  if (text.size() < 2 || !absl::ascii_isxdigit(text[0]) || !absl::ascii_isxdigit(text[1])) return std::nullopt;
  const auto digit = [](char c) { return absl::ascii_isdigit(c) ? c - '0' : absl::ascii_tolower(c) - 'a' + 10; };
  return static_cast<char>(digit(text[0]) * 16 + digit(text[1]));
}

absl::StatusOr<std::string> DecodeValue(string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const std::optional<char> byte = HexByte(text.substr(i + 1));
    if (!byte.has_value() || *byte == '\0') {
      return absl::InvalidArgumentError(
          "what follows a '%' is not two hexadecimal digits other than 00; a '%' itself is %25");
    }
    decoded += *byte;
    i += 2;
  }
  return decoded;
}

std::string DecodeTarget(string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::optional<char> byte = text[i] == '%' ? HexByte(text.substr(i + 1)) : std::nullopt;
    if (byte == ',' || byte == '?') {
      decoded += *byte;
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

// What comes up to the first '?' or '=' of an entry; less if there is an '@', before which there may be a password.
std::string ShownEntry(string_view entry) {
  const bool has_user = entry.find('@') != string_view::npos;
  return ShownText(std::string(entry.substr(0, entry.find_first_of(has_user ? "?=:@" : "?="))));
}

// `number` counts from 1. A text that is no parameter may be anything, also a part of a secret.
absl::Status AddParameter(string_view text, size_t number, ExporterSpec* spec) {
  const size_t equals = text.find('=');
  if (equals == string_view::npos || equals == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("parameter ", number, " is not of the form key=value; ", kParameterForm));
  }
  const std::string key(text.substr(0, equals));
  if (!std::all_of(key.begin(), key.end(), IsNameChar)) {
    return absl::InvalidArgumentError(absl::StrCat("the key of parameter ", number,
                                                   " may have only lower-case letters, digits, '_' and '-'; ",
                                                   kParameterForm));
  }
  if (FindParameter(*spec, key) != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("parameter \"", key, "\" is given twice"));
  }
  absl::StatusOr<std::string> value = DecodeValue(text.substr(equals + 1));
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("in parameter \"", key, "\": ", value.status().message()));
  }
  spec->parameters.emplace_back(key, *std::move(value));
  return absl::OkStatus();
}

absl::StatusOr<ExporterSpec> ParseEntry(string_view text) {
  ExporterSpec spec;
  // Parameters first: a ':' in a value does not start a target.
  const size_t question = text.find('?');
  const string_view place = text.substr(0, question);
  const size_t colon = place.find(':');
  spec.name = std::string(place.substr(0, colon));
  if (!IsExporterName(spec.name)) {
    return absl::InvalidArgumentError(absl::StrCat("it does not begin with an exporter's name, which is ", kNameForm,
                                                   "; an entry is name[:target][?key=value&...]"));
  }
  if (colon != string_view::npos) {
    spec.target = DecodeTarget(place.substr(colon + 1));
    if (spec.target.empty()) {
      return absl::InvalidArgumentError("there is nothing after ':'; leave it out for the exporter's default target");
    }
  }
  if (question != string_view::npos) {
    size_t number = 0;
    for (string_view parameter : absl::StrSplit(text.substr(question + 1), '&')) {
      absl::Status status = AddParameter(parameter, ++number, &spec);
      if (!status.ok()) return status;
    }
  }
  return spec;
}

// "300MB", "1.5GB" is not allowed: whole numbers only. 0 if the text is no size.
uint64_t ParseSize(const std::string& text) {
  const size_t digits = text.find_first_not_of("0123456789");
  uint64_t number = 0;
  if (!absl::SimpleAtoi(text.substr(0, digits), &number)) return 0;
  const std::string unit = digits == std::string::npos ? "" : text.substr(digits);
  uint64_t factor = 0;
  if (unit.empty()) factor = 1;
  if (unit == "kB" || unit == "KB") factor = 1000;
  if (unit == "MB") factor = 1000 * 1000;
  if (unit == "GB") factor = 1000 * 1000 * 1000;
  if (unit == "KiB") factor = uint64_t{1} << 10;
  if (unit == "MiB") factor = uint64_t{1} << 20;
  if (unit == "GiB") factor = uint64_t{1} << 30;
  if (factor == 0 || number > std::numeric_limits<uint64_t>::max() / factor) return 0;
  return number * factor;
}

}  // namespace

absl::StatusOr<std::vector<ExporterSpec>> ParseExporterSpecs(std::string_view text) {
  std::vector<ExporterSpec> specs;
  if (absl::StripAsciiWhitespace(View(text)).empty()) return specs;
  size_t number = 0;
  bool after_secret = false;
  for (string_view untrimmed : absl::StrSplit(View(text), ',')) {
    ++number;
    const string_view entry = absl::StripAsciiWhitespace(untrimmed);
    if (entry.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", number, " is empty; entries are separated by single commas, ",
                       "and a comma in a target or value is %2C"));
    }
    absl::StatusOr<ExporterSpec> spec = ParseEntry(entry);
    if (!spec.ok()) {
      const std::string shown = after_secret ? "" : absl::StrCat(", \"", ShownEntry(entry), "\"");
      // "b=2" is what the comma in ?headers=a=1,b=2 leaves.
      const bool is_pair = entry.find('=') < entry.find_first_of(":?");
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", number, shown, ": ", spec.status().message(),
                       after_secret || is_pair ? "; a ',' inside a parameter, as between headers, is %2C" : ""));
    }
    after_secret = after_secret || FindParameter(*spec, kSecretKey) != nullptr;
    specs.push_back(*std::move(spec));
  }
  return specs;
}

std::string ShownText(std::string_view text) {
  constexpr size_t kMost = 200;
  const std::string escaped = absl::Utf8SafeCHexEscape(View(text.substr(0, kMost)));
  return text.size() > kMost ? escaped + "..." : escaped;
}

bool IsExporterName(std::string_view name) {
  return !name.empty() && absl::ascii_islower(name[0]) && std::all_of(name.begin(), name.end(), IsNameChar);
}

absl::Status CheckParameters(const ExporterSpec& spec, std::initializer_list<std::string_view> allowed) {
  bool after_secret = false;
  for (const auto& parameter : spec.parameters) {
    const bool known = std::find(allowed.begin(), allowed.end(), parameter.first) != allowed.end();
    const bool may_be_secret = std::exchange(after_secret, after_secret || parameter.first == kSecretKey);
    if (known) continue;
    std::vector<string_view> names;
    for (std::string_view name : allowed) names.push_back(View(name));
    return absl::InvalidArgumentError(
        absl::StrCat("exporter ", spec.name, " has no parameter ",
                     may_be_secret ? "like one that follows headers, in which an '&' is %26"
                                   : absl::StrCat("\"", parameter.first, "\""),
                     "; ", names.empty() ? "it takes none" : absl::StrCat("it takes ", absl::StrJoin(names, ", "))));
  }
  return absl::OkStatus();
}

const std::string* FindParameter(const ExporterSpec& spec, std::string_view key) {
  for (const auto& parameter : spec.parameters) {
    if (parameter.first == key) return &parameter.second;
  }
  return nullptr;
}

absl::StatusOr<int64_t> IntParameter(const ExporterSpec& spec, std::string_view key, int64_t absent, int64_t min,
                                     int64_t max) {
  const std::string* text = FindParameter(spec, key);
  if (text == nullptr) return absent;
  int64_t number = 0;
  if (!absl::SimpleAtoi(*text, &number) || number < min || number > max) {
    return absl::InvalidArgumentError(absl::StrCat("exporter ", spec.name, ": ", View(key), "=", ShownText(*text),
                                                   " is not a number from ", min, " to ", max));
  }
  return number;
}

absl::StatusOr<uint64_t> SizeParameter(const ExporterSpec& spec, std::string_view key, uint64_t absent, uint64_t min) {
  const std::string* text = FindParameter(spec, key);
  if (text == nullptr) return absent;
  const uint64_t bytes = ParseSize(*text);
  if (bytes == 0 || bytes < min) {
    return absl::InvalidArgumentError(absl::StrCat(spec.name, ": ", View(key), "=", ShownText(*text), " is not a size from ", min,
                                                   " bytes on; allowed are ", kSizeForm));
  }
  return bytes;
}

absl::StatusOr<uint64_t> SplitParameter(const ExporterSpec& spec, std::string_view key) {
  // A part smaller than a few pieces would consist of frames.
  constexpr uint64_t kSmallestPart = 1000 * 1000;
  const std::string* text = FindParameter(spec, key);
  if (text == nullptr || *text == "0") return 0;
  const uint64_t bytes = ParseSize(*text);
  if (bytes < kSmallestPart) {
    return absl::InvalidArgumentError(
        absl::StrCat(spec.name, ": ", View(key), "=", ShownText(*text),
                     " is not a size from 1MB on; allowed are ", kSizeForm, ", and 0 for one file"));
  }
  return bytes;
}

}  // namespace ferret
