// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Values as text, the way PyTorch shows them in traces and tables: "[[64, 32], []]", "True", "0.5".

#ifndef FERRET_RUNTIME_EVENTS_VALUE_TEXT_H_
#define FERRET_RUNTIME_EVENTS_VALUE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ferret/function_event.h"

namespace ferret {

std::string ShapesText(const std::vector<std::vector<int64_t>>& shapes);
std::string DimsText(const std::vector<FunctionEvent::Dims>& dims);

// Of a scalar or a list of them; "" for None and tensors.
std::string ScalarText(const Value& value);

// "12.345us", "1.500ms", "2.000s"
std::string TimeText(double time_us);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_VALUE_TEXT_H_
