// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// FunctionEvent::event_metadata: what a trace says of kernels, copies and collectives, under the names and with the
// types of PyTorch's EventMetadata.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "ferret/function_event.h"

namespace ferret {
namespace {

enum class Kind { kInt, kDouble, kText, kBool, kInts };

struct Field {
  const char* arg;  // in the trace
  const char* name;
  Kind kind;
};
constexpr Field kFields[] = {
    {"registers per thread", "registers_per_thread", Kind::kInt},
    {"shared memory", "shared_memory", Kind::kInt},
    {"grid", "grid", Kind::kInts},
    {"block", "block", Kind::kInts},
    {"priority", "priority", Kind::kInt},
    {"blocks per SM", "blocks_per_sm", Kind::kDouble},
    {"warps per SM", "warps_per_sm", Kind::kDouble},
    {"est. achieved occupancy %", "est_occupancy_pct", Kind::kDouble},
    {"occupancy", "occupancy", Kind::kText},
    {"queued", "queued", Kind::kInt},
    {"graph id", "graph_id", Kind::kInt},
    {"graph node id", "graph_node_id", Kind::kInt},
    {"stream", "stream", Kind::kInt},
    {"context", "context", Kind::kInt},
    {"channel", "channel", Kind::kInt},
    {"channel_type", "channel_type", Kind::kInt},
    {"bytes", "bytes", Kind::kInt},
    {"memory bandwidth (GB/s)", "bandwidth_gb_s", Kind::kDouble},
    {"Collective name", "collective_name", Kind::kText},
    {"dtype", "dtype", Kind::kText},
    {"In msg nelems", "in_msg_nelems", Kind::kInt},
    {"Out msg nelems", "out_msg_nelems", Kind::kInt},
    {"In split size", "in_split_size", Kind::kText},
    {"Out split size", "out_split_size", Kind::kText},
    {"Global rank start", "global_rank_start", Kind::kInt},
    {"Global rank stride", "global_rank_stride", Kind::kInt},
    {"Group size", "group_size", Kind::kInt},
    {"Process Group Name", "process_group_name", Kind::kText},
    {"Process Group Description", "process_group_desc", Kind::kText},
    {"Process Group Ranks", "group_ranks", Kind::kText},
    {"Rank", "rank", Kind::kInt},
    {"Src Rank", "src_rank", Kind::kInt},
    {"Dst Rank", "dst_rank", Kind::kInt},
    {"Seq", "seq", Kind::kInt},
    {"Is asynchronized op", "is_async", Kind::kBool},
};

// None for a text that is not of the kind.
Value Parse(Kind kind, const std::string& text) {
  int64_t number = 0;
  double real = 0;
  switch (kind) {
    case Kind::kInt:
      return absl::SimpleAtoi(text, &number) ? Value(number) : Value();
    case Kind::kDouble:
      return absl::SimpleAtod(text, &real) ? Value(real) : Value();
    case Kind::kBool:
      return text == "1" || text == "true" || text == "True";
    case Kind::kText: {
      const size_t quotes = text.size() >= 2 && text.front() == '"' && text.back() == '"' ? 1 : 0;
      return text.substr(quotes, text.size() - 2 * quotes);
    }
    case Kind::kInts: {
      std::vector<int64_t> list;
      absl::string_view inside = text;
      if (!absl::ConsumePrefix(&inside, "[") || !absl::ConsumeSuffix(&inside, "]")) return Value();
      for (const absl::string_view part : absl::StrSplit(inside, ',', absl::SkipWhitespace())) {
        if (!absl::SimpleAtoi(part, &number)) return Value();
        list.push_back(number);
      }
      return list;
    }
  }
  return Value();
}

// A value that has the kind, or is as good as one of it.
Value Convert(Kind kind, const Value& value) {
  if (const std::string* text = std::get_if<std::string>(&value)) return Parse(kind, *text);
  const int64_t* number = std::get_if<int64_t>(&value);
  if (number != nullptr && kind == Kind::kDouble) return static_cast<double>(*number);
  if (number != nullptr && kind == Kind::kBool) return *number != 0;
  const bool fits = kind == Kind::kInt      ? number != nullptr
                    : kind == Kind::kDouble ? std::holds_alternative<double>(value)
                    : kind == Kind::kBool   ? std::holds_alternative<bool>(value)
                                            : kind == Kind::kInts && std::holds_alternative<std::vector<int64_t>>(value);
  return fits ? value : Value();
}

}  // namespace

std::map<std::string, Value> FunctionEvent::event_metadata() const {
  std::map<std::string, Value> fields;
  if (details == nullptr) return fields;
  const std::map<std::string, Value> args = metadata();
  for (const Field& field : kFields) {
    const auto arg = args.find(field.arg);
    if (arg == args.end()) continue;
    Value value = Convert(field.kind, arg->second);
    if (!std::holds_alternative<std::monostate>(value)) fields[field.name] = std::move(value);
  }
  return fields;
}

}  // namespace ferret
