// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// The exporters that come with Ferret, under the names that FERRET_EXPORT knows them by.

#ifndef FERRET_EXPORTERS_BUILTIN_H_
#define FERRET_EXPORTERS_BUILTIN_H_

#include "runtime/export/registry.h"

namespace ferret {

// Once for each registry.
void RegisterBuiltinExporters(ExporterRegistry& registry);

}  // namespace ferret

#endif  // FERRET_EXPORTERS_BUILTIN_H_
