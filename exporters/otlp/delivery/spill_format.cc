// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/spill_format.h"

#include <zlib.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace ferret::otlp {
namespace {

constexpr std::string_view kMark = "\xf5SPL";

template <typename T>
void AppendNumber(T number, std::string* out) {
  for (size_t i = 0; i < sizeof(T); ++i) out->push_back(static_cast<char>(number >> 8 * i & 0xff));
}

template <typename T>
T NumberAt(std::string_view bytes, size_t at) {
  T number = 0;
  for (size_t i = 0; i < sizeof(T); ++i) number |= static_cast<T>(T{static_cast<uint8_t>(bytes[at + i])} << 8 * i);
  return number;
}

constexpr size_t kLengthAt = 4;
constexpr size_t kItemsAt = 8;
constexpr size_t kSignalAt = 16;
constexpr size_t kFormAt = 17;
constexpr size_t kChecksumAt = 20;

uint32_t Checksum(std::string_view head, std::string_view body) {
  const auto add = [](uLong sum, std::string_view bytes) {
    return crc32_z(sum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  };
  return static_cast<uint32_t>(add(add(crc32_z(0, nullptr, 0), head.substr(kLengthAt, kSpillStateAt - kLengthAt)), body));
}

// The record that begins where `file` does, if it is a good one.
std::optional<SpillEntry> EntryAt(std::string_view file) {
  if (file.size() < kSpillRecordHead || file.substr(0, kMark.size()) != kMark) return std::nullopt;
  const uint64_t length = NumberAt<uint32_t>(file, kLengthAt);
  if (length > file.size() - kSpillRecordHead) return std::nullopt;
  const std::string_view head = file.substr(0, kSpillRecordHead);
  if (static_cast<uint8_t>(head[kSignalAt]) >= kSignalCount || static_cast<uint8_t>(head[kFormAt]) > 1) {
    return std::nullopt;
  }
  if (NumberAt<uint32_t>(head, kChecksumAt) != Checksum(head, file.substr(kSpillRecordHead, length))) {
    return std::nullopt;
  }
  SpillEntry entry;
  entry.size = kSpillRecordHead + length;
  entry.taken = head[kSpillStateAt] == kSpillTaken;
  entry.signal = static_cast<Signal>(head[kSignalAt]);
  entry.form = static_cast<Form>(head[kFormAt]);
  entry.items = NumberAt<uint64_t>(head, kItemsAt);
  return entry;
}

}  // namespace

std::string SpillHead() {
  std::string head(kSpillMagic);
  AppendNumber<uint32_t>(kSpillVersion, &head);
  AppendNumber<uint32_t>(0, &head);
  return head;
}

std::string SpillRecordHead(Signal signal, Form form, uint64_t items, std::string_view body) {
  std::string head(kMark);
  AppendNumber(static_cast<uint32_t>(body.size()), &head);
  AppendNumber(items, &head);
  head.push_back(static_cast<char>(signal));
  head.push_back(static_cast<char>(form));
  head.push_back('\0');
  head.push_back(kSpillWaiting);
  AppendNumber(Checksum(head, body), &head);
  return head;
}

absl::StatusOr<SpilledRequest> ParseSpillRecord(std::string bytes) {
  const std::optional<SpillEntry> entry = EntryAt(bytes);
  if (!entry.has_value() || entry->size != bytes.size()) return absl::DataLossError("the record is damaged");
  SpilledRequest request;
  request.signal = entry->signal;
  request.form = entry->form;
  request.items = entry->items;
  request.body = std::move(bytes);
  request.body.erase(0, kSpillRecordHead);
  return request;
}

absl::StatusOr<SpillContents> ReadSpillFile(std::string_view file) {
  if (file.size() < kSpillHeadBytes || file.substr(0, kSpillMagic.size()) != kSpillMagic) {
    return absl::InvalidArgumentError("not a file of spilled requests");
  }
  const uint32_t version = NumberAt<uint32_t>(file, kSpillMagic.size());
  if (version != kSpillVersion) {
    return absl::InvalidArgumentError(absl::StrCat("spilled requests of version ", version, ", which is not known"));
  }
  SpillContents contents;
  for (size_t at = kSpillHeadBytes; at < file.size();) {
    if (std::optional<SpillEntry> entry = EntryAt(file.substr(at)); entry.has_value()) {
      entry->offset = at;
      at += entry->size;
      contents.entries.push_back(*entry);
      continue;
    }
    const size_t next = std::min(file.find(kMark, at + 1), file.size());
    contents.damaged_bytes += next - at;
    at = next;
  }
  return contents;
}

}  // namespace ferret::otlp
