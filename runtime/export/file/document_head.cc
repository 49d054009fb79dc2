// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/document_head.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ferret {
namespace {

constexpr size_t kHeadBytes = 8192;

std::string ReadStart(const std::string& path) {
  // O_NONBLOCK: whatever is at that path, opening it must not hang.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return "";
  std::string text(kHeadBytes, '\0');
  const ssize_t got = pread(fd, text.data(), text.size(), 0);
  close(fd);
  text.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return text;
}

std::string InflateStart(std::string bytes) {
  std::string text(kHeadBytes, '\0');
  z_stream stream = {};
  constexpr int kGzipOnly = 15 + 16;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) return "";
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  inflate(&stream, Z_SYNC_FLUSH);
  text.resize(text.size() - stream.avail_out);
  inflateEnd(&stream);
  return text;
}

// What stands behind `wanted`, up to a comma, a quote or the end of the line, without its opening quote.
std::string_view ValueBehind(std::string_view text, const std::string& wanted) {
  const size_t at = text.find(wanted);
  if (at == std::string_view::npos) return {};
  std::string_view value = text.substr(at + wanted.size());
  if (!value.empty() && value.front() == '"') value.remove_prefix(1);
  return value.substr(0, value.find_first_of("\",\n"));
}

}  // namespace

DocumentHead ReadDocumentHead(const std::string& path) {
  std::string text = ReadStart(path);
  if (text.size() > 2 && text[0] == '\x1f' && text[1] == '\x8b') text = InflateStart(std::move(text));
  const auto value_of = [&text](const char* key, const char* attribute, const char* type) {
    const std::string_view value = ValueBehind(text, absl::StrCat("\"", key, "\": "));
    if (!value.empty()) return value;
    return ValueBehind(text, absl::StrCat("{\"key\":\"", attribute, "\",\"value\":{\"", type, "\":"));
  };
  DocumentHead head;
  head.run_id = std::string(value_of(kRunIdKey, kRunIdAttribute, "stringValue"));
  const std::string_view pid = value_of(kPidKey, kPidAttribute, "intValue");
  if (!absl::SimpleAtoi(absl::string_view(pid.data(), pid.size()), &head.pid)) head.pid = 0;
  return head;
}

}  // namespace ferret
