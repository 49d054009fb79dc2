// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FERRET_EXPORT as a fuzz target: exporters whose parameters factories can ask for, or an error for people.

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "runtime/export/export_spec.h"
#include "tests/fuzz/environment_text.h"
#include "tests/fuzz/property.h"

namespace {

using ferret::ExporterSpec;

void CheckError(const absl::Status& status) {
  const absl::string_view message = status.message();
  FUZZ_PROPERTY(!message.empty() && ferret::fuzz::IsOneLine({message.data(), message.size()}));
}

// Every byte of a value as %XX, what a target may not have likewise.
std::string TextOf(const ExporterSpec& spec) {
  std::string text = spec.name;
  if (!spec.target.empty()) text += ":";
  for (const char c : spec.target) text += c == ',' ? "%2C" : c == '?' ? "%3F" : std::string(1, c);
  const char* separator = "?";
  for (const auto& [key, value] : spec.parameters) {
    absl::StrAppend(&text, separator, key, "=");
    for (const char c : value) absl::StrAppend(&text, "%", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    separator = "&";
  }
  return text;
}

void CheckAgain(const ExporterSpec& spec) {
  // Blanks at the end of a target would be trimmed away.
  if (!spec.target.empty() && spec.parameters.empty()) return;
  const auto again = ferret::ParseExporterSpecs(TextOf(spec));
  FUZZ_PROPERTY(again.ok() && again->size() == 1);
  FUZZ_PROPERTY((*again)[0].name == spec.name && (*again)[0].parameters == spec.parameters);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (text.find('\0') != text.npos) return 0;  // no variable has one
  const auto specs = ferret::ParseExporterSpecs(text);
  if (!specs.ok()) {
    CheckError(specs.status());
    return 0;
  }
  for (const ExporterSpec& spec : *specs) {
    FUZZ_PROPERTY(ferret::IsExporterName(spec.name));
    std::set<std::string> keys;
    for (const auto& [key, value] : spec.parameters) {
      FUZZ_PROPERTY(keys.insert(key).second && *FindParameter(spec, key) == value);
      FUZZ_PROPERTY(value.find('\0') == value.npos);
      if (const auto number = IntParameter(spec, key, 0, -5, 1000); !number.ok()) {
        CheckError(number.status());
      } else {
        FUZZ_PROPERTY(*number >= -5 && *number <= 1000);
      }
      if (const auto bytes = SizeParameter(spec, key, 0, 10); !bytes.ok()) {
        CheckError(bytes.status());
      } else {
        FUZZ_PROPERTY(*bytes >= 10);
      }
      if (const auto split = SplitParameter(spec, key); !split.ok()) CheckError(split.status());
    }
    const absl::Status none = CheckParameters(spec, {});
    FUZZ_PROPERTY(none.ok() == spec.parameters.empty());
    if (!none.ok()) CheckError(none);
    CheckAgain(spec);
  }
  return 0;
}
