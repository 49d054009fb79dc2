// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// DeliveryReport: what people are told of requests that did not arrive: one line at most in each interval, with the sums
// of all that happened in it, never one for each request. The first line comes at once.
//
// One thread at a time.

#ifndef FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_REPORT_H_
#define FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_REPORT_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "exporters/otlp/delivery/delivery_counts.h"
#include "runtime/export/runner_clock.h"

namespace ferret::otlp {

class DeliveryReport {
 public:
  using Time = RunnerClock::Time;
  static constexpr absl::Duration kInterval = absl::Seconds(30);

  using Destinations = std::array<std::string, kSignalCount>;  // by Signal

  // `destinations` and `directory` are for people.
  DeliveryReport(Destinations destinations, std::string directory)
      : destinations_(std::move(destinations)), directory_(std::move(directory)) {}

  void Lost(Time now, Signal signal, const Amount& amount, std::string_view why);
  void Kept(Time now, Signal signal, const Amount& amount, std::string_view why);  // on disk
  void Rejected(Time now, Signal signal, uint64_t items, std::string_view why);
  void Warned(Time now, Signal signal, std::string_view warning);  // by a receiver that took all

  // When there is something to be said, if there is.
  std::optional<Time> due() const;
  // What there is to say, if anything, without "ferret: …" in front.
  std::string Take(Time now);

 private:
  struct Sum {
    uint64_t requests = 0;
    std::array<uint64_t, kSignalCount> items{};
    std::array<bool, kSignalCount> has{};  // requests, be they empty
    std::string why;  // of the latest

    void Add(Signal signal, const Amount& amount, std::string_view reason);
    std::string Items() const;  // "8,000 spans and 12 data points"
  };
  void Note(Time now);
  // Where the requests of a sum went or were to go: one place, or "… and …".
  std::string PlaceOf(const Sum& sum) const;

  const Destinations destinations_;
  const std::string directory_;
  Sum lost_, kept_, rejected_;
  std::string warning_, warning_place_;
  std::optional<Time> first_;  // of what has not been said
  std::optional<Time> said_;
};

// 8000 as "8,000".
std::string GroupedDigits(uint64_t number);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_DELIVERY_DELIVERY_REPORT_H_
