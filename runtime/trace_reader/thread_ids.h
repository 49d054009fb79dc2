// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Logical thread ids for the rows of a trace.
//
// A trace has OS thread ids, but names the thread of a forward op by its logical id ("Fwd thread id"), which stands
// nowhere else. Backward ops share sequence numbers with their forward ops, so they tell which row that thread is.

#ifndef FERRET_RUNTIME_TRACE_READER_THREAD_IDS_H_
#define FERRET_RUNTIME_TRACE_READER_THREAD_IDS_H_

#include <cstdint>
#include <vector>

#include "runtime/trace_reader/raw_trace.h"

namespace ferret {

// For each row its logical id, from 1, all different: what backward ops call the row, where most of them agree; other
// rows get numbers that are still free, in the order in which the rows came.
std::vector<uint32_t> ThreadIds(const RawTrace& trace);

}  // namespace ferret

#endif  // FERRET_RUNTIME_TRACE_READER_THREAD_IDS_H_
