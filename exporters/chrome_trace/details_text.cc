// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/details_text.h"

#include <cmath>
#include <cstdio>
#include <string_view>

#include "runtime/text/number_text.h"
#include "ferret/internal/detail_format.h"
#include "runtime/events/detail_reader.h"
#include "runtime/text/json_text.h"

namespace ferret::chrome_trace {
namespace {

using ferret::internal::DetailKind;
using ferret::internal::ValueTag;

// As Kineto: a longer list of tensors shows no shapes.
constexpr uint64_t kMaxTensorsShown = 30;

void AppendNumber(int64_t value, std::string* out) {
  char digits[kNumberChars];
  out->append(digits, static_cast<size_t>(WriteSigned(digits, value) - digits));
}

// A double inside of a text, as PyTorch prints it: all digits, and a point also behind whole numbers.
void AppendDoubleText(double value, std::string* out) {
  char digits[40];
  constexpr double kLargestWhole = 1e10;
  const bool whole = std::fabs(value) < kLargestWhole && value == std::trunc(value);
  out->append(digits, static_cast<size_t>(std::snprintf(digits, sizeof(digits), whole ? "%.0f." : "%.17g", value)));
}

void AppendJsonDouble(double value, std::string* out) {
  char digits[kNumberChars];
  out->append(digits, static_cast<size_t>(WriteDouble(digits, value) - digits));
}

// The four lists that Kineto makes of the inputs, one element for each.
class InputLists {
 public:
  void Read(DetailReader* reader) {
    for (bool first = true; !reader->done(); first = false) {
      if (!first) {
        for (std::string* list : {&dims_, &strides_, &types_, &concrete_}) list->append(", ");
      }
      if (!ReadInput(reader)) return;
    }
  }
  void AppendTo(std::string* out) const {
    out->append(", \"Concrete Inputs\": [").append(concrete_);
    out->append("], \"Input type\": [").append(types_);
    out->append("], \"Input Strides\": [").append(strides_);
    out->append("], \"Input Dims\": [").append(dims_).append("]");
  }

 private:
  bool ReadInput(DetailReader* reader) {
    uint8_t tag = 0;
    if (!reader->ReadByte(&tag)) return Empty(""), false;
    switch (static_cast<ValueTag>(tag)) {
      case ValueTag::kTensor: {
        concrete_.append("\"\"");
        std::string dtype;
        const bool read = ReadTensor(reader, true, &dtype);
        types_.append("\"").append(dtype).append("\"");
        return read;
      }
      case ValueTag::kTensorList:
        return ReadTensorList(reader);
      case ValueTag::kBool:
      case ValueTag::kInt:
      case ValueTag::kDouble:
        concrete_.append("\"");
        if (!ReadScalar(reader, static_cast<ValueTag>(tag))) return Empty("Scalar", "\""), false;
        return Empty("Scalar", "\""), true;
      case ValueTag::kIntList:
        return ReadScalarList(reader, ValueTag::kInt);
      case ValueTag::kDoubleList:
        return ReadScalarList(reader, ValueTag::kDouble);
      case ValueTag::kBoolList:
        return ReadScalarList(reader, ValueTag::kBool);
      case ValueTag::kString: {
        std::string_view text;
        const bool read = reader->ReadText(&text);
        Empty("");
        return read;
      }
      case ValueTag::kStringList: {
        uint64_t count = 0;
        std::string_view text;
        Empty("");
        if (!reader->ReadVarint(&count)) return false;
        for (; count > 0; --count) {
          if (!reader->ReadText(&text)) return false;
        }
        return true;
      }
      case ValueTag::kNone:
        Empty("");
        return true;
    }
    Empty("");
    return false;
  }

  // An input without dimensions. `concrete_end` ends the concrete value if that has begun.
  void Empty(const char* type, const char* concrete_end = "\"\"") {
    dims_.append("[]");
    strides_.append("[]");
    types_.append("\"").append(type).append("\"");
    concrete_.append(concrete_end);
  }

  bool ReadScalar(DetailReader* reader, ValueTag tag) {
    if (tag == ValueTag::kInt) {
      int64_t value = 0;
      if (!reader->ReadSigned(&value)) return false;
      AppendNumber(value, &concrete_);
    } else if (tag == ValueTag::kDouble) {
      double value = 0;
      if (!reader->ReadDouble(&value)) return false;
      AppendDoubleText(value, &concrete_);
    } else {
      uint8_t value = 0;
      if (!reader->ReadByte(&value)) return false;
      concrete_.append(value != 0 ? "True" : "False");
    }
    return true;
  }

  bool ReadScalarList(DetailReader* reader, ValueTag element) {
    uint64_t count = 0;
    bool read = reader->ReadVarint(&count);
    concrete_.append("\"[");
    for (uint64_t i = 0; read && i < count; ++i) {
      if (i != 0) concrete_.append(", ");
      read = ReadScalar(reader, element);
    }
    Empty("ScalarList", "]\"");
    return read;
  }

  bool ReadNumbers(DetailReader* reader, uint64_t count, bool shown, std::string* out) {
    if (shown) out->append("[");
    for (uint64_t i = 0; i < count; ++i) {
      int64_t number = 0;
      if (!reader->ReadSigned(&number)) {
        if (shown) out->append("]");
        return false;
      }
      if (!shown) continue;
      if (i != 0) out->append(", ");
      AppendNumber(number, out);
    }
    if (shown) out->append("]");
    return true;
  }

