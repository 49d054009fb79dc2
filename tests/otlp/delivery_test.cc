// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/delivery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <system_error>
#include <tuple>

#include "tests/export/fakes.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret::otlp {
namespace {

using Kind = SendOutcome::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Fails so often, and then takes everything.
std::function<SendOutcome(const Receiver::Call&)> FailingTimes(int times, SendOutcome outcome) {
  return [left = times, outcome](const Receiver::Call&) mutable { return left-- > 0 ? outcome : Delivered(); };
}

std::vector<double> TimesOf(const Receiver& receiver) {
  std::vector<double> times;
  for (const Receiver::Call& call : receiver.calls()) times.push_back(call.at);
  return times;
}

TEST(Delivery, SendsWhatIsPushedInItsOrder) {
  Rig rig;
  Delivery& delivery = rig.Start();
  delivery.Push(Signal::kTraces, "one", 3);
  delivery.Push(Signal::kMetrics, "two", 5);
  delivery.Push(Signal::kTraces, "three", 4);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("one", "two", "three"));
  EXPECT_EQ(rig.receiver->calls()[1].signal, Signal::kMetrics);
  EXPECT_EQ(rig.receiver->calls()[0].deadline, 10);
  const DeliveryCounts counts = delivery.counts();
  EXPECT_EQ(counts[Signal::kTraces].delivered.items, 7u);
  EXPECT_EQ(counts[Signal::kTraces].delivered.requests, 2u);
  EXPECT_EQ(counts[Signal::kMetrics].delivered.items, 5u);
  EXPECT_EQ(counts.attempts, 3u);
  EXPECT_EQ(counts.queue_bytes, 0u);
  EXPECT_EQ(counts.queue_capacity, rig.options.queue_bytes);
  ExpectBalanced(counts);
  EXPECT_THAT(rig.lines->all(), IsEmpty());
}

TEST(Delivery, HasNoThreadBeforeTheFirstRequest) {
  Rig rig;
  int threads = 0;
  rig.options.start_thread = [&](std::function<void()> run) {
    ++threads;
    return std::thread(std::move(run));
  };
  rig.Start();
  EXPECT_TRUE(rig.Flush().ok());
  EXPECT_EQ(threads, 0);
  rig.delivery->Push(Signal::kTraces, "one", 1);
  rig.delivery->Push(Signal::kTraces, "two", 1);
  EXPECT_EQ(threads, 1);
  rig.Close();
  EXPECT_TRUE(rig.receiver->destroyed());
}

TEST(Delivery, ItsThreadLeavesSignalsToTheHost) {
  Rig rig;
  sigset_t mask;
  sigemptyset(&mask);
  rig.receiver->on_send = [&](const Receiver::Call&) {
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_TRUE(sigismember(&mask, SIGTERM));
  EXPECT_FALSE(sigismember(&mask, SIGSEGV));
}

TEST(Delivery, TriesAgainWithGrowingPausesUntilTheReceiverTakesIt) {
  Rig rig;
  rig.options.timeouts[0] = absl::InfiniteDuration();
  rig.receiver->on_send = FailingTimes(6, Retryable());
  rig.Start().Push(Signal::kTraces, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  // Half of 1, 1.5, 2.25, 3.375, 5 and 5 seconds.
  const std::vector<double> times = TimesOf(*rig.receiver);
  ASSERT_THAT(times, SizeIs(7));
  const double pauses[] = {0.5, 0.75, 1.125, 1.6875, 2.5, 2.5};
  for (size_t i = 0; i < 6; ++i) EXPECT_NEAR(times[i + 1] - times[i], pauses[i], 1e-6);
  EXPECT_EQ(rig.Traces().delivered.requests, 1u);
  EXPECT_THAT(rig.lines->all(), IsEmpty());
}

TEST(Delivery, LosesARequestThatIsNotTakenInsideItsTimeout) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return Retryable(); };
  rig.Start().Push(Signal::kTraces, "one", 8000);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces()[RequestLoss::kTimeout].items, 8000u);
  for (const Receiver::Call& call : rig.receiver->calls()) {
    EXPECT_LT(call.at, 10);
    EXPECT_EQ(call.deadline, 10);  // counted from the first attempt
  }
  EXPECT_GE(rig.receiver->calls().size(), 5u);
  rig.Close();
  ASSERT_THAT(rig.lines->all(), SizeIs(1));
  EXPECT_EQ(rig.lines->all()[0],
            "exporter otlp: 1 request (8,000 spans) could not be delivered to http://there:4318/v1/traces: "
            "HTTP 503: overloaded");
}

