// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SHA-1, for UUIDs of version 5, which are defined by it. Not for anything that must withstand an attacker.

#ifndef FERRET_EXPORTERS_OTLP_RESOURCE_SHA1_H_
#define FERRET_EXPORTERS_OTLP_RESOURCE_SHA1_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace ferret::otlp {

std::array<uint8_t, 20> Sha1(std::string_view text);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_RESOURCE_SHA1_H_
