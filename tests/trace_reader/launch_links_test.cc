// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/trace_reader/trace_reader.h"

namespace ferret {
namespace {

// An operator `outer` with id 1 from 0 to 100 µs, in it `inner` with id 2 from 10 to 50; on another thread `far` with
// id 3 from 0 to 200; later `late` with id 4 from 300 to 310.
constexpr char kOps[] =
    R"({"ph": "X", "cat": "cpu_op", "name": "outer", "pid": 1, "tid": 10, "ts": 0, "dur": 100, "args": {"External id": 1}},
       {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 10, "ts": 10, "dur": 40, "args": {"External id": 2}},
       {"ph": "X", "cat": "cpu_op", "name": "far", "pid": 1, "tid": 20, "ts": 0, "dur": 200, "args": {"External id": 3}},
       {"ph": "X", "cat": "cpu_op", "name": "late", "pid": 1, "tid": 10, "ts": 300, "dur": 10, "args": {"External id": 4}})";

std::string Launch(const std::string& ts, const std::string& args, const std::string& tid = "10") {
  return R"(, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": )" + tid + R"(, "ts": )" + ts +
         R"(, "dur": 2, "args": {)" + args + "}}";
}

std::string Kernel(const std::string& args, const std::string& ts = "400") {
  return R"(, {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": )" + ts + R"(, "dur": 5, "args": {)" +
         args + "}}";
}

// {operator: nanoseconds of its own device time}, and how many kernels have none.
struct Linked {
  std::map<std::string, int64_t> time;
  uint64_t alone = 0;
  bool operator==(const Linked& other) const { return time == other.time && alone == other.alone; }
};
std::ostream& operator<<(std::ostream& out, const Linked& linked) {
  for (const auto& [name, time] : linked.time) out << name << ": " << time << ", ";
  return out << linked.alone << " alone";
}

Linked Links(const std::string& more) {
  const std::string text = "[" + std::string(kOps) + more + "]";
  const absl::StatusOr<TraceContents> trace = ReadTrace(ByteReader::OfBytes(text).get(), "t.json");
  EXPECT_TRUE(trace.ok()) << trace.status();
  Linked linked;
  if (!trace.ok()) return linked;
  for (const FunctionEvent& event : trace->events) {
    if (event.device_type != DeviceType::kCpu || event.self_device_time_total_ns() == 0) continue;
    linked.time[std::string(event.name)] = event.self_device_time_total_ns();
  }
  linked.alone = trace->kernels_alone;
  return linked;
}

TEST(LaunchLinks, GoByTheIdOfTheOperator) {
  EXPECT_EQ(Links(Launch("20", R"("External id": 1, "correlation": 70)") + Kernel(R"("External id": 1, "correlation": 70)")),
            (Linked{{{"outer", 5000}}, 0}));
  EXPECT_EQ(Links(Kernel(R"("External id": 2)")), (Linked{{{"inner", 5000}}, 0})) << "a trace without calls of the runtime";
  EXPECT_EQ(Links(Launch("250", R"("External id": 0, "correlation": 70)", "10") +
                  Kernel(R"("External id": 2, "correlation": 71)")),
            (Linked{{{"inner", 5000}}, 0}));
}

TEST(LaunchLinks, GoByTheTimeOfTheLaunchWhereThereIsNoId) {
  EXPECT_EQ(Links(Launch("20", R"("correlation": 70)") + Kernel(R"("correlation": 70)")), (Linked{{{"inner", 5000}}, 0}));
  EXPECT_EQ(Links(Launch("60", R"("correlation": 70)") + Kernel(R"("correlation": 70)")), (Linked{{{"outer", 5000}}, 0}));
  EXPECT_EQ(Links(Launch("150", R"("correlation": 70)", "20") + Kernel(R"("correlation": 70)")),
            (Linked{{{"far", 5000}}, 0}));
  EXPECT_EQ(Links(Launch("150", R"("correlation": 70)") + Kernel(R"("correlation": 70)")), (Linked{{}, 1}));
  EXPECT_EQ(Links(Launch("10", R"("correlation": 70)") + Kernel(R"("correlation": 70)")), (Linked{{{"inner", 5000}}, 0}))
      << "a launch as its operator begins";
}

TEST(LaunchLinks, DoNotBelieveAnIdOfAnOperatorOfAnotherTime) {
  // Both ids are the correlation, as some versions of Kineto have it, and happen to be the id of a later operator.
  EXPECT_EQ(Links(Launch("20", R"("External id": 4, "correlation": 4)") + Kernel(R"("External id": 4, "correlation": 4)")),
            (Linked{{{"inner", 5000}}, 0}));
  EXPECT_EQ(Links(Kernel(R"("External id": 4, "correlation": 4)")), (Linked{{}, 1}));
  EXPECT_EQ(Links(Kernel(R"("External id": 4)", "200")), (Linked{{}, 1})) << "a kernel before its operator";
}

TEST(LaunchLinks, GiveAllKernelsOfOneLaunchToItsOperator) {
  const std::string kernel = Kernel(R"("correlation": 70, "graph id": 1)");
  EXPECT_EQ(Links(Launch("20", R"("External id": 2, "correlation": 70)") + kernel + kernel + kernel),
            (Linked{{{"inner", 15000}}, 0}));
}

TEST(LaunchLinks, GiveNothingToAnnotationsAndNothingForThem) {
  const std::string annotations =
      R"(, {"ph": "X", "cat": "user_annotation", "name": "span", "pid": 1, "tid": 10, "ts": 5, "dur": 60, "args": {"External id": 9}},
         {"ph": "X", "cat": "gpu_user_annotation", "name": "span", "pid": 0, "tid": 7, "ts": 390, "dur": 50, "args": {"External id": 9}})";
  EXPECT_EQ(Links(annotations + Launch("55", R"("correlation": 70)") + Kernel(R"("correlation": 70)")),
            (Linked{{{"outer", 5000}}, 0}));
}

TEST(LaunchLinks, PutALaunchOnTheThreadOfItsOperator) {
  const std::string text = "[" + std::string(kOps) +
                           Launch("150", R"("External id": 3, "correlation": 70)", "999") + Kernel(R"("correlation": 70)") + "]";
  const absl::StatusOr<TraceContents> trace = ReadTrace(ByteReader::OfBytes(text).get(), "t.json");
  ASSERT_TRUE(trace.ok()) << trace.status();
  uint32_t far = 0;
  for (const FunctionEvent& event : trace->events) {
    if (event.name == "far") far = event.thread;
  }
  int seen = 0;
  for (const FunctionEvent& event : trace->events) {
    if (event.name == "cudaLaunchKernel") {
      ++seen;
      EXPECT_EQ(event.thread, far);
      ASSERT_NE(event.cpu_parent, nullptr);
      EXPECT_EQ(event.cpu_parent->name, "far");
      EXPECT_EQ(event.details->linked_correlation_id, 3);
    }
    if (event.name == "k") {
      ++seen;
      EXPECT_EQ(event.thread, far);
      EXPECT_EQ(event.details->linked_correlation_id, 3);
    }
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace ferret
