// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// ReplyCollector: libcurl's callbacks, which fill an HttpReply and keep its bounds.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_REPLY_COLLECTOR_H_
#define FERRET_EXPORTERS_OTLP_HTTP_REPLY_COLLECTOR_H_

#include "absl/strings/string_view.h"
#include "exporters/otlp/http/http_reply.h"

namespace ferret::otlp {

class ReplyCollector {
 public:
  void Begin();

  // A header line, with its end. False: no more of it.
  bool AddHeader(absl::string_view line);
  // A piece of the decompressed body.
  bool AddBody(absl::string_view piece);

  HttpReply& reply() { return reply_; }

  // Of CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION, with `this` as their data.
  static size_t OnHeader(char* data, size_t size, size_t count, void* self);
  static size_t OnBody(char* data, size_t size, size_t count, void* self);

 private:
  HttpReply reply_;
  size_t header_bytes_ = 0;
  int status_ = 0;  // of the block of headers that is being read; an interim one (1xx) is followed by another
};

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_REPLY_COLLECTOR_H_
