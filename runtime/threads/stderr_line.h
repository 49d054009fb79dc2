// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a person has to be told, on any thread, also one of the host program's.

#ifndef FERRET_RUNTIME_THREADS_STDERR_LINE_H_
#define FERRET_RUNTIME_THREADS_STDERR_LINE_H_

#include <string_view>

namespace ferret {

// "ferret: `text`" on standard error, in one write, so that lines of many processes do not mix. A closed standard error, or
// a reader that went away, is nobody's problem.
void WriteStderrLine(std::string_view text);

}  // namespace ferret

#endif  // FERRET_RUNTIME_THREADS_STDERR_LINE_H_
