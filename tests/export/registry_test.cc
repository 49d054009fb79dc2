// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/export/fakes.h"

namespace ferret {
namespace {

ExporterFactory Factory() {
  return [](const ExporterSpec& spec) -> absl::StatusOr<std::unique_ptr<Exporter>> {
    if (spec.target == "bad") return absl::InvalidArgumentError("bad target");
    return std::make_unique<ScriptedExporter>(std::make_shared<Script>());
  };
}

TEST(ExporterRegistry, CreatesByNameAndPassesTheSpecOn) {
  ExporterRegistry registry;
  ASSERT_TRUE(registry.Register("one", Factory()).ok());
  EXPECT_TRUE(registry.Create({"one", "", {}}).ok());
  EXPECT_EQ(registry.Create({"one", "bad", {}}).status().message(), "bad target");
}

TEST(ExporterRegistry, AnUnknownNameIsNotFoundAndTheKnownOnesAreListed) {
  ExporterRegistry registry;
  EXPECT_EQ(registry.Create({"one", "", {}}).status().message(), "there is no exporter \"one\"; there are none");
  ASSERT_TRUE(registry.Register("table", Factory()).ok());
  ASSERT_TRUE(registry.Register("otlp", Factory()).ok());
  const absl::Status status = registry.Create({"one", "", {}}).status();
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_EQ(status.message(), "there is no exporter \"one\"; there are otlp, table");
  EXPECT_THAT(registry.Names(), testing::ElementsAre("otlp", "table"));
}

TEST(ExporterRegistry, ANameIsRegisteredOnceAndMustBeOneThatCanBeWritten) {
  ExporterRegistry registry;
  EXPECT_TRUE(registry.Register("one", Factory()).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(registry.Register("one", Factory())));
  for (const char* name : {"", "One", "a:b", "a,b", "a?b", "1st", "a b"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(registry.Register(name, Factory()))) << name;
  }
}

TEST(ExporterRegistry, ThereIsOneForTheProcess) {
  EXPECT_EQ(&ExporterRegistry::Global(), &ExporterRegistry::Global());
}

}  // namespace
}  // namespace ferret
