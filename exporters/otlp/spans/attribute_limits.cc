// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/spans/attribute_limits.h"

#include <algorithm>

#include "runtime/text/utf8_text.h"

namespace ferret::otlp {

std::string_view FirstCharacters(std::string_view text, size_t most) {
  size_t at = 0;
  for (; most > 0 && at < text.size(); --most) at += std::max<size_t>(1, Utf8Length(text.substr(at)));
  return text.substr(0, at);
}

}  // namespace ferret::otlp