TEST(Delivery, EachSignalHasItsOwnTimeout) {
  Rig rig;
  rig.options.timeouts = {absl::Seconds(3), absl::Seconds(1)};
  rig.receiver->on_send = [](const Receiver::Call&) { return Retryable(); };
  rig.Start().Push(Signal::kMetrics, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.receiver->calls()[0].deadline, 1);
  EXPECT_EQ(rig.delivery->counts()[Signal::kMetrics][RequestLoss::kTimeout].items, 1u);
}

TEST(Delivery, DoesWhatTheReceiverWantsOfThePause) {
  Rig rig;
  rig.receiver->on_send = FailingTimes(1, Retryable(absl::Seconds(7)));
  rig.Start().Push(Signal::kTraces, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(TimesOf(*rig.receiver), ElementsAre(0, 7));
  EXPECT_EQ(rig.Traces().delivered.requests, 1u);
}

TEST(Delivery, AWishForNoPauseDoesNotMakeItSpin) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return Retryable(absl::ZeroDuration()); };
  rig.Start().Push(Signal::kTraces, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_LT(rig.receiver->calls().size(), 10u);
}

TEST(Delivery, APauseThatIsLongerThanTheTimeoutIsKeptAndItsRequestIsLostAtOnce) {
  Rig rig;
  rig.receiver->on_send = FailingTimes(1, Retryable(absl::Seconds(60)));
  rig.clock->FlowFor(absl::Seconds(59));
  rig.Start().Push(Signal::kTraces, "one", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces()[RequestLoss::kTimeout].requests, 1u);
  EXPECT_LT(rig.clock->Seconds(), 1);
  rig.delivery->Push(Signal::kTraces, "two", 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(rig.delivery->Flush(rig.clock->Now())));
  EXPECT_EQ(rig.Traces().waiting.requests, 1u);
  rig.clock->FlowFor(absl::Seconds(61));
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(TimesOf(*rig.receiver), ElementsAre(0, 60));
  EXPECT_EQ(rig.Traces().delivered.requests, 1u);
}

TEST(Delivery, WhileTheReceiverIsAwayThePausesGoOnFromRequestToRequest) {
  Rig rig;
  Gate gate;
  rig.options.timeouts[0] = absl::Milliseconds(1);  // each is lost after one attempt
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Retryable();
  };
  rig.Start();
  for (int i = 0; i < 10; ++i) rig.delivery->Push(Signal::kTraces, "x", 1);
  gate.Open();
  ASSERT_TRUE(rig.Flush().ok());
  const std::vector<double> times = TimesOf(*rig.receiver);
  ASSERT_THAT(times, SizeIs(10));
  EXPECT_NEAR(times[9] - times[8], 2.5, 1e-6);
}

TEST(Delivery, RefusedIsFinal) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return NotTaken(Kind::kRefused, "HTTP 400: bad data"); };
  rig.Start().Push(Signal::kTraces, "one", 9);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->calls(), SizeIs(1));
  EXPECT_EQ(rig.Traces()[RequestLoss::kRefused].items, 9u);
}

TEST(Delivery, PartialSuccessIsCountedAndNotTriedAgain) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return Delivered(3, "3 spans without a name"); };
  rig.Start().Push(Signal::kTraces, "one", 10);
  ASSERT_TRUE(rig.Flush().ok());
  rig.Close();
  EXPECT_THAT(rig.receiver->calls(), SizeIs(1));
  EXPECT_EQ(rig.Traces().delivered.items, 7u);
  EXPECT_EQ(rig.Traces().rejected.items, 3u);
  EXPECT_EQ(rig.Traces().rejected.requests, 1u);
  ExpectBalanced(rig.delivery->counts());
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("did not take 3 spans: 3 spans without a name")));
}

TEST(Delivery, AReceiverCannotRejectMoreThanItGot) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return Delivered(1'000'000); };
  rig.Start().Push(Signal::kTraces, "one", 10);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces().rejected.items, 10u);
  ExpectBalanced(rig.delivery->counts());
}

TEST(Delivery, AReceiversWarningIsShown) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return Delivered(0, "old\nversion"); };
  rig.Start().Push(Signal::kTraces, "one", 10);
  ASSERT_TRUE(rig.Flush().ok());
  rig.Close();
  EXPECT_EQ(rig.Traces().delivered.requests, 1u);
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("warns: old version")));
}

