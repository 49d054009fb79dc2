// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/gzip_body.h"

#include <algorithm>
#include <limits>

namespace ferret::otlp {

GzipBody::~GzipBody() {
  if (ready_) deflateEnd(&stream_);
}

std::optional<std::string_view> GzipBody::Compress(std::string_view body) {
  constexpr int kGzipWindow = 15 + 16;  // the largest window, with gzip's header and trailer
  constexpr int kMemoryLevel = 8;
  constexpr size_t kFirstRoom = size_t{64} << 10;
  constexpr size_t kMostAtOnce = std::numeric_limits<uInt>::max();

  if (!ready_) {
    ready_ = deflateInit2(&stream_, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) == Z_OK;
  } else if (deflateReset(&stream_) != Z_OK) {
    return std::nullopt;
  }
  if (!ready_) return std::nullopt;
  if (out_.empty()) out_.resize(kFirstRoom);

  size_t written = 0;
  int result = Z_OK;
  while (result != Z_STREAM_END) {
    if (stream_.avail_in == 0 && !body.empty()) {
      const size_t piece = std::min(body.size(), kMostAtOnce);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
      stream_.avail_in = static_cast<uInt>(piece);
      body.remove_prefix(piece);
    }
    if (written == out_.size()) out_.resize(out_.size() * 2);
    stream_.next_out = reinterpret_cast<Bytef*>(out_.data() + written);
    const size_t room = std::min(out_.size() - written, kMostAtOnce);
    stream_.avail_out = static_cast<uInt>(room);
    result = deflate(&stream_, body.empty() ? Z_FINISH : Z_NO_FLUSH);
    written += room - stream_.avail_out;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) return std::nullopt;
  }
  return std::string_view(out_).substr(0, written);
}

}  // namespace ferret::otlp
