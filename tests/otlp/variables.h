// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// An environment of a test's own.

#ifndef FERRET_TESTS_OTLP_VARIABLES_H_
#define FERRET_TESTS_OTLP_VARIABLES_H_

#include <map>
#include <string>

#include "exporters/otlp/resource/resource.h"

namespace ferret::otlp {

using Variables = std::map<std::string, std::string>;

// `variables` must outlive what is returned.
inline GetEnv Environment(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

}  // namespace ferret::otlp

#endif  // FERRET_TESTS_OTLP_VARIABLES_H_
