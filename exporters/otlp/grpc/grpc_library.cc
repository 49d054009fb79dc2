// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/grpc/grpc_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ferret::otlp {
namespace {

constexpr char kFileName[] = "libferret_otlp_grpc.so";
constexpr char kEntryName[] = "ferret_otlp_grpc_entry";

// Next to `file`, or next to what it links to; empty if neither is there.
std::string Beside(const std::string& file) {
  char real[PATH_MAX];
  for (const std::string& name : {file, std::string(realpath(file.c_str(), real) != nullptr ? real : "")}) {
    const size_t slash = name.rfind('/');
    if (slash == name.npos) continue;
    std::string candidate = name.substr(0, slash + 1) + kFileName;
    if (access(candidate.c_str(), F_OK) == 0) return candidate;
  }
  return "";
}

std::string FindLibrary() {
  Dl_info info{};
  const void* const here = reinterpret_cast<const void*>(&LoadGrpcLibrary);
  if (dladdr(here, &info) == 0 || info.dli_fname == nullptr) return kFileName;
  const std::string file = info.dli_fname;
  // A program that was found by PATH has no folder in its name.
  std::string found = Beside(file.find('/') == file.npos ? "/proc/self/exe" : file);
  return found.empty() ? kFileName : found;
}

// The reason is the dynamic linker's: "libgrpc++.so.1.51: cannot open shared object file: No such file or directory".
absl::Status CannotLoad(const std::string& path, const std::string& reason) {
  const bool it_is_missing = absl::StrContains(reason, absl::StrCat(kFileName, ": cannot open"));
  return absl::FailedPreconditionError(absl::StrCat(
      "gRPC is not available: ", reason,
      it_is_missing ? absl::StrCat("; it belongs beside libferret.so, or set LD_LIBRARY_PATH to its folder")
                    : absl::StrCat("; ", path, " needs gRPC 1.51: on Debian 12, apt-get install libgrpc++1.51"),
      "; http/protobuf needs neither"));
}

}  // namespace

bool HostHasGrpc() {
  static const bool has = dlopen("libgpr.so.29", RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  return has;
}

absl::StatusOr<const ferret_otlp_grpc_api*> LoadGrpcLibrary(const std::string& path) {
  HostHasGrpc();  // asked while it can still be told
  const std::string file = path.empty() ? FindLibrary() : path;
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return CannotLoad(file, reason != nullptr ? reason : "unknown reason");
  }
  const auto entry = reinterpret_cast<ferret_otlp_grpc_entry_function>(dlsym(library, kEntryName));
  const ferret_otlp_grpc_api* const api = entry != nullptr ? entry(FERRET_OTLP_GRPC_ABI_VERSION) : nullptr;
  if (api == nullptr || api->abi_version != FERRET_OTLP_GRPC_ABI_VERSION) {
    return absl::FailedPreconditionError(
        absl::StrCat("gRPC is not available: ", file, " is not of this version of Ferret"));
  }
  return api;
}

}  // namespace ferret::otlp
