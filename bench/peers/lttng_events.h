/* Copyright The Ferret Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * The two tracepoints that make a scope in LTTng-UST: a name and nothing else, as in Ferret. */

#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ferret_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_events.h"

#if !defined(FERRET_BENCH_LTTNG_EVENTS_H_) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define FERRET_BENCH_LTTNG_EVENTS_H_

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(ferret_bench, begin, LTTNG_UST_TP_ARGS(int, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))
LTTNG_UST_TRACEPOINT_EVENT(ferret_bench, end, LTTNG_UST_TP_ARGS(int, name),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, name, name)))

#endif /* FERRET_BENCH_LTTNG_EVENTS_H_ */

#include <lttng/tracepoint-event.h>
