// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Starts a session when the library is loaded, if the environment asks for one: before main, or in dlopen.

#include "runtime/session/process_session.h"

namespace {

__attribute__((constructor)) void StartWhenLoaded() { ferret::StartSessionFromEnvironment(); }

}  // namespace
