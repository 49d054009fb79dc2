// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The span of another process that started this one: TRACEPARENT and TRACESTATE, in the form of W3C Trace Context.
//
// A bad TRACEPARENT makes both void. A bad TRACESTATE makes itself void only, as Trace Context wants it; without
// TRACEPARENT it means nothing. Only these names are read, not those in lower case.

#ifndef FERRET_EXPORTERS_OTLP_CONFIG_TRACE_CONTEXT_H_
#define FERRET_EXPORTERS_OTLP_CONFIG_TRACE_CONTEXT_H_

#include <optional>
#include <string_view>

#include "exporters/otlp/config/otlp_config.h"
#include "exporters/otlp/config/otlp_variables.h"

namespace ferret::otlp {

// "00-<32 hex digits>-<16 hex digits>-<2 hex digits>", in lower case; of a later version also with more behind a '-'.
std::optional<RemoteContext> ParseTraceparent(std::string_view text);

// Up to 32 entries key=value with commas between them, no key twice.
bool IsTracestate(std::string_view text);

std::optional<RemoteContext> ReadRemoteContext(const OtlpVariables& variables);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_CONFIG_TRACE_CONTEXT_H_
