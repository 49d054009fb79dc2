// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// Random runs for other programs to read: write_requests FOLDER writes N.binpb and N.json, the same request in both forms.

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/otlp/decoded.h"
#include "tests/otlp/random_run.h"

int main(int argc, char** argv) {
  using namespace ferret::otlp;
  if (argc != 2) {
    std::fputs("usage: write_requests FOLDER\n", stderr);
    return 2;
  }
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    RandomRun run(seed);
    const std::vector<std::unique_ptr<ferret::EventBatch>> batches = run.Batches(1, 500);
    Encoding<SpanEncoder> proto;
    Encoding<JsonEncoder> json;
    proto.spans.AddRun(TestInfo());
    json.spans.AddRun(TestInfo());
    proto.AddBatch(*batches[0]);
    json.AddBatch(*batches[0]);
    const std::string path = std::string(argv[1]) + "/" + std::to_string(seed);
    std::ofstream(path + ".binpb", std::ios::binary) << proto.Take();
    std::ofstream(path + ".json", std::ios::binary) << json.Take();
  }
  return 0;
}
