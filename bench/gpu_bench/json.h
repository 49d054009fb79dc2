// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON as it is written, and how measured numbers are summed up in it.

#ifndef FERRET_BENCH_GPU_BENCH_JSON_H_
#define FERRET_BENCH_GPU_BENCH_JSON_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/text/json_text.h"

namespace gpu_bench {

// An object or a list under construction.
class Json {
 public:
  static Json Object() { return Json('{', '}'); }
  static Json List() { return Json('[', ']'); }

  template <typename Value>
  Json& Set(const std::string& key, const Value& value) {
    Next();
    text_ += ferret::QuotedJson(key) + ": " + Text(value);
    return *this;
  }
  template <typename Value>
  Json& Add(const Value& value) {
    Next();
    text_ += Text(value);
    return *this;
  }

  std::string text() const { return text_ + close_; }

 private:
  Json(char open, char close) : text_(1, open), close_(close) {}

  void Next() {
    if (text_.size() > 1) text_ += ", ";
  }

  static std::string Text(const Json& value) { return value.text(); }
  static std::string Text(const std::string& value) { return ferret::QuotedJson(value); }
  static std::string Text(const char* value) { return ferret::QuotedJson(value); }
  template <typename Number, typename = std::enable_if_t<std::is_arithmetic_v<Number>>>
  static std::string Text(Number value) {
    if constexpr (std::is_same_v<Number, bool>) return value ? "true" : "false";
    if constexpr (std::is_integral_v<Number>) return std::to_string(value);
    if (!std::isfinite(static_cast<double>(value))) return "null";
    char text[32];
    std::snprintf(text, sizeof(text), "%.7g", static_cast<double>(value));
    return text;
  }

  std::string text_;
  char close_;
};

inline Json Skipped(const std::string& why) { return Json::Object().Set("skipped", why); }

// The value that `share` of them do not exceed.
inline double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return std::nan("");
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

inline Json Spread(const std::vector<double>& values) {
  Json json = Json::Object();
  json.Set("count", values.size());
  if (values.empty()) return json;
  double sum = 0;
  for (const double value : values) sum += value;
  json.Set("mean", sum / static_cast<double>(values.size()));
  json.Set("min", Percentile(values, 0)).Set("p50", Percentile(values, 0.5)).Set("p90", Percentile(values, 0.9));
  return json.Set("p99", Percentile(values, 0.99)).Set("max", Percentile(values, 1));
}

}  // namespace gpu_bench

#endif  // FERRET_BENCH_GPU_BENCH_JSON_H_
