// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the end of a gRPC call says of the request that it carried.

#ifndef FERRET_EXPORTERS_OTLP_GRPC_GRPC_OUTCOME_H_
#define FERRET_EXPORTERS_OTLP_GRPC_GRPC_OUTCOME_H_

#include "exporters/otlp/grpc/grpc_plugin.h"
#include "exporters/otlp/transport.h"

namespace ferret::otlp {

SendOutcome ReadGrpcOutcome(Signal signal, const ferret_otlp_grpc_outcome& outcome);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_GRPC_GRPC_OUTCOME_H_
