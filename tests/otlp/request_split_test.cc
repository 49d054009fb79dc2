// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/request_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/otlp/decoded.h"
#include "tests/otlp/random_run.h"

namespace ferret::otlp {
namespace {

template <typename Encoder>
std::string RandomRequest(uint64_t seed, int events) {
  RandomRun run(seed);
  const auto batches = run.Batches(1, events);
  Encoding<Encoder> encoding;
  encoding.AddBatch(*batches[0]);
  return encoding.Take();
}

std::vector<std::string> SpanBytes(const Request& request) {
  std::vector<std::string> spans;
  for (const DecodedSpan& span : SpansOf(request)) spans.push_back(span.SerializeAsString());
  return spans;
}

// Every resource and scope, without its spans.
std::string Heads(Request request) {
  for (auto& resource_spans : *request.mutable_resource_spans()) {
    for (auto& scope_spans : *resource_spans.mutable_scope_spans()) scope_spans.clear_spans();
  }
  return request.SerializeAsString();
}

// The halves have the spans of the whole, in their order, each with its head.
void ExpectHalves(const Request& whole, const Request& first, const Request& second) {
  std::vector<std::string> both = SpanBytes(first);
  EXPECT_EQ(both.size(), SpanBytes(whole).size() / 2);
  for (std::string& span : SpanBytes(second)) both.push_back(std::move(span));
  EXPECT_EQ(both, SpanBytes(whole));
  EXPECT_EQ(Heads(first), Heads(whole));
  EXPECT_EQ(Heads(second), Heads(whole));
}

TEST(RequestSplit, TheHalvesOfAProtobufRequestAreTheRequest) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const std::string body = RandomRequest<SpanEncoder>(seed, 5 + static_cast<int>(seed));
    const auto parts = SplitRequest(Signal::kTraces, Form::kProtobuf, body);
    ASSERT_TRUE(parts.has_value());
    const Request first = Decode((*parts)[0].body), second = Decode((*parts)[1].body);
    ExpectHalves(Decode(body), first, second);
    EXPECT_EQ((*parts)[0].items, SpansOf(first).size());
    EXPECT_EQ((*parts)[1].items, SpansOf(second).size());
    EXPECT_EQ(CountItems(Signal::kTraces, Form::kProtobuf, body), (*parts)[0].items + (*parts)[1].items);
  }
}

TEST(RequestSplit, TheHalvesOfAJsonRequestAreTheRequest) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    const std::string body = RandomRequest<JsonEncoder>(seed, 5 + static_cast<int>(seed));
    const auto parts = SplitRequest(Signal::kTraces, Form::kJson, body);
    ASSERT_TRUE(parts.has_value());
    ExpectHalves(DecodeJson(body), DecodeJson((*parts)[0].body), DecodeJson((*parts)[1].body));
    EXPECT_EQ(CountItems(Signal::kTraces, Form::kJson, body), (*parts)[0].items + (*parts)[1].items);
  }
}

TEST(RequestSplit, SeveralResourcesAndScopesStayApart) {
  Request request;
  for (int r = 0; r < 3; ++r) {
    auto* const resource_spans = request.add_resource_spans();
    resource_spans->mutable_resource()->add_attributes()->set_key("r" + std::to_string(r));
    for (int s = 0; s < 2; ++s) {
      auto* const scope_spans = resource_spans->add_scope_spans();
      scope_spans->mutable_scope()->set_name("s" + std::to_string(s));
      for (int i = 0; i < 3; ++i) scope_spans->add_spans()->set_name(std::to_string(r) + std::to_string(s));
    }
  }
  const auto parts = SplitRequest(Signal::kTraces, Form::kProtobuf, request.SerializeAsString());
  ASSERT_TRUE(parts.has_value());
  // Nine and nine: the cut is between the scopes of the second resource.
  const Request first = Decode((*parts)[0].body), second = Decode((*parts)[1].body);
  ASSERT_EQ(first.resource_spans_size(), 2);
  ASSERT_EQ(second.resource_spans_size(), 2);
  EXPECT_EQ(first.resource_spans(1).resource().attributes(0).key(), "r1");
  EXPECT_EQ(second.resource_spans(0).resource().attributes(0).key(), "r1");
  EXPECT_EQ(first.resource_spans(1).scope_spans_size(), 1);
  EXPECT_EQ(second.resource_spans(0).scope_spans(0).scope().name(), "s1");
  for (const Request* half : {&first, &second}) {
    for (const auto& resource_spans : half->resource_spans()) {
      for (const auto& scope_spans : resource_spans.scope_spans()) {
        EXPECT_EQ(scope_spans.spans_size(), 3);
        for (const auto& span : scope_spans.spans()) {
          EXPECT_EQ("r" + span.name().substr(0, 1), resource_spans.resource().attributes(0).key());
          EXPECT_EQ("s" + span.name().substr(1), scope_spans.scope().name());
        }
      }
    }
  }
}

TEST(RequestSplit, JsonMayHaveItsMembersInAnyOrderAndTextsThatLookLikeJson) {
  const std::string body =
      " { \"x\" : \"]}\\\"\\\\\" , \"resourceSpans\" : [ { \"resource\" : {\"spans\":[1,2]} , \"scopeSpans\" : [ "
      "{ \"spans\" : [ {\"name\":\"],{\\\"\"} , {\"name\":\"b\"} , {} ] , \"scope\" : null } , {\"spans\":[]} ] } ] }\n";
  const auto parts = SplitRequest(Signal::kTraces, Form::kJson, body);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ((*parts)[0].body,
            "{\"x\":\"]}\\\"\\\\\",\"resourceSpans\":[{\"resource\":{\"spans\":[1,2]},\"scopeSpans\":["
            "{\"spans\":[{\"name\":\"],{\\\"\"}],\"scope\":null}]}]}");
  EXPECT_EQ((*parts)[1].body,
            "{\"x\":\"]}\\\"\\\\\",\"resourceSpans\":[{\"resource\":{\"spans\":[1,2]},\"scopeSpans\":["
            "{\"spans\":[{\"name\":\"b\"},{}],\"scope\":null}]}]}");
  EXPECT_EQ((*parts)[0].items, 1u);
  EXPECT_EQ((*parts)[1].items, 2u);
}

