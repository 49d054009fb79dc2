// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/event_writer.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "exporters/chrome_trace/details_text.h"
#include "exporters/chrome_trace/metadata_line.h"
#include "exporters/chrome_trace/put_text.h"
#include "runtime/text/number_text.h"
#include "runtime/text/json_text.h"

namespace ferret::chrome_trace {
namespace {

// A name table full of names of this size costs 65,536 times this; longer names are escaped each time.
constexpr size_t kLongestPreparedName = 1024;

constexpr char kEndOfUnit[] = "},\n";

}  // namespace

int64_t TraceTid(int32_t os_tid) { return os_tid < 0 ? -static_cast<int64_t>(os_tid) : os_tid; }

void EventWriter::Fill(Kind kind, std::string_view name, PreparedName* prepared) const {
  static constexpr std::array<const char*, kKindCount> kStarts = {
      R"(    {"ph": "X", "cat": "cpu_op", "name": ")",
      R"(    {"ph": "X", "cat": "user_annotation", "name": ")",
      R"(    {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": ")",
      R"(    {"ph": "C", "name": ")",
  };
  std::string& start = prepared->start[kind];
  start = kStarts[kind];
  prepared->hex.clear();
  if (!AppendJsonText(name, &start)) prepared->hex = absl::StrCat("\"name_hex\": \"", HexText(name), "\"");
  absl::StrAppend(&start, "\", \"pid\": ", pid_, ", \"tid\": ");
}

const EventWriter::PreparedName& EventWriter::Prepare(Kind kind, std::string_view name, uint32_t name_id) {
  if (name_id == 0 || name.size() > kLongestPreparedName) {
    Fill(kind, name, &unlisted_);
    return unlisted_;
  }
  if (name_id >= prepared_.size()) prepared_.resize(std::max<size_t>(name_id + 1, prepared_.size() * 2));
  std::unique_ptr<PreparedName>& prepared = prepared_[name_id];
  if (prepared == nullptr) prepared = std::make_unique<PreparedName>();
  if (prepared->start[kind].empty()) Fill(kind, name, prepared.get());
  return *prepared;
}

inline char* EventWriter::WriteTidAndTime(char* at, int64_t tid, int64_t time_ns) {
  if (tid != last_tid_) {
    char* end = WriteSigned(tid_text_.data(), tid);
    end = Put(end, ", \"ts\": ");
    last_tid_ = tid;
    tid_size_ = static_cast<size_t>(end - tid_text_.data());
  }
  memcpy(at, tid_text_.data(), kTidChars);  // of constant size; the rest is overwritten
  return WriteMicros(at + tid_size_, time_ns - base_ns_);
}

inline char* EventWriter::WriteArgs(char* at, const FunctionEvent& event, const std::string& hex) {
  at = Put(at, ", \"args\": {\"External id\": ");
  at = WriteSigned(at, event.id);
  at = Put(at, ", \"Record function id\": 0");
  if (event.sequence_nr >= 0) {
    at = Put(at, ", \"Sequence number\": ");
    at = WriteSigned(at, event.sequence_nr);
    at = Put(at, ", \"Fwd thread id\": ");
    at = WriteUnsigned(at, event.fwd_thread);
  }
  if (!details_.empty()) at = Put(at, details_);
  if (event.is_legacy) at = Put(at, ", \"ferret_legacy\": 1");
  if (event.is_truncated) at = Put(at, ", \"finished\": \"false\"");
  at = Put(at, ", \"Ev Idx\": ");
  at = WriteUnsigned(at, index_++);
  if (!hex.empty()) at = Put(Put(at, ", "), hex);
  *at++ = '}';
  return at;
}

inline void EventWriter::DescribeDetails(const FunctionEvent& event) {
  if (event.details == nullptr && details_.empty()) return;
  details_.clear();
  if (event.details != nullptr) AppendDetails(*event.details, &details_);
}

void EventWriter::WriteSlice(const FunctionEvent& event, int64_t tid) {
  const Kind kind = event.is_user_annotation ? kAnnotation : kOp;
  const bool has_own_name = event.details != nullptr && !event.details->trace_name.empty();
  const PreparedName& name =
      has_own_name ? Prepare(kind, event.details->trace_name, 0) : Prepare(kind, event.name, event.name_id);
  const std::string& start = name.start[kind];
  DescribeDetails(event);
  char* at = out_->Begin(start.size() + name.hex.size() + details_.size() + kRestChars);
  at = Put(at, start);
  at = WriteTidAndTime(at, tid, event.start_ns);
  at = Put(at, ", \"dur\": ");
  // Both ends relative to the base, so that an event cut off at the base ends where its parent does.
  at = WriteMicros(at, event.end_ns - std::max(event.start_ns, base_ns_));
  at = WriteArgs(at, event, name.hex);
  out_->End(Put(at, kEndOfUnit));
}

