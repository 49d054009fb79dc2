// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/session/flight_options.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <random>
#include <string>

#include "runtime/session/options.h"
#include "runtime/session/variables.h"

namespace ferret {
namespace {

absl::Status Set(const std::string& value, Options* options) {
  for (const Variable& variable : Variables()) {
    if (std::string(variable.name) == "FERRET_FLIGHT") return SetVariable(variable, value, options);
  }
  return absl::NotFoundError("FERRET_FLIGHT");
}

Flight Parsed(const std::string& value) {
  Options options;
  const absl::Status status = Set(value, &options);
  EXPECT_TRUE(status.ok()) << status;
  return options.flight;
}

TEST(FlightOptions, AreOffUnlessSomethingIsSaid) {
  EXPECT_EQ(Options().flight.size_bytes, 0u);
  EXPECT_EQ(Parsed("").size_bytes, 0u);
  EXPECT_EQ(Parsed("on").size_bytes, uint64_t{64} << 20);
}

TEST(FlightOptions, TakeABoundAlone) {
  EXPECT_EQ(Parsed("16M").size_bytes, uint64_t{16} << 20);
  EXPECT_EQ(Parsed("16M").last_ns, 0u);
  EXPECT_EQ(Parsed("30s").last_ns, 30'000'000'000u);
  EXPECT_EQ(Parsed("30s").size_bytes, uint64_t{64} << 20);
  EXPECT_EQ(Parsed("30m").last_ns, 1'800'000'000'000u) << "minutes";
  EXPECT_EQ(Parsed("30M").last_ns, 0u) << "memory";
}

TEST(FlightOptions, TakeFieldsInAnyOrder) {
  const Flight flight = Parsed("signal=USR2,at_exit=1,slow=1.5x,size=2G,last=1m,dumps=3");
  EXPECT_EQ(flight.signal, SIGUSR2);
  EXPECT_TRUE(flight.at_exit);
  EXPECT_EQ(flight.slow_factor, 1.5);
  EXPECT_EQ(flight.slow_ns, 0u);
  EXPECT_EQ(flight.size_bytes, uint64_t{2} << 30);
  EXPECT_EQ(flight.last_ns, 60'000'000'000u);
  EXPECT_EQ(flight.dumps, 3u);
  EXPECT_EQ(Parsed("64M,slow=200ms").slow_ns, 200'000'000u);
  EXPECT_EQ(Parsed("signal=SIGHUP").signal, SIGHUP);
}

TEST(FlightOptions, PrintWhatTheyParse) {
  EXPECT_EQ(PrintFlight(Flight()), "");
  for (const char* text : {"on", "30s", "1500K", "slow=2.25x,signal=QUIT", "slow=1us,last=1ns,at_exit=1,dumps=1000000"}) {
    const std::string printed = PrintFlight(Parsed(text));
    EXPECT_EQ(PrintFlight(Parsed(printed)), printed) << text;
  }
}

TEST(FlightOptions, RefuseWhatMakesNoSenseInOneLineThatNamesIt) {
  for (const char* text :
       {"1", "0", "64", "512K", "65G", "-64M", " 64M", "64M ", "64M,64M", "30s,64M", "last=30s,last=30s", "last=", "last=0s",
        "last=-1s", "last=inf", "last=64M", "size=0", "size=30s", "size=99999999999999999999G", "size=20000000000G", "slow=1x", "slow=0.5x",
        "slow=x", "slow=-2x", "slow=nanx", "slow=infx", "slow=1e9x", "slow=0", "slow=2", "slow=2x,slow=2x",
        "signal=SEGV", "signal=KILL", "signal=12", "signal=", "dumps=0", "dumps=-1", "dumps=1000001", "at_exit=yes",
        "at_exit", "forever=1", ",", "64M,", "=", "on,64M", "size=64M=1", "last=300000h"}) {
    Options options;
    const absl::Status status = Set(text, &options);
    EXPECT_FALSE(status.ok()) << text;
    EXPECT_EQ(options.flight.size_bytes, 0u) << text;
    const std::string message(status.message());
    EXPECT_NE(message.find("FERRET_FLIGHT"), std::string::npos) << message;
    EXPECT_NE(message.find("expected 64M, 30s or last=30s"), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(FlightOptions, ThatAreCodeAreCheckedToo) {
  Options options;
  options.flight.size_bytes = 64 << 20;
  EXPECT_TRUE(options.Validate().ok());
  options.flight.signal = SIGSEGV;
  EXPECT_FALSE(options.Validate().ok());
  options.flight.signal = 0;
  options.flight.slow_ns = 1;
  options.flight.slow_factor = 2;
  EXPECT_FALSE(options.Validate().ok());
  options.flight.slow_factor = 0;
  options.flight.last_ns = UINT64_MAX;
  EXPECT_FALSE(options.Validate().ok());
}

// Whatever the bytes: an error, or options that are valid and survive printing.
TEST(FlightOptions, SurviveGarbage) {
  std::mt19937 random(7);
  const std::string alphabet = "lastizeowgnlduMKGxs=,.:0123456789-+ \n%\xff" + std::string(1, '\0');
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    std::string text = i % 2 == 0 ? "" : "last=30s,size=64M,slow=2x,signal=USR2,dumps=3";
    const size_t changes = 1 + random() % 8;
    for (size_t j = 0; j < changes; ++j) {
      const char c = alphabet[random() % alphabet.size()];
      if (text.empty() || random() % 2 == 0) {
        text.insert(text.begin() + static_cast<std::ptrdiff_t>(random() % (text.size() + 1)), c);
      } else {
        text[random() % text.size()] = c;
      }
    }
    Flight flight;
    if (!ParseFlight(text, &flight) || !ValidateFlight(flight).ok()) continue;
    ++accepted;
    Flight again;
    ASSERT_TRUE(ParseFlight(PrintFlight(flight), &again)) << text;
    EXPECT_EQ(PrintFlight(again), PrintFlight(flight)) << text;
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace ferret
