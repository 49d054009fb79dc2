// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/output_path.h"

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace ferret {
namespace {

// A host name is a path component here, whatever the machine is called.
std::string PathComponent(std::string_view text) {
  std::string out(text.empty() ? "localhost" : text);
  for (char& c : out) {
    if (c == '/' || c == '\0') c = '_';
  }
  return out;
}

bool HasPattern(std::string_view pattern, char wanted) {
  for (size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '%') continue;
    if (pattern[i + 1] == wanted) return true;
    ++i;
  }
  return false;
}

}  // namespace

absl::Status CheckPathPattern(std::string_view pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\0') return absl::InvalidArgumentError("the target contains a NUL character");
    if (pattern[i] != '%') continue;
    ++i;
    if (i == pattern.size() || std::string_view("prhtn%").find(pattern[i]) == std::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("target \"", absl::Utf8SafeCHexEscape(std::string(pattern)), "\" contains \"%",
                       absl::CHexEscape(std::string(pattern.substr(i, 1))),
                       "\"; allowed are %p (process id), %r (rank), %h (host), %t (start time), %n (part number), %%"));
    }
  }
  return absl::OkStatus();
}

std::string InsertBeforeExtension(std::string_view path, std::string_view text) {
  const size_t slash = path.rfind('/');
  const size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  std::string_view stem = path;
  constexpr std::array<std::string_view, 5> kChain = {".gz", ".jsonl", ".json", ".trace", ".pt"};
  for (std::string_view extension : kChain) {
    const size_t file_name_size = stem.size() - name;
    if (file_name_size > extension.size() && stem.substr(stem.size() - extension.size()) == extension) {
      stem.remove_suffix(extension.size());
    }
  }
  if (stem.size() == path.size()) {
    const size_t dot = path.rfind('.');
    if (dot != std::string_view::npos && dot > name) stem = path.substr(0, dot);
  }
  return absl::StrCat(std::string(stem), std::string(text), std::string(path.substr(stem.size())));
}

std::string ExpandPath(std::string_view pattern, const PathContext& context) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      path += pattern[i];
      continue;
    }
    switch (pattern[++i]) {
      case 'p': absl::StrAppend(&path, context.pid); break;
      case 'r': absl::StrAppend(&path, context.rank); break;
      case 'h': path += PathComponent(context.host); break;
      case 't':
        path += absl::FormatTime("%Y%m%dT%H%M%SZ", absl::FromUnixNanos(context.start_ns), absl::UTCTimeZone());
        break;
      case 'n':
        path += context.label;
        if (!context.label.empty() && context.split) path += '-';
        if (context.label.empty() || context.split) absl::StrAppend(&path, context.part);
        break;
      default: path += pattern[i];
    }
  }
  if (context.has_rank && !HasPattern(pattern, 'p') && !HasPattern(pattern, 'r')) {
    path = InsertBeforeExtension(path, absl::StrCat("-rank", context.rank));
  }
  if (!context.label.empty() && !HasPattern(pattern, 'n')) {
    path = InsertBeforeExtension(path, absl::StrCat("-", context.label));
  }
  if (context.in_forked_child && !HasPattern(pattern, 'p')) {
    path = InsertBeforeExtension(path, absl::StrCat("-", context.pid));
  }
  if (context.split && !HasPattern(pattern, 'n')) {
    path = InsertBeforeExtension(path, absl::StrCat("-part", context.part));
  }
  return path;
}

}  // namespace ferret
