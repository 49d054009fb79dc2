// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/events/value_text.h"

#include <cmath>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace ferret {
namespace {

std::string ListText(const std::vector<int64_t>& list) { return absl::StrCat("[", absl::StrJoin(list, ", "), "]"); }

struct ToText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  // All digits, and a point also behind whole numbers.
  std::string operator()(double value) const {
    constexpr double kLargestWhole = 1e10;
    const bool whole = std::fabs(value) < kLargestWhole && value == std::trunc(value);
    return whole ? absl::StrFormat("%.0f.", value) : absl::StrFormat("%.17g", value);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const Tensor&) const { return ""; }
  std::string operator()(const std::vector<Tensor>&) const { return ""; }
  template <typename T>
  std::string operator()(const std::vector<T>& list) const {
    return absl::StrCat("[", absl::StrJoin(list, ", ", [this](std::string* out, const auto& element) {
                          absl::StrAppend(out, (*this)(static_cast<T>(element)));
                        }), "]");
  }
};

}  // namespace

std::string ShapesText(const std::vector<std::vector<int64_t>>& shapes) {
  return absl::StrCat("[", absl::StrJoin(shapes, ", ", [](std::string* out, const std::vector<int64_t>& shape) {
                        absl::StrAppend(out, ListText(shape));
                      }), "]");
}

std::string DimsText(const std::vector<FunctionEvent::Dims>& dims) {
  return absl::StrCat("[", absl::StrJoin(dims, ", ", [](std::string* out, const FunctionEvent::Dims& one) {
                        absl::StrAppend(out, one.is_list || one.dims.empty() ? ShapesText(one.dims)
                                                                             : ListText(one.dims.front()));
                      }), "]");
}

std::string ScalarText(const Value& value) { return std::visit(ToText(), value); }

std::string TimeText(double time_us) {
  if (time_us >= 1e6) return absl::StrFormat("%.3fs", time_us / 1e6);
  if (time_us >= 1e3) return absl::StrFormat("%.3fms", time_us / 1e3);
  return absl::StrFormat("%.3fus", time_us);
}

}  // namespace ferret
