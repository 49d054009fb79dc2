// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The beginning of a document that another process left behind, for one that goes on with it.

#ifndef FERRET_RUNTIME_EXPORT_FILE_TEXT_PREFIX_H_
#define FERRET_RUNTIME_EXPORT_FILE_TEXT_PREFIX_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace ferret {

// Hands over the first `bytes` of the text of a plain or gzipped file, a piece at a time. DataLoss if it has less; stops at
// the first error of `take`.
absl::Status ReadTextPrefix(const std::string& path, uint64_t bytes,
                            absl::FunctionRef<absl::Status(std::string_view piece)> take);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_TEXT_PREFIX_H_
