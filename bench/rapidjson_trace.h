// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The peer of the Chrome-trace exporter: RapidJSON's Writer, given the same fields of the same events, as somebody writes
// them who has a good JSON library: names escaped and numbers formatted by the library, event by event, into its own
// buffer, which is handed over piece by piece. Its text has no blanks, so it is shorter.

#ifndef FERRET_BENCH_RAPIDJSON_TRACE_H_
#define FERRET_BENCH_RAPIDJSON_TRACE_H_

#include <cstdint>
#include <string_view>

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "ferret/event_batch.h"

namespace ferret {

class RapidJsonTrace {
 public:
  RapidJsonTrace(int32_t pid, int64_t base_ns) : pid_(pid), base_ns_(base_ns) { writer_.StartArray(); }

  // `take` is given a piece of the text whenever there is one.
  template <typename Take>
  void Add(const EventBatch& batch, const Take& take) {
    for (const FunctionEvent& event : batch.events) {
      Write(event);
      if (text_.GetSize() >= kPiece) Hand(take);
    }
  }
  template <typename Take>
  void Finish(const Take& take) {
    writer_.EndArray();
    Hand(take);
  }

 private:
  static constexpr size_t kPiece = 64 * 1024;

  template <typename Take>
  void Hand(const Take& take) {
    take(std::string_view(text_.GetString(), text_.GetSize()));
    text_.Clear();
  }

  template <size_t kSize>
  void Key(const char (&key)[kSize]) {
    writer_.Key(key, kSize - 1);
  }
  template <size_t kSize>
  void Text(const char (&key)[kSize], std::string_view text) {
    Key(key);
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  }

  void Write(const FunctionEvent& event) {
    writer_.StartObject();
    Text("ph", "X");
    Text("cat", event.is_user_annotation ? "user_annotation" : "cpu_op");
    Text("name", event.name);
    Key("pid"), writer_.Int(pid_);
    Key("tid"), writer_.Int64(event.device_resource_id);
    Key("ts"), writer_.Double(static_cast<double>(event.start_ns - base_ns_) / 1000);
    Key("dur"), writer_.Double(static_cast<double>(event.duration_ns()) / 1000);
    Key("args");
    writer_.StartObject();
    Key("External id"), writer_.Int64(event.id);
    Key("Record function id"), writer_.Int(0);
    if (event.sequence_nr >= 0) {
      Key("Sequence number"), writer_.Int64(event.sequence_nr);
      Key("Fwd thread id"), writer_.Uint(event.fwd_thread);
    }
    Key("Ev Idx"), writer_.Uint64(index_++);
    writer_.EndObject();
    writer_.EndObject();
  }

  const int32_t pid_;
  const int64_t base_ns_;
  uint64_t index_ = 0;
  rapidjson::StringBuffer text_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{text_};
};

}  // namespace ferret

#endif  // FERRET_BENCH_RAPIDJSON_TRACE_H_
