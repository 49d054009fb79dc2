// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/file/gzip_encoder.h"

#include <algorithm>

namespace ferret {
namespace {

constexpr int kRawDeflate = -15;
constexpr int kMemoryLevel = 8;
constexpr size_t kLargestStoredBlock = 65535;

// Magic, deflate, no flags, no time (equal input makes equal files), no hint, Unix.
constexpr std::string_view kHeader("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10);

void AppendLittleEndian(uint32_t value, int bytes, std::string* out) {
  for (int i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

uint32_t Crc(uint32_t crc, std::string_view text) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

}  // namespace

GzipEncoder::GzipEncoder(int level) {
  ready_ = deflateInit2(&stream_, level, Z_DEFLATED, kRawDeflate, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
}

GzipEncoder::~GzipEncoder() {
  if (ready_) deflateEnd(&stream_);
}

absl::Status GzipEncoder::Encode(std::string_view piece, std::string* out) {
  if (!ready_) return absl::ResourceExhaustedError("zlib has no memory");
  out->clear();
  if (!header_written_) out->append(kHeader);
  header_written_ = true;
  if (piece.empty()) return absl::OkStatus();
  crc_ = Crc(crc_, piece);
  size_ += static_cast<uint32_t>(piece.size());
  stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // zlib's interface predates const
  stream_.avail_in = static_cast<uInt>(piece.size());
  size_t used = out->size();
  do {
    // A sync flush is complete when it leaves room in the output.
    out->resize(std::max(used + 1024, used + piece.size() / 4));
    stream_.next_out = reinterpret_cast<Bytef*>(out->data() + used);
    stream_.avail_out = static_cast<uInt>(out->size() - used);
    if (deflate(&stream_, Z_SYNC_FLUSH) == Z_STREAM_ERROR) return absl::InternalError("zlib's state is damaged");
    used = out->size() - stream_.avail_out;
  } while (stream_.avail_out == 0);
  out->resize(used);
  return absl::OkStatus();
}

void GzipEncoder::EncodeTail(std::string_view tail, std::string* out) const {
  out->clear();
  std::string_view rest = tail;
  do {
    const std::string_view block = rest.substr(0, kLargestStoredBlock);
    rest.remove_prefix(block.size());
    out->push_back(rest.empty() ? '\x01' : '\x00');  // the last block or not, stored, padded to a byte
    const uint32_t size = static_cast<uint32_t>(block.size());
    AppendLittleEndian(size, 2, out);
    AppendLittleEndian(~size, 2, out);
    out->append(block);
  } while (!rest.empty());
  AppendLittleEndian(Crc(crc_, tail), 4, out);
  AppendLittleEndian(size_ + static_cast<uint32_t>(tail.size()), 4, out);
}

}  // namespace ferret
