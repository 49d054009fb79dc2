// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Writes items of ferret/internal/detail_format.h of any size into a string: for events that were not recorded but made
// or read from a file.

#ifndef FERRET_RUNTIME_EVENTS_DETAIL_TEXT_H_
#define FERRET_RUNTIME_EVENTS_DETAIL_TEXT_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "ferret/internal/detail_format.h"
#include "ferret/value.h"

namespace ferret {

// Appends one item; `write` writes its payload and may be called more than once.
void AppendDetail(internal::DetailKind kind, std::string* recorded,
                  const std::function<void(internal::DetailWriter* out)>& write);

// Innermost frame first.
void AppendStack(const std::vector<std::string>& frames, std::string* recorded);

void WriteValue(const Value& value, internal::DetailWriter* out);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EVENTS_DETAIL_TEXT_H_
