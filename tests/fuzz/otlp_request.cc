// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Requests that are counted and cut in two, as a fuzz target: nothing gets lost and nothing is there twice.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "exporters/otlp/delivery/request_split.h"
#include "tests/fuzz/property.h"

namespace {

using namespace ferret::otlp;

void Check(Signal signal, Form form, std::string_view body, int depth) {
  const auto items = CountItems(signal, form, body);
  const auto parts = SplitRequest(signal, form, body);
  if (!parts.has_value()) return;
  FUZZ_PROPERTY(items.has_value() && (*parts)[0].items + (*parts)[1].items == *items);
  for (const RequestPart& part : *parts) {
    FUZZ_PROPERTY(CountItems(signal, form, part.body) == part.items);
    if (depth > 0) Check(signal, form, part.body, depth - 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const Signal signal : {Signal::kTraces, Signal::kMetrics}) {
    for (const Form form : {Form::kProtobuf, Form::kJson}) Check(signal, form, body, 2);
  }
  return 0;
}
