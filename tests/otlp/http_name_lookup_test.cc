// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Names that cannot be looked up, and lookups that hang: getaddrinfo is this program's own.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "tests/otlp/http_sending.h"

namespace {

struct Lookups {
  std::mutex mutex;
  std::condition_variable changed;
  int begun = 0;
  int ended = 0;
  bool answer = false;
};

// Never destroyed: threads that hang may outlive the tests.
Lookups& HangingLookups() {
  static auto* const lookups = new Lookups;
  return *lookups;
}

}  // namespace

// Found before glibc's, since a program's own symbols are. "hanging.invalid" hangs until it may answer, other names under
// .invalid are unknown, and all the rest is as ever.
extern "C" __attribute__((visibility("default"))) int getaddrinfo(const char* name, const char* service,
                                                                  const addrinfo* hints, addrinfo** result) {
  if (name != nullptr && std::strcmp(name, "hanging.invalid") == 0) {
    Lookups& lookups = HangingLookups();
    std::unique_lock lock(lookups.mutex);
    ++lookups.begun;
    lookups.changed.notify_all();
    lookups.changed.wait(lock, [&] { return lookups.answer; });
    ++lookups.ended;
    lookups.changed.notify_all();
    return EAI_NONAME;
  }
  if (name != nullptr && std::strstr(name, ".invalid") != nullptr) return EAI_NONAME;
  using Function = int(const char*, const char*, const addrinfo*, addrinfo**);
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, "getaddrinfo"))(name, service, hints, result);
}

namespace ferret::otlp {
namespace {

HttpTransport::Signals To(const std::string& host) {
  HttpTransport::Signals signals;
  signals[0].url = "http://" + host + ":4318/v1/traces";
  signals[1].enabled = false;
  return signals;
}

void WaitForLookups(int begun) {
  Lookups& lookups = HangingLookups();
  std::unique_lock lock(lookups.mutex);
  lookups.changed.wait(lock, [&] { return lookups.begun >= begun; });
}

TEST(HttpNameLookupTest, TriesAgainForANameThatIsNotThereYet) {
  const SendOutcome outcome = Make(To("collector.invalid"))->Send(Signal::kTraces, "body", Soon());
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_NE(outcome.message.find("collector.invalid"), std::string::npos) << outcome.message;
}

TEST(HttpNameLookupTest, LeavesALookupThatHangsToItself) {
  auto transport = Make(To("hanging.invalid"));
  // By the deadline.
  SendOutcome outcome = transport->Send(Signal::kTraces, "body", In(std::chrono::milliseconds(50)));
  EXPECT_EQ(outcome.kind, Kind::kRetryable);
  EXPECT_EQ(outcome.message, "no reply in time");
  WaitForLookups(1);
  // By Cancel.
  std::thread sender([&] { outcome = transport->Send(Signal::kTraces, "body", In(std::chrono::hours(1))); });
  WaitForLookups(2);
  transport->Cancel();
  sender.join();
  EXPECT_EQ(outcome.message, "cancelled");
  // And it does not hold up the end, with what it knows of the transport gone when it answers.
  transport.reset();
  Lookups& lookups = HangingLookups();
  std::unique_lock lock(lookups.mutex);
  EXPECT_EQ(lookups.ended, 0);
  lookups.answer = true;
  lookups.changed.notify_all();
  lookups.changed.wait(lock, [&] { return lookups.ended == lookups.begun; });
}

}  // namespace
}  // namespace ferret::otlp
