// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What `ferret otlp-replay` reads, as a fuzz target: requests to be sent, and the rest counted. And what zlib unpacks of
// it, the same in whatever pieces it is read.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/otlp/delivery/request_split.h"
#include "runtime/trace_reader/byte_reader.h"
#include "tests/fuzz/property.h"
#include "tools/replay_source.h"

namespace {

struct Text {
  std::string text;
  std::string error;  // empty: it was read to its end
};

// What unpacks to very much is read as far as it goes.
constexpr size_t kMostText = 20'000;

Text ReadIn(std::string_view bytes, size_t piece) {
  const auto reader = ferret::ByteReader::OfBytes(bytes);
  Text all;
  std::string buffer(piece, '\0');
  while (all.text.size() < kMostText) {
    const absl::StatusOr<size_t> count = reader->Read(buffer.data(), piece);
    if (!count.ok()) {
      all.error = std::string(count.status().message());
      break;
    }
    if (*count == 0) break;
    FUZZ_PROPERTY(*count <= piece);
    all.text.append(buffer, 0, *count);
  }
  return all;
}

// In whatever pieces a text is read, it is the same up to where it is damaged.
void CheckPieces(std::string_view bytes) {
  const Text large = ReadIn(bytes, 1000);
  const Text small = ReadIn(bytes, 61);
  const size_t common = std::min(large.text.size(), small.text.size());
  FUZZ_PROPERTY(large.text.compare(0, common, small.text, 0, common) == 0);
  if (common >= kMostText) return;
  FUZZ_PROPERTY(large.error == small.error && (!large.error.empty() || large.text == small.text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckPieces(bytes);

  // Made once: making one takes longer than all the rest.
  static const int file = memfd_create("replay", MFD_CLOEXEC);
  FUZZ_PROPERTY(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
  const auto source = ferret::ReplaySource::Open("/proc/self/fd/" + std::to_string(file), false);
  if (!source.ok()) {
    FUZZ_PROPERTY(!source.status().message().empty());
    return 0;
  }
  while (const auto request = (*source)->Next()) {
    if (request->form == ferret::otlp::Form::kJson && bytes.substr(0, 8) != ferret::otlp::kSpillMagic) {
      FUZZ_PROPERTY(CountItems(request->signal, request->form, request->body) == request->items);
    }
  }
  FUZZ_PROPERTY(((*source)->damaged() == 0) == (*source)->damage().empty());
  return 0;
}