TEST(Delivery, AReceiverWithoutMetricsIsAskedOnce) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call& call) {
    return call.signal == Signal::kMetrics ? NotTaken(Kind::kUnsupported, "HTTP 404") : Delivered();
  };
  rig.Start();
  for (int i = 0; i < 3; ++i) {
    rig.delivery->Push(Signal::kMetrics, "m", 2);
    rig.delivery->Push(Signal::kTraces, "t", 1);
  }
  ASSERT_TRUE(rig.Flush().ok());
  rig.delivery->Push(Signal::kMetrics, "later", 2);
  ASSERT_TRUE(rig.Flush().ok());
  rig.Close();
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("m", "t", "t", "t"));
  const DeliveryCounts counts = rig.delivery->counts();
  EXPECT_EQ(counts[Signal::kMetrics][RequestLoss::kUnsupported].items, 8u);
  EXPECT_EQ(counts[Signal::kTraces].delivered.requests, 3u);
  ExpectBalanced(counts);
  ASSERT_THAT(rig.lines->all(), ::testing::Not(IsEmpty()));
  EXPECT_THAT(rig.lines->all()[0], HasSubstr("HTTP 404; no more metrics are sent"));
}

TEST(Delivery, ThatTracesAreNotKnownIsARefusalLikeAnyOther) {
  Rig rig;
  rig.receiver->on_send = FailingTimes(1, NotTaken(Kind::kUnsupported, "HTTP 404"));
  rig.Start();
  rig.delivery->Push(Signal::kTraces, "one", 1);
  rig.delivery->Push(Signal::kTraces, "two", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces()[RequestLoss::kRefused].requests, 1u);
  EXPECT_EQ(rig.Traces().delivered.requests, 1u);
}

std::string JsonSpans(int count, size_t padding = 0) {
  std::string spans;
  for (int i = 0; i < count; ++i) {
    spans += (i == 0 ? "{\"spanId\":\"" : ",{\"spanId\":\"") + std::to_string(i) + "\",\"name\":\"" +
             std::string(padding, 'x') + "\"}";
  }
  return "{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[" + spans + "]}]}]}";
}

int CountOf(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

TEST(Delivery, ARequestThatIsTooLargeIsCutUntilItsPartsAreTaken) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call& call) {
    return CountOf(call.body, "spanId") > 2 ? NotTaken(Kind::kTooLarge, "HTTP 413") : Delivered();
  };
  rig.options.least_cut_bytes = 0;
  rig.Start().Push(Signal::kTraces, JsonSpans(8), 8);
  rig.delivery->Push(Signal::kTraces, "next", 0);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces().delivered.items, 8u);
  EXPECT_EQ(rig.Traces().split, 3u);
  ExpectBalanced(rig.delivery->counts());
  std::vector<int> sizes;
  for (const Receiver::Call& call : rig.receiver->calls()) sizes.push_back(CountOf(call.body, "spanId"));
  EXPECT_THAT(sizes, ElementsAre(8, 4, 2, 2, 4, 2, 2, 0));
}

TEST(Delivery, ASingleSpanThatIsTooLargeIsLostAndTheOthersAreNot) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call& call) {
    return CountOf(call.body, "\"5\"") > 0 ? NotTaken(Kind::kTooLarge, "HTTP 413") : Delivered();
  };
  rig.options.least_cut_bytes = 0;
  rig.Start().Push(Signal::kTraces, JsonSpans(8), 8);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.Traces().delivered.items, 7u);
  EXPECT_EQ(rig.Traces()[RequestLoss::kTooLarge].items, 1u);
  ExpectBalanced(rig.delivery->counts());
}

TEST(Delivery, AReceiverThatFindsEverythingTooLargeIsAskedAboutNoMoreThan64PiecesOfARequest) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return NotTaken(Kind::kTooLarge, "HTTP 413"); };
  rig.Start().Push(Signal::kTraces, JsonSpans(500, 20'000), 500);  // 10 MB: pieces of 160 kB could be cut once more
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->calls(), SizeIs(127));
  EXPECT_EQ(rig.Traces()[RequestLoss::kTooLarge].requests, 64u);
  EXPECT_EQ(rig.Traces()[RequestLoss::kTooLarge].items, 500u);
  ExpectBalanced(rig.delivery->counts());
}

TEST(Delivery, APieceThatNoReceiverShouldFindTooLargeIsNotCut) {
  Rig rig;
  rig.receiver->on_send = [](const Receiver::Call&) { return NotTaken(Kind::kTooLarge, "HTTP 413"); };
  rig.Start().Push(Signal::kTraces, JsonSpans(8000), 8000);
  ASSERT_TRUE(rig.Flush().ok());
  for (const Receiver::Call& call : rig.receiver->calls()) EXPECT_GT(call.body.size(), 32u << 10);
  EXPECT_EQ(rig.Traces()[RequestLoss::kTooLarge].items, 8000u);
  ExpectBalanced(rig.delivery->counts());
}

