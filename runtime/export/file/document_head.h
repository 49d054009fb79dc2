// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a finished or abandoned document says about the process that wrote it.

#ifndef FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_HEAD_H_
#define FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_HEAD_H_

#include <cstdint>
#include <string>

namespace ferret {

// What a document has within its first 8 KiB: these keys, each written as `"key": value`.
inline constexpr char kRunIdKey[] = "ferret_run_id";
inline constexpr char kPidKey[] = "ferret_pid";
// Or else these, as attributes in OTLP/JSON: {"key":"…","value":{"stringValue":"…"}}, "intValue".
inline constexpr char kRunIdAttribute[] = "ferret.run_id";
inline constexpr char kPidAttribute[] = "process.pid";

struct DocumentHead {
  std::string run_id;  // empty if the file is not one of Ferret's
  int64_t pid = 0;     // 0 if the file is not one of Ferret's
};

// Reads the start of a plain or gzipped file; a file that cannot be read has an empty head.
DocumentHead ReadDocumentHead(const std::string& path);

}  // namespace ferret

#endif  // FERRET_RUNTIME_EXPORT_FILE_DOCUMENT_HEAD_H_