  bool ReadTensor(DetailReader* reader, bool shown, std::string* dtype) {
    std::string_view name;
    uint64_t dimensions = 0;
    uint8_t has_strides = 0;
    if (!reader->ReadText(&name) || !reader->ReadVarint(&dimensions) ||
        !ReadNumbers(reader, dimensions, shown, &dims_)) {
      // What has no end yet still is a list.
      if (shown && (dims_.empty() || dims_.back() != ']')) dims_.append("[]");
      if (shown) strides_.append("[]");
      return false;
    }
    AppendJsonText(name, dtype);
    const bool read = reader->ReadByte(&has_strides);
    return ReadNumbers(reader, read && has_strides != 0 ? dimensions : 0, shown, &strides_) && read;
  }

  bool ReadTensorList(DetailReader* reader) {
    uint64_t count = 0;
    bool read = reader->ReadVarint(&count);
    const bool shown = count <= kMaxTensorsShown;
    dims_.append("[");
    strides_.append("[");
    std::string unused;
    for (uint64_t i = 0; read && i < count; ++i) {
      if (shown && i != 0) {
        dims_.append(", ");
        strides_.append(", ");
      }
      read = ReadTensor(reader, shown, &unused);
    }
    dims_.append("]");
    strides_.append("]");
    types_.append("\"TensorList\"");
    concrete_.append("\"\"");
    return read;
  }

  std::string dims_, strides_, types_, concrete_;
};

// One member. False if the rest cannot be read. Lists of numbers are shown where Kineto has any, which is not among
// keyword inputs.
bool AppendMember(std::string_view key, bool shows_numbers, DetailReader* reader, std::string* out) {
  Value value;
  if (!reader->ReadValue(&value)) return false;
  std::string text;
  if (const auto* flag = std::get_if<bool>(&value)) {
    text = *flag ? "true" : "false";
  } else if (const auto* number = std::get_if<int64_t>(&value)) {
    AppendNumber(*number, &text);
  } else if (const auto* real = std::get_if<double>(&value)) {
    AppendJsonDouble(*real, &text);
  } else if (const auto* words = std::get_if<std::string>(&value)) {
    text = QuotedJson(*words);
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&value)) {
    text = "[";
    for (const std::string& element : *list) text.append(text.size() > 1 ? ", " : "").append(QuotedJson(element));
    text.append("]");
  } else if (const auto* numbers = std::get_if<std::vector<int64_t>>(&value); numbers != nullptr && shows_numbers) {
    text = "[";
    for (const int64_t element : *numbers) {
      if (text.size() > 1) text.append(", ");
      AppendNumber(element, &text);
    }
    text.append("]");
  } else {
    return true;
  }
  out->append(", ").append(QuotedJson(key)).append(": ").append(text);
  return true;
}

void AppendText(const char* key, std::string_view text, std::string* out) {
  out->append(", \"").append(key).append("\": ").append(QuotedJson(text));
}

void AppendItem(DetailKind kind, std::string_view payload, std::string* out) {
  DetailReader reader(payload);
  std::string_view text;
  switch (kind) {
    case DetailKind::kInputs: {
      InputLists lists;
      lists.Read(&reader);
      lists.AppendTo(out);
      return;
    }
    case DetailKind::kKeywordInputs:
    case DetailKind::kMetadata:
      while (!reader.done() && reader.ReadText(&text) &&
             AppendMember(text, kind == DetailKind::kMetadata, &reader, out)) {
      }
      return;
    case DetailKind::kExtraMeta: {
      std::string_view value;
      while (!reader.done() && reader.ReadText(&text) && reader.ReadText(&value)) {
        out->append(", ").append(QuotedJson(text)).append(": ").append(QuotedJson(value));
      }
      return;
    }
    case DetailKind::kStack: {
      std::string frames;
      while (!reader.done() && reader.ReadText(&text)) frames.append(frames.empty() ? "" : ";").append(text);
      AppendText("Call stack", frames, out);
      return;
    }
    case DetailKind::kOverloadName:
      if (reader.ReadText(&text) && !text.empty()) AppendText("Overload name", text, out);
      return;
    case DetailKind::kModuleHierarchy:
      if (reader.ReadText(&text) && !text.empty()) AppendText("Module Hierarchy", text, out);
      return;
    case DetailKind::kNode: {
      int64_t node = 0;
      uint8_t remote = 0;
      if (!reader.ReadSigned(&node) || !reader.ReadByte(&remote)) return;
      out->append(", \"Node id\": ");
      AppendNumber(node, out);
      out->append(remote != 0 ? ", \"Remote\": true" : ", \"Remote\": false");
      return;
    }
    case DetailKind::kFlops:
      return;  // in EventDetails::flops
  }
}

}  // namespace

void AppendDetails(const EventDetails& details, std::string* out) {
  // In the order of their kinds; of items of one kind the last one counts.
  for (uint8_t kind = 1; kind <= static_cast<uint8_t>(DetailKind::kMetadata) && !details.recorded.empty(); ++kind) {
    std::string_view payload;
    if (!FindDetail(details.recorded, static_cast<DetailKind>(kind), &payload)) continue;
    AppendItem(static_cast<DetailKind>(kind), payload, out);
  }
  if (details.flops != 0) {
    out->append(", \"Flops\": ");
    AppendNumber(details.flops, out);
  }
}

}  // namespace ferret::chrome_trace