void EventWriter::WriteAsyncPair(const FunctionEvent& event) {
  std::string name;
  std::string hex;
  const std::string_view shown = event.trace_name();
  if (!AppendJsonText(shown, &name)) hex = absl::StrCat("\"name_hex\": \"", HexText(shown), "\"");
  DescribeDetails(event);
  const std::string common =
      absl::StrCat("\"cat\": \"", event.is_user_annotation ? "user_annotation" : "cpu_op", "\", \"name\": \"", name,
                   "\", \"id\": ", event.id, ", \"pid\": ", pid_, ", \"tid\": ");
  // One unit: a begin without its end would be an event that never finished.
  char* at = out_->Begin(2 * common.size() + hex.size() + details_.size() + 2 * kRestChars);
  at = Put(at, "    {\"ph\": \"b\", ");
  at = WriteTidAndTime(Put(at, common), TraceTid(event.device_resource_id), event.start_ns);
  at = WriteArgs(at, event, hex);
  at = Put(at, "},\n    {\"ph\": \"e\", ");
  at = WriteTidAndTime(Put(at, common), TraceTid(event.device_resource_id), event.end_ns);
  out_->End(Put(at, kEndOfUnit));
}

void EventWriter::WriteMemory(const MemoryEvent& event) {
  const PreparedName& name = Prepare(kInstant, event.out_of_memory ? "[OutOfMemory]" : "[memory]", 0);
  char* at = out_->Begin(name.start[kInstant].size() + kRestChars);
  at = Put(at, name.start[kInstant]);
  at = WriteTidAndTime(at, TraceTid(event.device_resource_id), event.time_ns);
  at = WriteSigned(Put(at, ", \"args\": {\"Device Type\": "), static_cast<int>(event.device_type));
  at = WriteSigned(Put(at, ", \"Device Id\": "), event.device_index);
  if (!event.out_of_memory) at = WriteUnsigned(Put(at, ", \"Addr\": "), event.address);
  at = WriteSigned(Put(at, ", \"Bytes\": "), event.bytes);
  at = WriteSigned(Put(at, ", \"Total Allocated\": "), event.total_allocated);
  at = WriteSigned(Put(at, ", \"Total Reserved\": "), event.total_reserved);
  at = WriteUnsigned(Put(at, ", \"Ev Idx\": "), index_++);
  *at++ = '}';
  out_->End(Put(at, kEndOfUnit));
}

void EventWriter::WriteInstant(const InstantEvent& event) {
  const bool is_counter = event.kind == InstantEvent::Kind::kCounter;
  const bool is_loss = event.kind == InstantEvent::Kind::kLoss;
  const Kind kind = is_counter ? kCounter : kInstant;
  const PreparedName& name =
      is_loss ? Prepare(kind, "Ferret: scopes lost", 0) : Prepare(kind, event.name, event.name_id);
  const std::string& start = name.start[kind];
  char* at = out_->Begin(start.size() + name.hex.size() + kRestChars);
  at = Put(at, start);
  at = WriteTidAndTime(at, TraceTid(event.device_resource_id), event.time_ns);
  if (is_counter) {
    // Viewers draw every number in args as a series, so the hex text stands outside.
    if (!name.hex.empty()) at = Put(Put(at, ", "), name.hex);
    at = WriteDouble(Put(at, ", \"args\": {\"value\": "), event.value);
    *at++ = '}';
  } else if (is_loss) {
    at = WriteDouble(Put(at, ", \"args\": {\"lost\": "), event.value);
    at = WriteMicros(Put(at, ", \"since\": "), event.since_ns - base_ns_);
    *at++ = '}';
  } else if (!name.hex.empty()) {
    at = Put(Put(Put(at, ", \"args\": {"), name.hex), "}");
  }
  out_->End(Put(at, kEndOfUnit));
}

char* EventWriter::PutFlowEnd(char* at, bool is_start, int64_t id, int64_t tid, int64_t time_ns) {
  at = Put(at, "    {\"ph\": \"");
  *at++ = is_start ? 's' : 'f';
  at = WriteSigned(Put(at, "\", \"id\": "), id);
  at = WriteSigned(Put(at, ", \"pid\": "), pid_);
  at = WriteTidAndTime(Put(at, ", \"tid\": "), tid, time_ns);
  return Put(at, ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\"");
}

// One unit: half an arrow would be an error to a viewer.
void EventWriter::WriteLink(const ForwardBackwardLink& link) {
  char* at = out_->Begin(2 * kRestChars);
  at = PutFlowEnd(at, true, link.flow_id, TraceTid(link.forward_os_tid), link.forward_start_ns);
  at = PutFlowEnd(Put(at, "},\n"), false, link.flow_id, TraceTid(link.backward_os_tid), link.backward_start_ns);
  out_->End(Put(Put(at, ", \"bp\": \"e\""), kEndOfUnit));
}

void EventWriter::WriteThread(int64_t tid, std::string_view label, int64_t sort_index, int64_t time_ns) {
  std::string text;
  AppendJsonText(label, &text);
  const auto write = [&](const char* key, const std::string& value) {
    const std::string line = MetadataLine(key, time_ns - base_ns_, pid_, tid, value);
    out_->End(Put(out_->Begin(line.size()), line));
  };
  write("thread_name", absl::StrCat("\"name\": \"", text, "\""));
  write("thread_sort_index", absl::StrCat("\"sort_index\": ", sort_index));
}

}  // namespace ferret::chrome_trace
