// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled once for each public header, which is the first thing included: it must bring what it needs.

#include HEADER

#include "gtest/gtest.h"

TEST(PublicHeader, CompilesAlone) { SUCCEED(); }
