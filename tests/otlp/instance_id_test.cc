// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// SHA-1, UUIDs and instance ids against known answers: RFC 3174's, RFC 9562's, and those of Python's hashlib and uuid.

#include "exporters/otlp/resource/instance_id.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "exporters/otlp/resource/sha1.h"
#include "runtime/text/json_text.h"

namespace ferret::otlp {
namespace {

std::string Hex(const std::string& text) {
  const auto digest = Sha1(text);
  return HexText(std::string(digest.begin(), digest.end()));
}

TEST(Sha1, GivesTheKnownAnswers) {
  EXPECT_EQ(Hex("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
}

TEST(Sha1, OfTextsOnBothSidesOfABlocksEndIsRight) {
  const std::map<size_t, std::string> known = {
      {0, "da39a3ee5e6b4b0d3255bfef95601890afd80709"},   {55, "c1c8bbdc22796e28c0e15163d20899b65621d65a"},
      {56, "c2db330f6083854c99d4b5bfb6e8f29f201be699"},  {63, "03f09f5b158a7a8cdad920bddc29b81c18a551f5"},
      {64, "0098ba824b5c16427bd7a1122a5a442a25ec644d"},  {65, "11655326c708d70319be2610e8a57d9a5b959d3b"},
      {119, "ee971065aaa017e0632a8ca6c77bb3bf8b1dfc56"}, {120, "f34c1488385346a55709ba056ddd08280dd4c6d6"},
      {1000, "291e9a6c66994949b57ba5e650361e98fc36b1ba"}};
  for (const auto& [length, expected] : known) EXPECT_EQ(Hex(std::string(length, 'a')), expected) << length;
}

TEST(NameUuid, IsOfVersion5) {
  // The namespace of DNS names.
  EXPECT_EQ(NameUuid({0x6b, 0xa7, 0xb8, 0x10, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8},
                     "www.example.com"),
            "2ed6657d-e927-568b-95e1-2665a8aea6a2");
}

TEST(InstanceId, IsOfTheJobTheRankAndTheRestart) {
  SessionInfo info;
  info.has_rank = true;
  info.rank = 3;
  info.job_id = "4711";
  EXPECT_EQ(InstanceId(info, "run1"), "a38755ed-1e3b-522e-9733-189848a48269");
  info.pid = 900;
  info.host_name = "node-b";
  info.start_ns = 1;
  EXPECT_EQ(InstanceId(info, "run2"), "a38755ed-1e3b-522e-9733-189848a48269") << "of nothing else";
  info.restart_count = 2;
  EXPECT_EQ(InstanceId(info, "run1"), "80fd5747-5b69-5759-95fb-b723d0187261");
}

TEST(InstanceId, WithoutAJobIsOfTheRun) {
  SessionInfo info;
  info.has_rank = true;
  info.rank = 3;
  EXPECT_EQ(InstanceId(info, "run1"), "130be172-cd23-5bd3-b544-cc7f9913b997");
}

TEST(InstanceId, OfAForkedChildIsNotItsParents) {
  SessionInfo info;
  info.has_rank = true;
  info.rank = 3;
  info.pid = 900;
  const std::string parent = InstanceId(info, "run1");
  info.in_forked_child = true;
  const std::string child = InstanceId(info, "run1");
  EXPECT_NE(child, parent);
  info.pid = 901;
  EXPECT_NE(InstanceId(info, "run1"), child);
}

TEST(InstanceId, WithoutARankIsOfTheProcess) {
  SessionInfo info;
  info.pid = 900;
  info.host_name = "node-b";
  EXPECT_EQ(InstanceId(info, "run1"), "f4aee5bc-9c17-5cca-a6f4-6e5e930e6343");
  info.job_id = "4711";
  EXPECT_EQ(InstanceId(info, "run1"), "a86a88a1-d2ee-5639-adba-b301c0f53d3f");
}

}  // namespace
}  // namespace ferret::otlp
