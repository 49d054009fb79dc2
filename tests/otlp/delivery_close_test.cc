// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a Delivery: in time, whatever the receiver does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <system_error>
#include <thread>

#include "exporters/otlp/delivery/delivery.h"
#include "tests/export/fakes.h"
#include "tests/otlp/delivery_fakes.h"

namespace ferret::otlp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Gate* LeakedGate() {
  static auto* const all = new std::vector<std::unique_ptr<Gate>>;
  all->push_back(std::make_unique<Gate>());
  return all->back().get();
}

TEST(DeliveryClose, SendsWhatWaits) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Delivered();
  };
  rig.Start();
  for (int i = 0; i < 5; ++i) rig.delivery->Push(Signal::kTraces, "x", 1);
  gate.Open();
  rig.Close();
  EXPECT_EQ(rig.Traces().delivered.requests, 5u);
  EXPECT_TRUE(rig.receiver->destroyed());
  EXPECT_THAT(rig.lines->all(), IsEmpty());
}

TEST(DeliveryClose, WithNothingEverPushedDoesNothing) {
  Rig rig;
  rig.Start();
  rig.Close();
  rig.delivery.reset();
  EXPECT_TRUE(rig.receiver->destroyed());
  EXPECT_THAT(rig.lines->all(), IsEmpty());
}

TEST(DeliveryClose, WhatIsPushedAfterwardsIsCountedAndNotSent) {
  Rig rig;
  rig.Start().Push(Signal::kTraces, "one", 1);
  rig.Close();
  rig.delivery->Push(Signal::kTraces, "two", 3);
  rig.Close();
  EXPECT_TRUE(rig.Flush().ok());
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("one"));
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 3u);
  ExpectBalanced(rig.delivery->counts());
}

TEST(DeliveryClose, TriesAgainOnlyWhileThereIsTime) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Retryable();
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.delivery->Push(Signal::kTraces, "two", 3);
  rig.receiver->WaitForCalls(1);
  std::thread closer([&] { rig.Close(absl::Seconds(4)); });
  // Time passes only once it is closing, which is seen by what becomes of a push.
  while (rig.delivery->counts()[Signal::kMetrics][RequestLoss::kClosed].requests == 0) {
    rig.delivery->Push(Signal::kMetrics, "probe", 0);
  }
  gate.Open();
  closer.join();
  EXPECT_THAT(rig.receiver->calls(), SizeIs(::testing::Gt(2u)));
  for (const Receiver::Call& call : rig.receiver->calls()) EXPECT_LT(call.at, 3);
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 5u);
  EXPECT_EQ(rig.Traces().waiting.requests, 0u);
  ExpectBalanced(rig.delivery->counts());
  EXPECT_THAT(rig.lines->all(), SizeIs(1));
}

TEST(DeliveryClose, DoesNotWaitForAPauseThatIsLongerThanItsTime) {
  Rig rig;
  rig.clock->FlowFor(absl::Seconds(1));
  rig.receiver->on_send = [](const Receiver::Call&) { return Retryable(absl::Hours(1)); };
  rig.options.timeouts[0] = absl::InfiniteDuration();
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.receiver->WaitForCalls(1);
  rig.Close();
  EXPECT_LT(rig.clock->Seconds(), 2);
  EXPECT_THAT(rig.receiver->calls(), SizeIs(1));
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 2u);
}

TEST(DeliveryClose, ARequestThatTakesTooLongIsCancelled) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return NotTaken(SendOutcome::Kind::kRetryable, "cancelled");
  };
  rig.receiver->on_cancel = [&] {
    rig.clock->FlowForCallers(false);
    gate.Open();
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.delivery->Push(Signal::kTraces, "two", 3);
  rig.receiver->WaitForCalls(1);
  rig.clock->FlowForCallers(true);
  rig.Close(absl::Seconds(8));
  EXPECT_EQ(rig.clock->Seconds(), 6);
  EXPECT_TRUE(rig.receiver->destroyed());
  EXPECT_THAT(rig.receiver->bodies(), ElementsAre("one"));
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 5u);
  ExpectBalanced(rig.delivery->counts());
  EXPECT_THAT(rig.lines->all(), ElementsAre(HasSubstr("2 requests (5 spans)")));
}

