// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/export/plugin_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "tests/export/fakes.h"

namespace ferret {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Path(const std::string& name) { return "tests/export/plugins/lib" + name + ".so"; }

TEST(PluginLoader, AnExporterInCGetsEverythingThatExportersGet) {
  ExporterRegistry registry;
  ASSERT_TRUE(LoadExporterPlugin(Path("journal"), registry).ok());
  const std::string file = testing::TempDir() + "/journal.txt";
  auto exporter = registry.Create({"journal", file, {{"colour", "red"}, {"size", ""}}});
  ASSERT_TRUE(exporter.ok()) << exporter.status();

  SessionInfo info;
  info.start_ns = 1700000000000000000;
  info.pid = 12;
  info.process_name = "train";
  info.host_name = "node7";
  info.has_rank = true;
  info.rank = 3;
  info.world_size = 8;
  info.job_id = "j1";
  info.options = {{"clock", "tsc"}, {"cuda", ""}};
  EXPECT_TRUE((*exporter)->Open(info).ok());

  EventBatch batch;
  FunctionEvent event;
  event.id = 1;
  event.parent_id = 2;
  event.name = std::string_view("aten::mm and more", 8);
  event.start_ns = 10;
  event.end_ns = 20;
  event.self_ns = 5;
  event.forward_id = 7;
  event.thread = 1;
  event.fwd_thread = 2;
  event.device_resource_id = 99;
  event.name_id = 4;
  event.scope = RecordScope::kBackwardFunction;
  event.device_type = DeviceType::kCuda;
  event.device_index = 6;
  event.is_async = event.is_truncated = true;
  batch.events.push_back(event);
  FunctionEvent plain;
  plain.id = 3;
  plain.sequence_nr = 41;
  plain.is_user_annotation = plain.is_synthesized = plain.is_legacy = true;
  batch.events.push_back(plain);
  batch.instants.push_back({InstantEvent::Kind::kLoss, "lost", 8, 30, 2.5, 29, 1, 99});
  batch.links.push_back({1, 2, 3, 4, 5, 6, 7});
  batch.threads.push_back(MakeThread(1, "main", 9));
  EXPECT_TRUE((*exporter)->Export(batch).ok());
  EXPECT_TRUE((*exporter)->Export(EventBatch()).ok());

  ExportProgress progress;
  progress.events_built = 100;
  progress.links_made = 1;
  progress.links_evicted = 2;
  progress.links_unmatched = 3;
  progress.remote_ends_unmatched = 9;
  progress.names_inline = 4;
  progress.clock_backward = 5;
  progress.lost[LossReason::kPoolExhausted] = 6;
  progress.lost[LossReason::kExporterFailed] = 7;
  EXPECT_TRUE((*exporter)->Flush(progress, absl::FromUnixNanos(123)).ok());
  EXPECT_TRUE((*exporter)->Close(ExportProgress(), absl::FromUnixNanos(456)).ok());
  exporter->reset();

  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(),
            "create colour=red size=\n"
            "open pid=12 start=1700000000000000000 has_rank=1 rank=3 world_size=8 process=train host=node7 backend= "
            "job=j1 option=clock value=tsc option=cuda value=\n"
            "thread 1 previous=9 os_tid=1001 name=main\n"
            "event 1 parent=2 flags=5 name=aten::mm ns=10..20 self=5 seq=-1 forward=7 thread=1 fwd_thread=2 "
            "resource=99 name_id=4 scope=1 device=1:6\n"
            "event 3 parent=0 flags=26 name= ns=0..0 self=0 seq=41 forward=0 thread=0 fwd_thread=0 resource=0 "
            "name_id=0 scope=0 device=0:0\n"
            "instant kind=2 name=lost ns=30 since=29 value=2.5 thread=1 resource=99 name_id=8\n"
            "link 1 2@4/6 -> 3@5/7\n"
            "flush deadline=123 built=100 links=1/2/3 ends=9 inline=4 backward=5 pool_exhausted=6 exporter_failed=7\n"
            "close deadline=456 built=0 links=0/0/0 ends=0 inline=0 backward=0\n"
            "destroy\n");
}

TEST(PluginLoader, ErrorsOfAnExporterInCppBecomeStatuses) {
  ExporterRegistry registry;
  ASSERT_TRUE(LoadExporterPlugin(Path("failing"), registry).ok());
  const auto create = [&registry](const char* at) { return registry.Create({"failing", "", {{"at", at}}}); };
  EXPECT_EQ(create("create").status().message(), "exporter failing: create went wrong");
  EXPECT_EQ((*create("open"))->Open(SessionInfo()).message(), "open went wrong");
  EXPECT_EQ((*create("export"))->Export(EventBatch()).message(), "export went wrong");
  EXPECT_EQ((*create("flush"))->Flush(ExportProgress(), absl::InfiniteFuture()).message(), "flush went wrong");
  EXPECT_EQ((*create("close"))->Close(ExportProgress(), absl::InfiniteFuture()).message(), "close went wrong");
  EXPECT_EQ((*create("silently"))->Open(SessionInfo()).message(), "the plug-in returned 3");
  EXPECT_EQ((*create("endlessly"))->Open(SessionInfo()).message(), std::string(511, 'x'));
  EXPECT_TRUE((*create("nowhere"))->Open(SessionInfo()).ok());
}

TEST(PluginLoader, ARefusalIsOneLineWithPathAndReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"not_there", "cannot be loaded: "},
      {"no_entry", "does not define ferret_exporter_plugin_entry"},
      {"refuses", "refuses version 1 of the exporter ABI"},
      {"other_version", "has version 2 of the exporter ABI, but this Ferret has 1"},
      {"too_small", "its struct_size is 16, but must be at least 64"},
      {"null_function", "\"close\" is null; all members are required"},
      {"bad_name", "exporter name \"Not A Name\" is not"},
  };
  for (const auto& [name, reason] : cases) {
    ExporterRegistry registry;
    const absl::Status status = LoadExporterPlugin(Path(name), registry);
    EXPECT_FALSE(status.ok()) << name;
    const std::string message(status.message());
    EXPECT_THAT(message, StartsWith("exporter plug-in " + Path(name) + ": " + reason));
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_TRUE(registry.Names().empty()) << name;
  }
}

TEST(PluginLoader, OneBadPluginDoesNotKeepTheOthersOut) {
  ExporterRegistry registry;
  const auto errors = LoadExporterPlugins(
      Path("not_there") + ":" + Path("journal") + "::" + Path("no_entry") + ":" + Path("failing") + ":", registry);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(std::string(errors[0].message()), HasSubstr(Path("not_there")));
  EXPECT_THAT(std::string(errors[1].message()), HasSubstr(Path("no_entry")));
  EXPECT_THAT(registry.Names(), testing::ElementsAre("failing", "journal"));
  EXPECT_TRUE(LoadExporterPlugins("", registry).empty());
}

TEST(PluginLoader, ANameThatIsTakenIsRefused) {
  ExporterRegistry registry;
  const auto errors = LoadExporterPlugins(Path("journal") + ":" + Path("journal"), registry);
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].message(),
            "exporter plug-in " + Path("journal") + ": there already is an exporter named \"journal\"");
}

TEST(PluginLoader, ACreateThatFailsSaysWhy) {
  ExporterRegistry registry;
  ASSERT_TRUE(LoadExporterPlugin(Path("journal"), registry).ok());
  EXPECT_EQ(registry.Create({"journal", "", {}}).status().message(), "exporter journal: needs a file as target");
}

}  // namespace
}  // namespace ferret
