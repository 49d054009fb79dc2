// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// A compact crash file says the same as the whole one. The files that this makes are the seeds of the fuzz target: after a
// change of the format copy them from the test's outputs (bazel-testlogs/…/test.outputs) to corpus/crash_file, and make
// the other ones from them (-smallest, see //bazel:fuzz.bzl). What is refused has a name that begins with damaged_.

#include "tests/fuzz/compact_crash_file.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "ferret/internal/hot_path.h"
#include "ferret/scope_details.h"
#include "tests/crash/crash_kit.h"

namespace ferret {
namespace {

using internal::CrashContents;

class CompactCrashFileOf : public CrashSessionTest {
 protected:
  // Everything that a replay of it gives, as text.
  static std::string Told(const std::string& file, std::optional<uint64_t> settled) {
    const auto contents = CrashContents::Read(file);
    if (!contents.ok()) return std::string(contents.status().message());
    std::string told = (*contents)->session();
    for (const std::string& note : (*contents)->Notes()) told += note + "\n";
    const Recovered recovered = ReplayOf(contents->get(), settled);
    // The place of each among them, not its id: ids that a replay gives away depend on the size of chunks.
    std::map<int64_t, size_t> places;
    for (const Recovered::Event& event : recovered.events) places.emplace(event.id, places.size() + 1);
    for (const Recovered::Event& event : recovered.events) {
      told += std::to_string(places[event.parent_id]) + " ";
      for (const int64_t number : {event.start_ns, event.end_ns, event.self_ns}) told += std::to_string(number) + " ";
      told += event.name + "\n";
    }
    for (const std::string& name : recovered.instants) told += name + "\n";
    for (const std::string& name : recovered.threads) told += name + "\n";
    return told + std::to_string(recovered.links.size()) + " " + std::to_string(recovered.memory.size());
  }

  // The file as it is now, made compact: it says the same, and is a seed.
  void ExpectSame(const std::string& name) {
    const std::string whole = Bytes();
    const std::string compact = fuzz::CompactCrashFile(whole);
    EXPECT_LT(compact.size(), 40'000u);
    const auto contents = CrashContents::Read(whole);
    ASSERT_TRUE(contents.ok()) << contents.status();
    EXPECT_GT((*contents)->records(), 0u);
    EXPECT_EQ(Told(whole, std::nullopt), Told(compact, std::nullopt));
    EXPECT_EQ(Told(whole, Settled(**contents)), Told(compact, Settled(**contents)));
    if (const char* const folder = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR"); folder != nullptr) {
      WriteFile(std::string(folder) + "/" + name, compact);
    }
  }
};

TEST_F(CompactCrashFileOf, EveryKindOfRecordSaysTheSame) {
  options_.record_shapes = true;
  Start();
  SetThreadName("main thread of the test");
  Scope outer("outer");
  const AsyncScope async = BeginAsync("async");
  std::thread([&] {
    { const OpScope op("forward", ForwardOp(1)); }
    { const OpScope op("backward", BackwardOp(1, ThreadId())); }
    EndAsync(async);
    const Scope scope(std::string(300, 'n'));
    internal::RecordDetails(std::string("\x01\x02\x03\x04\x05\x06\x07\x08", 8), false);
    internal::RecordMemory({64, 4096, 4096, 8192, 0, -1, false});
    Instant("instant");
    Counter("counter", 2.5);
    Step(3);
  }).join();
  ExpectSame("every_record");
}

TEST_F(CompactCrashFileOf, ScopesThatChunksLeftOpenSaysTheSame) {
  Start();
  {
    const Scope outer("outer");
    const Scope inner("inner");
    // Until there is a new chunk, so that what is open is carried out of the old one.
    while (!(*Contents()).threads().begin()->second.has_carried) {
      for (int n = 0; n < 100; ++n) { FERRET_SCOPE("child"); }
      Settle();
    }
    { FERRET_SCOPE("last"); }
    ExpectSame("carried_scopes");
  }
}

TEST_F(CompactCrashFileOf, WhatIsInTheJournalSaysTheSame) {
  Start();
  { FERRET_SCOPE("settled"); }
  Settle();
  gate_.Set(true);
  const Scope open("open");
  for (int n = 0; n < 20; ++n) { FERRET_SCOPE("exported by one"); }
  ExpectSame("journal");
}

// After a change of the format a corpus is refused at its first bytes, and fuzzing finds nothing any more.
TEST(SeedsOfTheCrashFileTarget, AreReadUnlessTheyAreMeantToBeDamaged) {
  int read = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DataFile("tests/fuzz/corpus/crash_file"))) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("damaged_", 0) == 0) continue;
    const auto contents = CrashContents::Read(ReadFile(entry.path().string()));
    EXPECT_TRUE(contents.ok()) << name << ": " << contents.status();
    ++read;
  }
  EXPECT_GE(read, 4) << "what this test makes, and what was found";
}

}  // namespace
}  // namespace ferret
