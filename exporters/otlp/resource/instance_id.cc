// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/resource/instance_id.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporters/otlp/resource/sha1.h"
#include "runtime/text/json_text.h"

namespace ferret::otlp {
namespace {

// 4d63009a-8d0f-11ee-aad7-4c796ed8e320
constexpr std::array<uint8_t, 16> kInstances = {0x4d, 0x63, 0x00, 0x9a, 0x8d, 0x0f, 0x11, 0xee,
                                                0xaa, 0xd7, 0x4c, 0x79, 0x6e, 0xd8, 0xe3, 0x20};

}  // namespace

std::string NameUuid(const std::array<uint8_t, 16>& name_space, std::string_view name) {
  std::string hashed(name_space.begin(), name_space.end());
  hashed += name;
  std::array<uint8_t, 20> digest = Sha1(hashed);
  digest[6] = (digest[6] & 0x0f) | 0x50;  // the version
  digest[8] = (digest[8] & 0x3f) | 0x80;  // the variant
  const std::string hex = HexText(std::string(digest.begin(), digest.begin() + 16));
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-", hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

std::string InstanceId(const SessionInfo& info, const std::string& run_id) {
  const std::string& job = info.job_id.empty() ? run_id : info.job_id;
  if (!info.has_rank || info.in_forked_child) return NameUuid(kInstances, absl::StrCat(job, "/", info.host_name, "/", info.pid));
  return NameUuid(kInstances, absl::StrCat(job, "/", info.rank, "/", std::max(info.restart_count, 0)));
}

}  // namespace ferret::otlp
