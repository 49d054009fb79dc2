// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// service.instance.id: which of a service's processes this is, as a UUID that anybody who knows the job can compute.

#ifndef FERRET_EXPORTERS_OTLP_RESOURCE_INSTANCE_ID_H_
#define FERRET_EXPORTERS_OTLP_RESOURCE_INSTANCE_ID_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/export/exporter.h"

namespace ferret::otlp {

// A UUID of version 5 (RFC 9562): of `name` within a namespace.
std::string NameUuid(const std::array<uint8_t, 16>& name_space, std::string_view name);

// Of "JOB/RANK/RESTART", in the namespace that OpenTelemetry has set aside for instances. Without a restart count it is
// 0, and without a job its place is the run's id. A process that has no rank is one of many that could claim the same:
// it is known by "JOB/HOST/PID" instead.
std::string InstanceId(const SessionInfo& info, const std::string& run_id);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_RESOURCE_INSTANCE_ID_H_
