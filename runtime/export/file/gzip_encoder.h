// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GzipEncoder: one gzip member that can be closed after every piece.
//
// A piece is deflated up to a sync flush, which ends on a byte boundary, so what closes the member there needs no state
// of the compressor: a last, stored block with the closing text, the CRC and the length of everything.

#ifndef FERRET_RUNTIME_EXPORT_FILE_GZIP_ENCODER_H_
#define FERRET_RUNTIME_EXPORT_FILE_GZIP_ENCODER_H_

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ferret {

class GzipEncoder {
 public:
  static constexpr int kDefaultLevel = 1;

  explicit GzipEncoder(int level);  // 1 (fast) to 9 (small)
  ~GzipEncoder();
  GzipEncoder(const GzipEncoder&) = delete;
  GzipEncoder& operator=(const GzipEncoder&) = delete;

  // Replaces *out by what is to be appended for this piece; the first one begins with the gzip header.
  absl::Status Encode(std::string_view piece, std::string* out);
  // Replaces *out by the end of the member, if the text ended with `tail` now.
  void EncodeTail(std::string_view tail, std::string* out) const;

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  bool header_written_ = false;
  uint32_t crc_ = 0;
  uint32_t size_ = 0;  // modulo 2^32, as the format wants it
};

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_GZIP_ENCODER_H_
