// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// GzipBody: a request's body as one gzip member. Its memory is that of the largest body so far, and is used again.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_GZIP_BODY_H_
#define FERRET_EXPORTERS_OTLP_HTTP_GZIP_BODY_H_

#include <zlib.h>

#include <optional>
#include <string>
#include <string_view>

namespace ferret::otlp {

class GzipBody {
 public:
  // Spans are repetitive: the fastest level takes most of what there is to gain.
  static constexpr int kLevel = 1;

  GzipBody() = default;
  ~GzipBody();
  GzipBody(const GzipBody&) = delete;
  GzipBody& operator=(const GzipBody&) = delete;

  // Valid until the next call. Nothing if zlib has no memory.
  std::optional<std::string_view> Compress(std::string_view body);

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  std::string out_;  // its size is what there is room for
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_GZIP_BODY_H_
