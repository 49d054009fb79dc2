// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/resource/resource.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/otlp/decoded.h"

namespace ferret::otlp {
namespace {

using Variables = std::map<std::string, std::string>;
using Pairs = std::vector<std::pair<std::string, std::string>>;

ResourceEnvironment Read(const Variables& variables) {
  return ReadResourceEnvironment([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::map<std::string, std::string> ResourceOf(const Variables& variables, const SessionInfo& info = TestInfo()) {
  Encoding<SpanEncoder> encoding(info, Read(variables));
  encoding.spans.AddRun(info);
  return AttributesOf(Decode(encoding.Take()).resource_spans(0).resource().attributes());
}

TEST(Resource, SaysWhoRecords) {
  SessionInfo info = TestInfo();
  info.job_id = "4711";
  info.local_rank = 1;
  info.restart_count = 2;
#if defined(__aarch64__)
  const std::string architecture = "s:arm64";
#else
  const std::string architecture = "s:amd64";
#endif
  const std::map<std::string, std::string> expected = {
      {"service.name", "s:unknown_service:python3"},
      {"process.executable.name", "s:python3"},
      {"process.pid", "i:900"},
      {"service.instance.id", "s:a86a88a1-d2ee-5639-adba-b301c0f53d3f"},
      {"host.name", "s:node-b"},
      {"host.arch", architecture},
      {"os.type", "s:linux"},
      {"telemetry.sdk.name", "s:ferret"},
      {"telemetry.sdk.language", "s:cpp"},
      {"telemetry.sdk.version", "s:" + std::string(kVersion)},
      {"ferret.run_id", "s:run1"},
      {"ferret.job_id", "s:4711"},
      {"ferret.rank", "i:3"},
      {"ferret.world_size", "i:8"},
      {"ferret.local_rank", "i:1"},
      {"ferret.restart_count", "i:2"},
      {"ferret.host", "s:node-b"},
      {"ferret.session.start_unix_nano", "i:1757000000123456789"},
  };
  EXPECT_EQ(ResourceOf({}, info), expected);
}

TEST(Resource, SaysNothingOfALocalRankOrARestartThatNoLauncherSaid) {
  const auto resource = ResourceOf({});
  EXPECT_EQ(resource.count("ferret.local_rank"), 0u);
  EXPECT_EQ(resource.count("ferret.restart_count"), 0u);
}

TEST(Resource, ServiceNameGoesBeforeTheOneAmongTheAttributes) {
  const Variables both = {{"OTEL_SERVICE_NAME", "llm"}, {"OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a"}};
  EXPECT_EQ(ResourceOf(both)["service.name"], "s:llm");
  EXPECT_EQ(ResourceOf(both)["team"], "s:a");
  EXPECT_EQ(ResourceOf({{"OTEL_RESOURCE_ATTRIBUTES", "service.name=other"}})["service.name"], "s:other");
  // Empty is as good as not set.
  EXPECT_EQ(ResourceOf({{"OTEL_SERVICE_NAME", ""}, {"OTEL_RESOURCE_ATTRIBUTES", ""}})["service.name"],
            "s:unknown_service:python3");
  // Not percent-decoded.
  EXPECT_EQ(ResourceOf({{"OTEL_SERVICE_NAME", "a%20b"}})["service.name"], "s:a%20b");
}

TEST(Resource, TheUsersAttributesGoBeforeWhatIsFoundOutButNotBeforeFerretsOwn) {
  const auto resource = ResourceOf({{"OTEL_RESOURCE_ATTRIBUTES",
                                     "host.name=public,process.executable.name=train,process.pid=1,ferret.rank=9,"
                                     "service.instance.id=mine,os.type=other,host.arch=sparc,ferret.local_rank=5,"
                                     "telemetry.sdk.name=opentelemetry,deployment.environment.name=prod"}});
  EXPECT_EQ(resource.at("host.name"), "s:public");
  EXPECT_EQ(resource.at("process.executable.name"), "s:train");
  EXPECT_EQ(resource.at("service.instance.id"), "s:mine");
  EXPECT_EQ(resource.at("os.type"), "s:other");
  EXPECT_EQ(resource.at("host.arch"), "s:sparc");
  EXPECT_EQ(resource.count("ferret.local_rank"), 0u);
  EXPECT_EQ(resource.at("process.pid"), "i:900");
  EXPECT_EQ(resource.at("ferret.rank"), "i:3");
  EXPECT_EQ(resource.at("telemetry.sdk.name"), "s:ferret");
  EXPECT_EQ(resource.at("deployment.environment.name"), "s:prod");
}

TEST(ResourceAttributes, ArePercentDecodedAndTrimmedAndTheLastOfAKeyCounts) {
  EXPECT_EQ(*ParseResourceAttributes(" a = 1 , b=x%2Cy%3dz%20,c=,a=2,d%2Ce=%E2%82%AC,"),
            (Pairs{{"b", "x,y=z "}, {"c", ""}, {"a", "2"}, {"d,e", "\xe2\x82\xac"}}));
  EXPECT_EQ(*ParseResourceAttributes("k=a=b"), (Pairs{{"k", "a=b"}}));
  EXPECT_EQ(*ParseResourceAttributes(""), Pairs());
}

TEST(ResourceAttributes, OneThatIsBadMakesAllOfThemVoidWithAWarning) {
  for (const std::string bad : {"a=1,novalue", "a=1,=x", "a=1,b=%2", "a=1,b=%zz", "a=%ff", "%=1"}) {
    EXPECT_FALSE(ParseResourceAttributes(bad).ok()) << bad;
    const ResourceEnvironment environment = Read({{"OTEL_RESOURCE_ATTRIBUTES", bad}});
    EXPECT_TRUE(environment.attributes.empty());
    ASSERT_EQ(environment.warnings.size(), 1u);
    EXPECT_EQ(environment.warnings[0].rfind("OTEL_RESOURCE_ATTRIBUTES is ignored: ", 0), 0u);
  }
  EXPECT_EQ(Read({{"OTEL_RESOURCE_ATTRIBUTES", "a=1,b\n"}}).warnings[0],
            "OTEL_RESOURCE_ATTRIBUTES is ignored: \"b\" is not key=value");
  EXPECT_EQ(Read({{"OTEL_RESOURCE_ATTRIBUTES", "a=\n%f\x01"}}).warnings[0],
            "OTEL_RESOURCE_ATTRIBUTES is ignored: \"%f\\u0001\" has a % without two hex digits behind it");
}

TEST(ResourceEnvironment, IsDisabledByTrueInAnyCaseAndByNothingElse) {
  for (const char* text : {"true", "TRUE", "True"}) EXPECT_TRUE(Read({{"OTEL_SDK_DISABLED", text}}).disabled);
  for (const char* text : {"", "false", "FALSE"}) {
    EXPECT_FALSE(Read({{"OTEL_SDK_DISABLED", text}}).disabled);
    EXPECT_TRUE(Read({{"OTEL_SDK_DISABLED", text}}).warnings.empty());
  }
  for (const char* text : {"1", "yes", "on", " true"}) {
    EXPECT_FALSE(Read({{"OTEL_SDK_DISABLED", text}}).disabled);
    EXPECT_EQ(Read({{"OTEL_SDK_DISABLED", text}}).warnings.size(), 1u);
  }
}

}  // namespace
}  // namespace ferret::otlp