TEST(DeliveryClose, AReceiverThatHangsIsLeftBehindInTime) {
  Gate* const gate = LeakedGate();
  Gate* const returned = LeakedGate();
  Rig rig;
  rig.receiver->on_send = [gate, returned](const Receiver::Call&) {
    gate->Wait();
    returned->Open();
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.delivery->Push(Signal::kMetrics, "two", 3);
  rig.receiver->WaitForCalls(1);
  rig.clock->FlowForCallers(true);
  rig.Close(absl::Seconds(8));
  EXPECT_EQ(rig.clock->Seconds(), 7);
  DeliveryCounts counts = rig.delivery->counts();
  EXPECT_EQ(counts[Signal::kTraces][RequestLoss::kClosed].items, 2u);
  EXPECT_EQ(counts[Signal::kMetrics][RequestLoss::kClosed].items, 3u);
  EXPECT_EQ(counts.queue_bytes, 0u);
  EXPECT_EQ(counts.in_flight, 0u);
  ExpectBalanced(counts);
  ASSERT_THAT(rig.lines->all(), SizeIs(1));
  EXPECT_THAT(rig.lines->all()[0], HasSubstr("was left behind; 2 requests (2 spans and 3 data points)"));
  EXPECT_TRUE(absl::IsDeadlineExceeded(rig.Flush()));

  // What it says afterwards is heard by nobody.
  gate->Open();
  returned->Wait();
  counts = rig.delivery->counts();
  EXPECT_EQ(counts[Signal::kTraces].delivered.items, 0u);
  ExpectBalanced(counts);
  rig.delivery.reset();
  EXPECT_FALSE(rig.receiver->destroyed());
}

TEST(DeliveryClose, WithASpillDirectoryAReceiverThatHangsLosesNothing) {
  Gate* const gate = LeakedGate();
  Rig rig;
  rig.options.spill_directory = ::testing::TempDir() + "/hangs";
  rig.receiver->on_send = [gate](const Receiver::Call&) {
    gate->Wait();
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.delivery->Push(Signal::kTraces, "two", 3);
  rig.receiver->WaitForCalls(1);
  rig.clock->FlowForCallers(true);
  rig.Close(absl::Seconds(8));
  EXPECT_EQ(rig.clock->Seconds(), 7);
  EXPECT_EQ(rig.Traces().spilled.items, 5u);
  EXPECT_EQ(rig.Traces().all_lost().items, 0u);
  ExpectBalanced(rig.delivery->counts());
  gate->Open();
}

TEST(DeliveryClose, BeginCloseLosesWhatIsPushedAfterwardsAndWaitsForNothing) {
  Rig rig;
  Gate gate;
  rig.receiver->on_send = [&](const Receiver::Call&) {
    gate.Wait();
    return Delivered();
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.receiver->WaitForCalls(1);
  rig.delivery->BeginClose(rig.clock->After(absl::Seconds(4)));
  rig.delivery->Push(Signal::kTraces, "two", 3);
  EXPECT_EQ(rig.Traces().waiting.items, 2u);
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 3u);
  gate.Open();
  rig.Close();
  EXPECT_EQ(rig.Traces().delivered.items, 2u);
  EXPECT_TRUE(rig.receiver->destroyed());
}

TEST(DeliveryClose, OfTwoWithOneDeadlineTheSecondSendsWhileTheFirstHangs) {
  Rig first, second;
  second.options.clock = second.clock = first.clock;
  second.receiver = Receiver::Create(first.clock);
  Gate* const gate = LeakedGate();
  first.receiver->on_send = [gate](const Receiver::Call&) {
    gate->Wait();
    return Delivered();
  };
  // Hangs until it is cancelled.
  Gate cancelled;
  second.receiver->on_send = [&](const Receiver::Call& call) {
    if (call.body == "last") cancelled.Wait();
    return call.body == "last" ? NotTaken(SendOutcome::Kind::kRetryable, "cancelled") : Delivered();
  };
  second.receiver->on_cancel = [&] {
    first.clock->FlowForCallers(false);
    cancelled.Open();
  };
  first.Start().Push(Signal::kTraces, "one", 1);
  first.receiver->WaitForCalls(1);
  const RunnerClock::Time deadline = first.clock->After(absl::Seconds(8));
  second.Start();
  for (const char* body : {"a", "b", "last"}) second.delivery->Push(Signal::kTraces, body, 1);
  first.delivery->BeginClose(deadline);
  second.delivery->BeginClose(deadline);
  second.receiver->WaitForCalls(3);
  first.clock->FlowForCallers(true);
  first.delivery->Close(deadline);
  EXPECT_EQ(first.clock->Seconds(), 7);
  EXPECT_EQ(first.Traces()[RequestLoss::kClosed].items, 1u);
  second.delivery->Close(deadline);
  EXPECT_LT(first.clock->Seconds(), 8);
  EXPECT_EQ(second.Traces().delivered.items, 2u);
  EXPECT_EQ(second.Traces()[RequestLoss::kClosed].items, 1u);
  EXPECT_TRUE(second.receiver->destroyed());
  ExpectBalanced(second.delivery->counts());
  gate->Open();
}

TEST(DeliveryClose, OfADeadReceiverThereIsALineAtFirstAndOneWithTheRestAtTheEnd) {
  for (const bool more : {false, true}) {
    Rig rig;
    rig.clock->FlowFor(absl::Seconds(20));  // all inside one interval of the report
    rig.options.timeouts[0] = absl::Milliseconds(1);  // each is lost after one attempt
    rig.receiver->on_send = [](const Receiver::Call&) { return Retryable(); };
    rig.Start().Push(Signal::kTraces, "first", 2);
    ASSERT_TRUE(rig.Flush().ok());
    for (int i = 0; more && i < 4; ++i) rig.delivery->Push(Signal::kTraces, "x", 3);
    if (more) {
      EXPECT_TRUE(rig.Flush().ok());
    }
    rig.Close();
    rig.delivery.reset();
    ASSERT_THAT(rig.lines->all(), SizeIs(more ? 2 : 1));
    EXPECT_THAT(rig.lines->all().front(), HasSubstr("1 request (2 spans)"));
    EXPECT_THAT(rig.lines->all().back(), HasSubstr(more ? "4 requests (12 spans)" : "1 request (2 spans)"));
  }
}

TEST(DeliveryClose, WithoutAThreadWhatWaitsIsLostAndCounted) {
  Rig rig;
  rig.options.start_thread = [](std::function<void()>) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.Close();
  EXPECT_EQ(rig.Traces()[RequestLoss::kClosed].items, 2u);
  ExpectBalanced(rig.delivery->counts());
  EXPECT_THAT(rig.lines->all(), SizeIs(2));
  EXPECT_TRUE(rig.Flush().ok());
}

TEST(DeliveryClose, WithoutAThreadWhatWaitsGoesToTheSpillDirectory) {
  Rig rig;
  rig.options.spill_directory = ::testing::TempDir() + "/no_thread";
  rig.options.start_thread = [](std::function<void()>) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  };
  rig.Start().Push(Signal::kTraces, "one", 2);
  rig.Close();
  EXPECT_EQ(rig.Traces().spilled.items, 2u);
  ExpectBalanced(rig.delivery->counts());
}

}  // namespace
}  // namespace ferret::otlp
