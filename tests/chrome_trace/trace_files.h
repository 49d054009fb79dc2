// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads back what the exporter wrote, with other people's parsers.

#ifndef FERRET_TESTS_CHROME_TRACE_TRACE_FILES_H_
#define FERRET_TESTS_CHROME_TRACE_TRACE_FILES_H_

#include <rapidjson/document.h>
#include <stdlib.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ferret/event_batch.h"
#include "runtime/export/exporter.h"

namespace ferret {

// A directory that goes away with everything in it.
class TempDir {
 public:
  TempDir() {
    const char* base = getenv("TEST_TMPDIR");
    std::string pattern = std::string(base != nullptr ? base : "/tmp") + "/ferret_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

  // Names of the files in it, sorted.
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

inline std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

inline void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

struct Inflated {
  std::string text;
  bool whole = false;  // exactly one member with a right CRC and length, and nothing after it
};

inline Inflated Gunzip(const std::string& bytes) {
  Inflated result;
  z_stream stream = {};
  inflateInit2(&stream, 15 + 16);
  std::vector<char> in(bytes.begin(), bytes.end());
  std::vector<char> out(1 << 16);
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  int code = Z_OK;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    code = inflate(&stream, Z_NO_FLUSH);
    result.text.append(out.data(), out.size() - stream.avail_out);
  } while (code == Z_OK);
  result.whole = code == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return result;
}

// HasParseError unless the text is exactly one value in strict JSON and well-formed UTF-8.
inline rapidjson::Document ParseJson(const std::string& text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  return document;
}

// The trace events whose `key` is the string `value`.
inline std::vector<const rapidjson::Value*> EventsWith(const rapidjson::Document& trace, const char* key,
                                                       const std::string& value) {
  std::vector<const rapidjson::Value*> found;
  for (const rapidjson::Value& event : trace["traceEvents"].GetArray()) {
    const auto member = event.FindMember(key);
    if (member == event.MemberEnd() || !member->value.IsString()) continue;
    if (std::string(member->value.GetString(), member->value.GetStringLength()) == value) found.push_back(&event);
  }
  return found;
}

inline constexpr int64_t kSessionStartNs = 1757000000123456789;

inline SessionInfo TestSession() {
  SessionInfo info;
  info.start_ns = kSessionStartNs;
  info.pid = 900;
  info.process_name = "train";
  info.host_name = "node-b";
  return info;
}

inline FunctionEvent TestEvent(std::string_view name, int64_t start, int64_t end, int32_t os_tid = 917) {
  static int64_t next_id = 1;
  FunctionEvent event;
  event.id = next_id++;
  event.name = name;
  event.start_ns = kSessionStartNs + start;
  event.end_ns = kSessionStartNs + end;
  event.device_resource_id = os_tid;
  event.thread = 1;
  return event;
}

}  // namespace ferret

#endif  // FERRET_TESTS_CHROME_TRACE_TRACE_FILES_H_
