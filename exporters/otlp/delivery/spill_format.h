// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Spill files: a head, then records. All numbers are little endian.
//
//   head      0  "FRTSPILL"   8  u32 version   12  u32 0
//   record    0  u32 mark     4  u32 bytes of the body   8  u64 items   16  u8 signal   17  u8 form   18  u8 0   19  u8 state
//            20  u32 CRC-32 of bytes 4 to 18 and the body         24  the body
//
// The state is the only byte that is ever written over. A kill or a full disk may leave the last record cut short, and a
// file may be damaged anywhere: a reader goes on with the next record whose checksum is right.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_FORMAT_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

inline constexpr std::string_view kSpillMagic = "FRTSPILL";
inline constexpr uint32_t kSpillVersion = 1;
inline constexpr size_t kSpillHeadBytes = 16;
inline constexpr size_t kSpillRecordHead = 24;
inline constexpr size_t kSpillStateAt = 19;
inline constexpr char kSpillWaiting = 'w';
inline constexpr char kSpillTaken = 't';  // delivered, or given up
inline constexpr char kSpillSuffix[] = ".otlpspill";

struct SpilledRequest {
  Signal signal = Signal::kTraces;
  Form form = Form::kProtobuf;
  uint64_t items = 0;
  std::string body;
};

std::string SpillHead();
// What goes in front of `body`.
std::string SpillRecordHead(Signal signal, Form form, uint64_t items, std::string_view body);

// Of a record's bytes: DataLoss if they are not what was written.
absl::StatusOr<SpilledRequest> ParseSpillRecord(std::string bytes);

struct SpillEntry {
  uint64_t offset = 0;  // of the record in the file
  uint64_t size = 0;    // with its head
  bool taken = false;
  Signal signal = Signal::kTraces;
  Form form = Form::kProtobuf;
  uint64_t items = 0;
};
struct SpillContents {
  std::vector<SpillEntry> entries;  // in their order
  uint64_t damaged_bytes = 0;       // that belong to no good record
  // Of which a checksum was made, those of several records more than once: no more than the file has and 64 MiB.
  uint64_t checked_bytes = 0;
};

// InvalidArgument if it is no spill file, or one of a version that is not known.
absl::StatusOr<SpillContents> ReadSpillFile(std::string_view file);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_SPILL_FORMAT_H_
