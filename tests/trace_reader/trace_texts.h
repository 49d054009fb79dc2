// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Traces as text, compressed and parsed.

#ifndef FERRET_TESTS_TRACE_READER_TRACE_TEXTS_H_
#define FERRET_TESTS_TRACE_READER_TRACE_TEXTS_H_

#include <zlib.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/trace_reader/trace_parser.h"

namespace ferret {

// One gzip member.
inline std::string Gzip(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string in(text);
  std::string out(deflateBound(&stream, in.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

// What a visitor was told, kept beyond the calls.
struct SeenEvent {
  char phase = '\0';
  std::string category, name, pid, tid;
  std::optional<int64_t> time_ns, duration_ns;
  std::string args;  // as JSON
};

struct SeenTrace : TraceVisitor {
  absl::Status OnEvent(const TraceEvent& event) override {
    SeenEvent& seen = events.emplace_back();
    seen.phase = event.phase;
    seen.category = event.category;
    seen.name = event.name;
    seen.pid = event.pid;
    seen.tid = event.tid;
    seen.time_ns = event.time_ns;
    seen.duration_ns = event.duration_ns;
    if (event.args != nullptr) event.args->AppendTo(&seen.args);
    return absl::OkStatus();
  }
  void OnHeader(std::string_view key, const JsonValue& value) override {
    std::string text;
    value.AppendTo(&text);
    headers[std::string(key)] = text;
  }

  std::vector<SeenEvent> events;
  std::map<std::string, std::string> headers;
  absl::StatusOr<ParsedTrace> result;
};

inline SeenTrace Parse(std::string_view bytes) {
  SeenTrace seen;
  seen.result = ParseTrace(ByteReader::OfBytes(bytes).get(), "t.json", &seen);
  return seen;
}

}  // namespace ferret

#endif  // FERRET_TESTS_TRACE_READER_TRACE_TEXTS_H_