std::string Message(uint32_t field, const std::string& inside) {
  std::string message(1 + kMaxVarintBytes + inside.size(), '\0');
  message.resize(static_cast<size_t>(PutField(message.data(), Tag(field, kBytes), inside) - message.data()));
  return message;
}

TEST(RequestSplit, MetricsAreCutBetweenMetricsAndCountedByTheirPoints) {
  const std::string points = Message(1, "a") + Message(1, "b") + Message(1, "c");
  const std::string sum = Message(2, Message(1, "sum") + Message(7, points));
  const std::string gauge = Message(2, Message(5, Message(1, "a")) + Message(1, "gauge"));
  const std::string histogram = Message(2, Message(10, Message(1, "a") + Message(1, "b")));
  const std::string body = Message(1, Message(1, "resource") + Message(2, Message(1, "scope") + sum + gauge + histogram));
  const auto parts = SplitRequest(Signal::kMetrics, Form::kProtobuf, body);
  ASSERT_TRUE(parts.has_value());
  EXPECT_EQ((*parts)[0].body, Message(1, Message(1, "resource") + Message(2, Message(1, "scope") + sum)));
  EXPECT_EQ((*parts)[0].items, 3u);
  EXPECT_EQ((*parts)[1].items, 3u);

  const auto json = SplitRequest(Signal::kMetrics, Form::kJson,
                                 "{\"resourceMetrics\":[{\"scopeMetrics\":[{\"metrics\":["
                                 "{\"name\":\"a\",\"sum\":{\"isMonotonic\":true,\"dataPoints\":[{},{},{}]}},"
                                 "{\"exponentialHistogram\":{\"dataPoints\":[{},{}]}}]}]}]}");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ((*json)[0].items, 3u);
  EXPECT_EQ((*json)[1].items, 2u);
}

TEST(RequestSplit, WhatHasNoTwoSpansOrCannotBeFollowedIsNotSplit) {
  for (const std::string body :
       {"", "{}", "{\"resourceSpans\":[]}", "[]", "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{}]}]}]}",
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{}]}]}]", "{\"resourceSpans\":{\"scopeSpans\":[]}}",
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{}]}]}]} x", "{\"resourceSpans\":[1,2]}",
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{},{},]}]}]}", "{\"a\":\"",
        "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{]},{}]}]}]}"}) {
    EXPECT_FALSE(SplitRequest(Signal::kTraces, Form::kJson, body).has_value()) << body;
  }
  const std::string one = Message(1, Message(2, Message(2, "")));
  const std::string two = Message(1, Message(2, Message(2, "") + Message(2, "")));
  EXPECT_FALSE(SplitRequest(Signal::kTraces, Form::kProtobuf, "").has_value());
  EXPECT_FALSE(SplitRequest(Signal::kTraces, Form::kProtobuf, one).has_value());
  EXPECT_TRUE(SplitRequest(Signal::kTraces, Form::kProtobuf, two).has_value());
  EXPECT_FALSE(SplitRequest(Signal::kTraces, Form::kProtobuf, two.substr(0, two.size() - 1)).has_value());
  EXPECT_FALSE(SplitRequest(Signal::kTraces, Form::kProtobuf, two + "\x0b").has_value());
}

TEST(RequestSplitFuzz, DamagedRequestsAreSplitCleanlyOrNotAtAll) {
  std::mt19937_64 random(20261130);
  const std::string whole[] = {RandomRequest<SpanEncoder>(7, 12), RandomRequest<JsonEncoder>(7, 12)};
  int split = 0;
  for (int round = 0; round < 4000; ++round) {
    const Form form = round % 2 == 0 ? Form::kProtobuf : Form::kJson;
    std::string body = whole[static_cast<size_t>(form)];
    for (uint64_t i = 1 + random() % 4; i > 0; --i) {
      const size_t at = random() % body.size();
      switch (random() % 4) {
        case 0: body[at] = static_cast<char>(random()); break;
        case 1: body.resize(at + 1); break;
        case 2: body.erase(at, random() % 20); break;
        default: body.insert(at, 1, "{}[]\",:\\\x0a\x12"[random() % 10]); break;
      }
      if (body.empty()) break;
    }
    const Signal signal = random() % 8 == 0 ? Signal::kMetrics : Signal::kTraces;
    const auto parts = SplitRequest(signal, form, body);
    const auto items = CountItems(signal, form, body);
    if (!parts.has_value()) continue;
    ++split;
    // What could be followed once can be followed again, and nothing was added or left out.
    ASSERT_TRUE(items.has_value());
    EXPECT_EQ((*parts)[0].items + (*parts)[1].items, *items);
    EXPECT_EQ(CountItems(signal, form, (*parts)[0].body), (*parts)[0].items);
    EXPECT_EQ(CountItems(signal, form, (*parts)[1].body), (*parts)[1].items);
  }
  EXPECT_GT(split, 100);
}

}  // namespace
}  // namespace ferret::otlp
