// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Finds and loads libferret_otlp_grpc.so, so that processes that send nothing over gRPC never have it.

#ifndef FERRET_EXPORTERS_OTLP_GRPC_GRPC_LIBRARY_H_
#define FERRET_EXPORTERS_OTLP_GRPC_GRPC_LIBRARY_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporters/otlp/grpc/grpc_plugin.h"

namespace ferret::otlp {

// From `path`; if that is empty, from beside the file that this code is in (libferret.so, or a program), else from where
// the dynamic linker looks. An error says what to install. Its symbols stay its own, and it stays loaded.
absl::StatusOr<const ferret_otlp_grpc_api*> LoadGrpcLibrary(const std::string& path = "");

// Whether the process had the same gRPC before the first LoadGrpcLibrary: then its settings are the host's.
bool HostHasGrpc();

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_GRPC_GRPC_LIBRARY_H_
