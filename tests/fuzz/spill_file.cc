// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A file of requests that could not be delivered, as a fuzz target. Checksums keep changed bytes out, so the input is put
// together from parts: a byte says what comes, records with good checksums or bytes as they are.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/otlp/delivery/spill_format.h"
#include "tests/fuzz/property.h"

namespace {

using namespace ferret::otlp;

// Everything in the file is in an entry or damaged, and what is in an entry is a good record.
SpillContents Check(const std::string& file) {
  const auto contents = ReadSpillFile(file);
  FUZZ_PROPERTY(contents.ok());
  uint64_t end = kSpillHeadBytes;
  uint64_t bytes = kSpillHeadBytes + contents->damaged_bytes;
  for (const SpillEntry& entry : contents->entries) {
    FUZZ_PROPERTY(entry.offset >= end && entry.offset + entry.size <= file.size());
    end = entry.offset + entry.size;
    bytes += entry.size;
    const auto request = ParseSpillRecord(file.substr(entry.offset, entry.size));
    FUZZ_PROPERTY(request.ok() && request->items == entry.items && request->signal == entry.signal);
    FUZZ_PROPERTY(request->body.size() + kSpillRecordHead == entry.size);
  }
  FUZZ_PROPERTY(bytes == file.size());
  return *contents;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  if (const auto raw = ReadSpillFile(rest); raw.ok()) Check(std::string(rest));
  (void)ParseSpillRecord(std::string(rest)).ok();
  std::string file = SpillHead();
  size_t records = 0;
  bool damaged = false;
  while (rest.size() >= 2) {
    const auto what = static_cast<uint8_t>(rest[0]);
    const std::string_view body = rest.substr(2, static_cast<uint8_t>(rest[1]));
    rest.remove_prefix(2 + body.size());
    if (what % 4 == 0) {
      file.append(body);
      damaged = damaged || !body.empty();
      continue;
    }
    std::string record = SpillRecordHead(static_cast<Signal>(what >> 2 & 1), static_cast<Form>(what >> 3 & 1), what, body);
    if ((what & 0x10) != 0) record[kSpillStateAt] = kSpillTaken;
    record.append(body);
    file.append(record);
    ++records;
    // The end of it is missing, as a kill leaves it.
    if ((what & 0x20) != 0) {
      file.resize(file.size() - std::min<size_t>(record.size(), what >> 6));
      damaged = damaged || what >> 6 != 0;
    }
  }
  const SpillContents contents = Check(file);
  if (!damaged) FUZZ_PROPERTY(contents.entries.size() == records && contents.damaged_bytes == 0);
  return 0;
}
