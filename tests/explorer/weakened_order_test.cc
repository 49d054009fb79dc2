// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Every release and every acquire of the protocol is needed: with any one of them relaxed, the explorer finds an
// execution that breaks.

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "tests/explorer/protocol.h"

namespace ferret::explorer {
namespace {

const std::set<Site>& ExpectedSites() {
  static const auto* const sites = new std::set<Site>{
      {"producer", OperationKind::kStore, "write_offset"}, {"drain", OperationKind::kLoad, "write_offset"},
      {"producer", OperationKind::kStore, "sealed"},       {"drain", OperationKind::kLoad, "sealed"},
      {"producer", OperationKind::kStore, "owner"},        {"drain", OperationKind::kLoad, "owner"},
      {"drain", OperationKind::kStore, "owner"},           {"producer", OperationKind::kLoad, "owner"},
      {"drain", OperationKind::kUpdate, "recycled"},       {"producer", OperationKind::kLoad, "recycled"},
  };
  return *sites;
}

TEST(WeakenedOrder, TheProtocolHasTheseReleasesAndAcquiresAndNoOther) {
  const Result result = Explore({}, Make(Protocol()));
  EXPECT_EQ(result.failure, "");
  for (const Site& site : result.sites) EXPECT_EQ(ExpectedSites().count(site), 1u) << site.Text();
  for (const Site& site : ExpectedSites()) EXPECT_EQ(result.sites.count(site), 1u) << site.Text();
}

TEST(WeakenedOrder, EachOfThemIsNeeded) {
  int found = 0;
  for (const Site& site : ExpectedSites()) {
    Options options;
    options.weak = site;
    options.executions_after_failure = UINT64_MAX;
    const Result result = Explore(options, Make(Protocol()));
    EXPECT_GT(result.failures, 0u) << site.Text();
    found += result.failures > 0;
    std::printf("%s, relaxed: %s", site.Text().c_str(), result.Findings().c_str());
  }
  std::printf("FIGURE: explorer: %d of %zu weakened orders found\n", found, ExpectedSites().size());
}

}  // namespace
}  // namespace ferret::explorer