TEST(Delivery, TheNewestIsLostWhenTheQueueIsFull) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Delivered();
  };
  rig.options.queue_bytes = 10;
  rig.Start().Push(Signal::kTraces, "1234", 1);
  rig.delivery->Push(Signal::kTraces, "5678", 1);
  rig.delivery->Push(Signal::kTraces, "9abc", 1);
  rig.delivery->Push(Signal::kTraces, "de", 1);
  EXPECT_EQ(rig.Traces()[RequestLoss::kQueueFull].requests, 1u);
  EXPECT_EQ(rig.delivery->counts().queue_bytes, 10u);
  EXPECT_EQ(rig.Traces().waiting.requests, 3u);
  ExpectBalanced(rig.delivery->counts());
  gate.Open();
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("1234", "5678", "de"));
  rig.Close();
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("the queue is full")));
}

TEST(Delivery, WhatIsLostWhileAReceiverIsSilentIsSaidMeanwhileOncePerInterval) {
  Rig rig;
  Gate gate;
  rig.options.queue_bytes = 4;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "1234", 1);
  rig.receiver->WaitForCalls(1);
  rig.delivery->Push(Signal::kTraces, "a", 5);
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("1 request (5 spans) could not be delivered")));
  rig.delivery->Push(Signal::kTraces, "b", 6);
  EXPECT_THAT(rig.lines->all(), SizeIs(1));
  rig.clock->Advance(absl::Seconds(30));
  rig.delivery->Push(Signal::kTraces, "c", 7);
  EXPECT_THAT(rig.lines->all(), ElementsAre(testing::_, HasSubstr("2 requests (13 spans) could not be delivered")));
  gate.Open();
  rig.Close();
  EXPECT_THAT(rig.lines->all(), SizeIs(2));
  ExpectBalanced(rig.delivery->counts());
}

TEST(Delivery, ARequestInFlightIsSeenInTheCounts) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    rig.clock->Advance(absl::Seconds(2));
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "one", 7);
  rig.receiver->WaitForCalls(1);
  EXPECT_EQ(rig.delivery->counts().in_flight, 1u);
  EXPECT_EQ(rig.delivery->counts().in_flight_items, 7u);
  gate.Open();
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_EQ(rig.delivery->counts().in_flight, 0u);
  EXPECT_EQ(rig.delivery->counts().operation_time, absl::Seconds(2));
}

TEST(Delivery, ThousandsOfLossesAreALineInEachInterval) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    rig.clock->Advance(absl::Milliseconds(20));
    return NotTaken(Kind::kRefused, "HTTP 400");
  };
  rig.Start();
  for (int i = 0; i < 4000; ++i) rig.delivery->Push(Signal::kTraces, "x", 2);  // 80 seconds
  gate.Open();
  ASSERT_TRUE(rig.Flush().ok());
  rig.Close();
  EXPECT_EQ(rig.Traces()[RequestLoss::kRefused].requests, 4000u);
  EXPECT_THAT(rig.lines->all(), SizeIs(4));
  EXPECT_THAT(rig.lines->all()[1], HasSubstr("requests ("));
  EXPECT_THAT(rig.lines->all()[1], HasSubstr(" in the last 30 s: HTTP 400"));
}

TEST(Delivery, ALineNamesThePlacesOfTheSignalsThatItIsAbout) {
  for (const auto& [traces, metrics, place] : {std::tuple(1, 0, "http://there:4318/v1/traces"),
                                               std::tuple(0, 1, "http://there:4318/v1/metrics"),
                                               std::tuple(1, 1, "http://there:4318/v1/traces and "
                                                                "http://there:4318/v1/metrics")}) {
    Rig rig;
    Gate gate;
    rig.receiver->on_send = [&](const Receiver::Call&) {
      gate.Wait();
      return NotTaken(Kind::kRefused, "HTTP 400");
    };
    rig.Start();
    if (traces > 0) rig.delivery->Push(Signal::kTraces, "x", 1);
    if (metrics > 0) rig.delivery->Push(Signal::kMetrics, "x", 1);
    rig.receiver->WaitForCalls(1);
    rig.delivery->BeginClose(rig.clock->After(absl::Seconds(4)));  // what is left to say is one line
    gate.Open();
    rig.Close();
    EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr(std::string(" delivered to ") + place + ": HTTP 400")));
  }
}

TEST(Delivery, WithoutAThreadItWaitsForTheNextPushToGetOne) {
  Rig rig;
  int failures = 2;
  rig.options.start_thread = [&](std::function<void()> run) {
    if (failures-- > 0) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    return std::thread(std::move(run));
  };
  rig.Start().Push(Signal::kTraces, "one", 1);
  EXPECT_TRUE(absl::IsUnavailable(rig.Flush()));
  rig.delivery->Push(Signal::kTraces, "two", 1);
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("no thread could be started")));
  rig.delivery->Push(Signal::kTraces, "three", 1);
  ASSERT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("one", "two", "three"));
}

}  // namespace
}  // namespace ferret::otlp
