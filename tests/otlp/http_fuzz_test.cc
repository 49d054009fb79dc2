// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Replies that no receiver means: the same random ones in each run.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "exporters/otlp/http/reply_collector.h"
#include "exporters/otlp/http/reply_message.h"
#include "exporters/otlp/replies/one_line.h"
#include "runtime/text/utf8_text.h"
#include "tests/otlp/http_sending.h"

namespace ferret::otlp {
namespace {

using Random = std::mt19937;

size_t Below(Random* random, size_t limit) { return (*random)() % limit; }

// A few bytes changed, left out, put in or repeated.
std::string Mutated(std::string text, Random* random) {
  static constexpr std::string_view kTokens[] = {
      "\r\n", "\r\n\r\n", ":",  "{", "}", "\"", "[", "null", "-1", "\xff\xff\xff\xff", "99999999999999999999",
      "HTTP/1.1 ", "Content-Length: ", "\\u0000", "1e999"};
  for (size_t changes = 1 + Below(random, 4); changes > 0; --changes) {
    const size_t at = Below(random, text.size() + 1);
    switch (Below(random, 5)) {
      case 0: if (at < text.size()) text[at] = static_cast<char>((*random)()); break;
      case 1: text.erase(at, Below(random, 8)); break;
      case 2: text.insert(at, kTokens[Below(random, std::size(kTokens))]); break;
      case 3: text.insert(at, text.substr(at, Below(random, 16))); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

const std::vector<std::string>& Bodies() {
  static const auto* const bodies = new std::vector<std::string>{
      std::string("\x0a\x0c\x08\xac\x02\x12\x07too old"),
      std::string("\x08\x03\x12\x07no name\x1a\x04\x0a\x02hi"),
      std::string("\x0d\x01\x02\x03\x04\x11\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x02\x08\x01", 18),
      R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}})",
      R"({"code":3,"message":"no \u00e4 name","details":[{"@type":"x","y":[1,2.5,null,true]}]})",
  };
  return *bodies;
}

bool IsOneLine(const std::string& text, size_t most) {
  if (text.size() > most + 3 || !IsUtf8(text)) return false;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

TEST(HttpFuzzTest, ReadsAnyBodyWithinItsBounds) {
  Random random(1);
  int understood = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string body = Mutated(Bodies()[Below(&random, Bodies().size())], &random);
    // In memory of its own size, so that a sanitizer sees a byte too many.
    const std::vector<char> exact(body.begin(), body.end());
    const std::string_view view(exact.data(), exact.size());
    for (const Form form : {Form::kProtobuf, Form::kJson}) {
      if (ParseExportResponse(form, view).has_value()) ++understood;
      if (ParseStatusMessage(form, view).has_value()) ++understood;
    }
    ASSERT_TRUE(IsOneLine(OneLine(view, 40), 40));
  }
  EXPECT_GT(understood, 10'000);  // not only nonsense was tried
}

TEST(HttpFuzzTest, StopsAtNestingThatNoReceiverHas) {
  for (const char* open : {"[", "{\"a\":"}) {
    std::string body = "{\"a\":";
    while (body.size() < HttpReply::kMostBodyBytes) body += open;
    EXPECT_FALSE(ParseExportResponse(Form::kJson, body).has_value());
  }
}

TEST(HttpFuzzTest, CutsLinesBetweenCharacters) {
  const std::string text = "ab\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80 end";
  for (size_t most = 0; most < text.size(); ++most) EXPECT_TRUE(IsUtf8(OneLine(text, most))) << most;
  EXPECT_EQ(OneLine(text, 100), text);
  EXPECT_EQ(OneLine(text, 3), "ab...");
  EXPECT_EQ(OneLine(" a \r\n\v b ", 100), "a b");
  EXPECT_EQ(OneLine(std::string(100'000, ' ') + "x", 10), "...");
}

TEST(HttpFuzzTest, CollectsAnyHeaderLines) {
  Random random(2);
  ReplyCollector collector;
  for (int i = 0; i < 20'000; ++i) {
    collector.Begin();
    for (size_t lines = Below(&random, 6); lines > 0; --lines) {
      const std::string line = Mutated("Retry-After: 5\r\n", &random);
      collector.AddHeader(absl::string_view(line.data(), line.size()));
      const std::string status = Mutated("HTTP/1.1 200 OK\r\n", &random);
      collector.AddHeader(absl::string_view(status.data(), status.size()));
      collector.AddHeader("\r\n");
    }
    const int status = collector.reply().status;
    ASSERT_TRUE(status == 0 || (status >= 200 && status <= 999)) << status;
  }
}

TEST(HttpFuzzTest, EndsEverySendWithAnOutcomeWhateverTheReceiverAnswers) {
  constexpr int kRequests = 2000;
  Random random(3);
  FaultServer server([&](const FaultRequest&) {
    static constexpr std::string_view kTypes[] = {"application/x-protobuf", "application/json", "text/plain",
                                                  "text/html"};
    static constexpr int kStatuses[] = {200, 200, 202, 400, 404, 413, 415, 429, 503};
    const std::string& body = Bodies()[Below(&random, Bodies().size())];
    FaultReply reply =
        Answer(kStatuses[Below(&random, std::size(kStatuses))], body,
               "Retry-After: 5\r\nContent-Type: " + std::string(kTypes[Below(&random, std::size(kTypes))]) + "\r\n");
    if (Below(&random, 4) != 0) reply.bytes = Mutated(reply.bytes, &random);
    // Closed, so that a length that promises too much ends.
    reply.then = Below(&random, 2) == 0 ? FaultReply::Then::kClose : FaultReply::Then::kReset;
    return reply;
  });
  HttpTransport::Signals signals = BothTo(server);
  signals[0].gzip = true;
  const auto transport = Make(signals);
  std::array<int, 5> kinds = {};
  for (int i = 0; i < kRequests; ++i) {
    const SendOutcome outcome = transport->Send(i % 2 == 0 ? Signal::kTraces : Signal::kMetrics, "body", Soon());
    ++kinds.at(static_cast<size_t>(outcome.kind));
    ASSERT_TRUE(IsOneLine(outcome.message, 600)) << outcome.message;
    ASSERT_NE(outcome.message, "no reply in time");
    ASSERT_LE(outcome.retry_after.value_or(absl::ZeroDuration()), absl::Hours(1));
  }
  for (int count : kinds) EXPECT_GT(count, 10);
}

}  // namespace
}  // namespace ferret::otlp
