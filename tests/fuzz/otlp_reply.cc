// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a receiver answers, as a fuzz target: header lines, an empty line, a body. Whatever comes, there is an outcome, with
// a message for people of one line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "exporters/otlp/http/curl_table.h"
#include "exporters/otlp/http/json_reply.h"
#include "exporters/otlp/http/outcome.h"
#include "exporters/otlp/http/reply_collector.h"
#include "exporters/otlp/http/reply_message.h"
#include "exporters/otlp/replies/one_line.h"
#include "exporters/otlp/replies/reply_proto.h"
#include "runtime/text/utf8_text.h"
#include "tests/fuzz/environment_text.h"
#include "tests/fuzz/property.h"

namespace {

using namespace ferret::otlp;

// libcurl's own function; nothing else of libcurl's is called for a reply.
CurlTable Table() {
  CurlTable table;
  if (const auto loaded = LoadCurl(); loaded.ok()) return **loaded;
  table.getdate = [](const char*, const time_t*) { return time_t{-1}; };
  return table;
}

void CheckMessage(std::string_view text) {
  for (const size_t most : {size_t{0}, size_t{1}, size_t{40}, kMostMessageBytes}) {
    const std::string line = OneLine(text, most);
    FUZZ_PROPERTY(line.size() <= most + 3 && ferret::fuzz::IsOneLine(line) && ferret::IsUtf8(line));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const CurlTable& table = *new CurlTable(Table());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReplyCollector collector;
  collector.Begin();
  size_t at = 0;
  // As libcurl does: line by line, up to an empty one.
  while (at < size && collector.reply().status == 0) {
    const size_t end = std::min(text.find('\n', at), size - 1) + 1;
    if (!collector.AddHeader({text.data() + at, end - at})) break;
    at = end;
  }
  const std::string_view body = text.substr(at);
  collector.AddBody({body.data(), body.size()});
  for (const Signal signal : {Signal::kTraces, Signal::kMetrics}) {
    for (const Form form : {Form::kProtobuf, Form::kJson}) {
      const SendOutcome outcome = Judge(table, collector.reply(), signal, form);
      FUZZ_PROPERTY(ferret::fuzz::IsOneLine(outcome.message) && ferret::IsUtf8(outcome.message));
      FUZZ_PROPERTY(outcome.kind == SendOutcome::Kind::kDelivered || !outcome.message.empty());
      FUZZ_PROPERTY(outcome.rejected == 0 || outcome.kind == SendOutcome::Kind::kDelivered);
      if (outcome.retry_after.has_value()) {
        FUZZ_PROPERTY(*outcome.retry_after >= absl::ZeroDuration() && *outcome.retry_after <= kLongestRetryAfter);
      }
    }
  }
  if (const auto status = ReadRpcStatus(body); status.has_value() && status->retry_delay.has_value()) {
    FUZZ_PROPERTY(*status->retry_delay >= absl::ZeroDuration());
  }
  JsonReply json;
  (void)ReadJsonReply(body, &json);
  CheckMessage(body);
  return 0;
}
