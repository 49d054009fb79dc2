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

// A mark inside a bad record may begin a good one, so that all of them are looked at, up to the end that each claims. In a
// file that is nothing but marks that would take hours: after so many bytes in vain, only what ends at the next mark is
// taken for a record, and one with a wrong checksum is left as a whole.
constexpr uint64_t kMostVainBytes = uint64_t{64} << 20;

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

// The size of the record that seems to begin where `file` does, its checksum aside; 0 if none does.
uint64_t SizeAt(std::string_view file) {
  if (file.size() < kSpillRecordHead || file.substr(0, kMark.size()) != kMark) return 0;
  const uint64_t length = NumberAt<uint32_t>(file, kLengthAt);
  if (length > file.size() - kSpillRecordHead) return 0;
  if (static_cast<uint8_t>(file[kSignalAt]) >= kSignalCount || static_cast<uint8_t>(file[kFormAt]) > 1) return 0;
  return kSpillRecordHead + length;
}

// Whether what follows is another record, or the end of the file.
bool EndsWell(std::string_view file, uint64_t size) {
  return size == file.size() || file.substr(size, kMark.size()) == kMark;
}

// The record that begins where `file` does and has the size that SizeAt says, if it is a good one.
std::optional<SpillEntry> EntryAt(std::string_view file, uint64_t size) {
  if (size == 0) return std::nullopt;
  const uint64_t length = size - kSpillRecordHead;
  const std::string_view head = file.substr(0, kSpillRecordHead);
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
  const std::optional<SpillEntry> entry = EntryAt(bytes, SizeAt(bytes));
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
  // What was summed up in vain, and is summed up again from a later mark on.
  uint64_t vain_bytes = 0;
  for (size_t at = kSpillHeadBytes; at < file.size();) {
    const std::string_view rest = file.substr(at);
    const uint64_t size = SizeAt(rest);
    const bool looks_everywhere = vain_bytes + size <= kMostVainBytes;
    const bool is_checked = size > 0 && (looks_everywhere || EndsWell(rest, size));
    if (is_checked) contents.checked_bytes += size;
    if (std::optional<SpillEntry> entry = is_checked ? EntryAt(rest, size) : std::nullopt; entry.has_value()) {
      entry->offset = at;
      at += entry->size;
      contents.entries.push_back(*entry);
      continue;
    }
    if (is_checked && looks_everywhere) vain_bytes += size;
    const size_t from = is_checked && !looks_everywhere ? at + size : at + 1;
    const size_t next = std::min(file.find(kMark, from), file.size());
    contents.damaged_bytes += next - at;
    at = next;
  }
  return contents;
}

}  // namespace ferret::otlp
