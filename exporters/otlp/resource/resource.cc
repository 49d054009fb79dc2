// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/resource/resource.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporters/otlp/resource/instance_id.h"
#include "exporters/otlp/resource/percent_decoding.h"
#include "exporters/otlp/spans/span.h"
#include "runtime/environment/process_environment.h"
#include "runtime/text/json_text.h"
#include "runtime/text/utf8_text.h"

namespace ferret::otlp {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

// An empty value is as good as none.
std::string ValueOf(const GetEnv& getenv, const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

absl::StatusOr<std::string> Decoded(absl::string_view text) {
  std::optional<std::string> decoded = PercentDecode(View(text));
  if (!decoded.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(QuotedJson(View(text)), " has a % without two hex digits behind it"));
  }
  if (!IsUtf8(*decoded)) return absl::InvalidArgumentError(absl::StrCat(QuotedJson(View(text)), " is not UTF-8"));
  return *std::move(decoded);
}

// As the semantic conventions spell it.
#if defined(__x86_64__)
constexpr char kArchitecture[] = "amd64";
#elif defined(__aarch64__)
constexpr char kArchitecture[] = "arm64";
#else
constexpr char kArchitecture[] = "";  // not known: not said
#endif

// What only Ferret may say.
bool IsOwnKey(absl::string_view key) {
  return absl::StartsWith(key, "ferret.") || absl::StartsWith(key, "telemetry.sdk.") || key == "process.pid";
}

const std::string* Find(const Pairs& attributes, std::string_view key) {
  for (const auto& [known, value] : attributes) {
    if (known == key) return &value;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<Pairs> ParseResourceAttributes(std::string_view text) {
  Pairs attributes;
  for (absl::string_view entry : absl::StrSplit(absl::string_view(text.data(), text.size()), ',')) {
    entry = absl::StripAsciiWhitespace(entry);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    if (equals == absl::string_view::npos) {
      return absl::InvalidArgumentError(absl::StrCat(QuotedJson(View(entry)), " is not key=value"));
    }
    const absl::StatusOr<std::string> key = Decoded(absl::StripAsciiWhitespace(entry.substr(0, equals)));
    const absl::StatusOr<std::string> value = Decoded(absl::StripAsciiWhitespace(entry.substr(equals + 1)));
    if (!key.ok()) return key.status();
    if (!value.ok()) return value.status();
    if (key->empty()) return absl::InvalidArgumentError(absl::StrCat(QuotedJson(View(entry)), " has no key"));
    const auto known = std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == *key; });
    if (known != attributes.end()) attributes.erase(known);  // the last one counts
    attributes.emplace_back(*key, *value);
  }
  return attributes;
}

ResourceEnvironment ReadResourceEnvironment(const GetEnv& getenv) {
  ResourceEnvironment environment;
  const std::string disabled = absl::AsciiStrToLower(ValueOf(getenv, "OTEL_SDK_DISABLED"));
  environment.disabled = disabled == "true";
  if (!disabled.empty() && disabled != "true" && disabled != "false") {
    environment.warnings.push_back(absl::StrCat("OTEL_SDK_DISABLED=", QuotedJson(ValueOf(getenv, "OTEL_SDK_DISABLED")),
                                                " is taken for false; only true is true"));
  }
  environment.service_name = ValueOf(getenv, "OTEL_SERVICE_NAME");
  absl::StatusOr<Pairs> attributes = ParseResourceAttributes(ValueOf(getenv, "OTEL_RESOURCE_ATTRIBUTES"));
  if (attributes.ok()) {
    environment.attributes = *std::move(attributes);
  } else {
    environment.warnings.push_back(
        absl::StrCat("OTEL_RESOURCE_ATTRIBUTES is ignored: ", attributes.status().message()));
  }
  return environment;
}

GetEnv ProcessEnvironment() {
  return &EnvironmentVariable;
}

ResourceEnvironment ReadResourceEnvironment() { return ReadResourceEnvironment(ProcessEnvironment()); }

Resource::Resource(const SessionInfo& info, const std::string& run_id, const std::string& executable,
                   const ResourceEnvironment& environment) {
  Add("ferret.run_id", run_id);
  Add("process.pid", int64_t{info.pid});

  const std::string* named = Find(environment.attributes, "service.name");
  std::string service = environment.service_name;
  if (service.empty() && named != nullptr) service = *named;
  if (service.empty()) service = absl::StrCat("unknown_service:", executable);
  Add("service.name", service);

  if (!info.job_id.empty()) Add("ferret.job_id", info.job_id);
  Add("ferret.rank", int64_t{info.rank});
  Add("ferret.world_size", int64_t{info.world_size});
  Add("ferret.session.start_unix_nano", info.start_ns);
  Add("ferret.host", info.host_name);
  Add("telemetry.sdk.name", std::string(kScopeName));
  Add("telemetry.sdk.language", std::string("cpp"));
  Add("telemetry.sdk.version", std::string(kVersion));
  if (Find(environment.attributes, "host.name") == nullptr && !info.host_name.empty()) Add("host.name", info.host_name);
  if (Find(environment.attributes, "process.executable.name") == nullptr && !executable.empty()) {
    Add("process.executable.name", executable);
  }
  if (info.local_rank >= 0) Add("ferret.local_rank", int64_t{info.local_rank});
  if (info.restart_count >= 0) Add("ferret.restart_count", int64_t{info.restart_count});
  const std::pair<const char*, std::string> found_out[] = {
      {"service.instance.id", InstanceId(info, run_id)}, {"os.type", "linux"}, {"host.arch", kArchitecture}};
  for (const auto& [key, value] : found_out) {
    if (Find(environment.attributes, key) == nullptr && !value.empty()) Add(key, value);
  }
  for (const auto& [key, value] : environment.attributes) {
    if (!IsOwnKey(key) && key != "service.name") Add(key, value);
  }
}

void Resource::Add(std::string_view key, std::variant<std::string, int64_t> value) {
  attributes_.emplace_back(std::string(key), std::move(value));
}

std::string ExecutableName(const SessionInfo& info) {
  std::string path(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  path.resize(length < 0 ? 0 : static_cast<size_t>(length));
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.empty() ? info.process_name : name;
}

ProcessKey KeyOf(const SessionInfo& info, const std::string& run_id) {
  ProcessKey key;
  key.job = info.job_id.empty() ? run_id : info.job_id;
  key.rank = info.rank;
  key.host = info.host_name;
  key.pid = info.pid;
  key.session_start_ns = info.start_ns;
  return key;
}

}  // namespace ferret::otlp
