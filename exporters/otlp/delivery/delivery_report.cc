// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/delivery/delivery_report.h"

#include "absl/strings/str_cat.h"

namespace ferret::otlp {
namespace {

constexpr const char* kItemNames[kSignalCount] = {"span", "data point"};

std::string Counted(uint64_t count, const char* what) {
  return absl::StrCat(GroupedDigits(count), " ", what, count == 1 ? "" : "s");
}

void AppendPart(const std::string& part, std::string* line) {
  if (part.empty()) return;
  if (!line->empty()) line->append("; ");
  line->append(part);
}

}  // namespace

std::string GroupedDigits(uint64_t number) {
  std::string digits = absl::StrCat(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

void DeliveryReport::Sum::Add(Signal signal, const Amount& amount, std::string_view reason) {
  requests += amount.requests;
  items[static_cast<size_t>(signal)] += amount.items;
  has[static_cast<size_t>(signal)] = true;
  why = reason;
}

std::string DeliveryReport::Sum::Items() const {
  std::string text;
  for (size_t i = 0; i < kSignalCount; ++i) {
    if (items[i] != 0) absl::StrAppend(&text, text.empty() ? "" : " and ", Counted(items[i], kItemNames[i]));
  }
  return text.empty() ? "empty" : text;
}

std::string DeliveryReport::PlaceOf(const Sum& sum) const {
  std::string places;
  for (size_t i = 0; i < kSignalCount; ++i) {
    const bool is_known = i > 0 && sum.has[0] && destinations_[i] == destinations_[0];
    if (sum.has[i] && !is_known) absl::StrAppend(&places, places.empty() ? "" : " and ", destinations_[i]);
  }
  return places;
}

void DeliveryReport::Note(Time now) {
  if (!first_.has_value()) first_ = now;
}

void DeliveryReport::Lost(Time now, Signal signal, const Amount& amount, std::string_view why) {
  lost_.Add(signal, amount, why);
  Note(now);
}

void DeliveryReport::Kept(Time now, Signal signal, const Amount& amount, std::string_view why) {
  kept_.Add(signal, amount, why);
  Note(now);
}

void DeliveryReport::Rejected(Time now, Signal signal, uint64_t items, std::string_view why) {
  rejected_.Add(signal, Amount{items, 1}, why);
  Note(now);
}

void DeliveryReport::Warned(Time now, Signal signal, std::string_view warning) {
  warning_ = warning;
  warning_place_ = destinations_[static_cast<size_t>(signal)];
  Note(now);
}

std::optional<DeliveryReport::Time> DeliveryReport::due() const {
  if (!first_.has_value()) return std::nullopt;
  if (!said_.has_value()) return first_;
  return std::max(*first_, *said_ + absl::ToChronoNanoseconds(kInterval));
}

std::string DeliveryReport::Take(Time now) {
  if (!first_.has_value()) return "";
  const int64_t seconds = absl::ToInt64Seconds(absl::FromChrono(now - *first_) + absl::Milliseconds(500));
  const std::string when = seconds > 0 ? absl::StrCat(" in the last ", seconds, " s") : "";
  std::string line;
  if (lost_.requests > 0) {
    AppendPart(absl::StrCat(Counted(lost_.requests, "request"), " (", lost_.Items(), ") could not be delivered to ",
                            PlaceOf(lost_), when, ": ", lost_.why),
               &line);
  }
  if (kept_.requests > 0) {
    AppendPart(absl::StrCat(Counted(kept_.requests, "request"), " (", kept_.Items(), ") for ", PlaceOf(kept_),
                            kept_.requests == 1 ? " was" : " were", " kept in ", directory_, when, ": ", kept_.why),
               &line);
  }
  if (rejected_.requests > 0) {
    AppendPart(absl::StrCat(PlaceOf(rejected_), " did not take ", rejected_.Items(), when, ": ", rejected_.why), &line);
  }
  if (!warning_.empty()) AppendPart(absl::StrCat(warning_place_, " warns: ", warning_), &line);
  lost_ = kept_ = rejected_ = Sum();
  warning_.clear();
  first_.reset();
  said_ = now;
  return line;
}

}  // namespace ferret::otlp
