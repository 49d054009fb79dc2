// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Text of strangers, made fit for a log.

#ifndef FERRET_EXPORTERS_OTLP_REPLIES_ONE_LINE_H_
#define FERRET_EXPORTERS_OTLP_REPLIES_ONE_LINE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace ferret::otlp {

// Of what a receiver says in a message for people.
inline constexpr size_t kMostMessageBytes = 256;

// One line of printable UTF-8, of at most `most` bytes and "...": runs of white space and control characters become one
// space, what is not UTF-8 becomes U+FFFD.
std::string OneLine(std::string_view text, size_t most);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_REPLIES_ONE_LINE_H_
