// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "runtime/trace_reader/trace_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ferret {
namespace {

TraceContents Read(const std::string& text) {
  absl::StatusOr<TraceContents> trace = ReadTrace(ByteReader::OfBytes(text).get(), "t.json");
  EXPECT_TRUE(trace.ok()) << trace.status();
  return trace.ok() ? *std::move(trace) : TraceContents();
}

std::string Error(const std::string& text) {
  const absl::StatusOr<TraceContents> trace = ReadTrace(ByteReader::OfBytes(text).get(), "t.json");
  return trace.ok() ? "" : std::string(trace.status().message());
}

// One slice; times in µs.
std::string Slice(const std::string& category, const std::string& name, const std::string& times,
                  const std::string& args = "", const std::string& place = "\"pid\": 900, \"tid\": 917") {
  const size_t comma = times.find(',');
  return R"({"ph": "X", "cat": ")" + category + R"(", "name": ")" + name + R"(", )" + place + R"(, "ts": )" +
         times.substr(0, comma) + R"(, "dur": )" + times.substr(comma + 1) + R"(, "args": {)" + args + "}}";
}

std::string Document(const std::vector<std::string>& events, const std::string& header = "") {
  std::string text = "{" + header + "\"traceEvents\": [";
  for (size_t i = 0; i < events.size(); ++i) text += (i == 0 ? "\n" : ",\n") + events[i];
  return text + "]}";
}

const FunctionEvent* Find(const EventList& list, std::string_view name) {
  for (const FunctionEvent& event : list) {
    if (event.name == name) return &event;
  }
  return nullptr;
}

constexpr char kGpu[] = "\"pid\": 0, \"tid\": 7";

TEST(TraceReader, TellsCategoriesApart) {
  const TraceContents trace = Read(Document({
      Slice("cpu_op", "aten::mm", "0,100"),
      Slice("user_annotation", "step", "1,50"),
      Slice("python_function", "f.py(1): f", "2,10", R"("Python id": 5, "Python parent id": null)"),
      Slice("cuda_runtime", "cudaLaunchKernel", "3,1", R"("correlation": 1)"),
      Slice("cuda_driver", "cuLaunchKernel", "5,1", R"("correlation": 2)"),
      Slice("kernel", "gemm", "10,5", R"("device": 3, "stream": 20, "correlation": 1)", kGpu),
      Slice("gpu_memcpy", "Memcpy HtoD", "16,5", R"("correlation": 9)", kGpu),
      Slice("gpu_user_annotation", "step", "9,20", "", kGpu),
      Slice("overhead", "Buffer Flush", "30,1", "", R"("pid": -1, "tid": 0)"),
      Slice("FEE", "of another tool", "40,1"),
      Slice("cuda_sync", "Stream Sync", "41,1", R"("stream": 7)", kGpu),
      Slice("cuda_event", "cudaEvent", "41,1", R"("stream": 7)", kGpu),
      Slice("Trace", "PyTorch Profiler (0)", "0,200", "", R"("pid": "Spans", "tid": "PyTorch Profiler")"),
      Slice("cpu_op", "aten::is_leaf", "42,1"),
      Slice("cpu_op", "profiler::_record_function_enter_new", "43,1"),
  }));
  std::map<std::string, std::pair<ActivityType, DeviceType>> found;
  for (const FunctionEvent& event : trace.events) {
    if (event.device_type == DeviceType::kCuda && event.is_user_annotation) continue;
    found[std::string(event.name)] = {event.activity_type, event.device_type};
  }
  const std::map<std::string, std::pair<ActivityType, DeviceType>> expected = {
      {"aten::mm", {ActivityType::kCpuOp, DeviceType::kCpu}},
      {"step", {ActivityType::kUserAnnotation, DeviceType::kCpu}},
      {"f.py(1): f", {ActivityType::kPythonFunction, DeviceType::kCpu}},
      {"cudaLaunchKernel", {ActivityType::kCudaRuntime, DeviceType::kCpu}},
      {"cuLaunchKernel", {ActivityType::kCudaDriver, DeviceType::kCpu}},
      {"gemm", {ActivityType::kKernel, DeviceType::kCuda}},
      {"Memcpy HtoD", {ActivityType::kGpuMemcpy, DeviceType::kCuda}},
      {"Buffer Flush", {ActivityType::kOverhead, DeviceType::kCpu}},
      {"of another tool", {ActivityType::kOther, DeviceType::kCpu}},
  };
  EXPECT_EQ(found, expected);
  EXPECT_EQ(trace.events.size(), expected.size() + 1);
  const FunctionEvent& kernel = *Find(trace.events, "gemm");
  EXPECT_EQ(kernel.device_index, 3);
  EXPECT_EQ(kernel.device_resource_id, 20);
  EXPECT_EQ(kernel.use_device, DeviceType::kCuda);
  const FunctionEvent& copy = *Find(trace.events, "Memcpy HtoD");
  EXPECT_EQ(copy.device_index, 0);         // the pid
  EXPECT_EQ(copy.device_resource_id, 7);   // the tid
  const FunctionEvent& python = *Find(trace.events, "f.py(1): f");
  EXPECT_TRUE(python.is_python_function);
  EXPECT_EQ(python.details->python_id, 5);
  EXPECT_EQ(python.details->python_parent_id, -1);
}

TEST(TraceReader, KeepsTimesToTheNanosecondOfUnixTime) {
  const std::string events = Slice("cpu_op", "a", "5589164000.250,31.007");
  const std::string base = "\"baseTimeNanoseconds\": 1751410836000000000";
  for (const std::string& text : {"{" + base + ", \"traceEvents\": [" + events + "]}",
                                  "{\"traceEvents\": [" + events + "], " + base + "}"}) {
    const TraceContents trace = Read(text);
    ASSERT_EQ(trace.events.size(), 1u);
    EXPECT_EQ(trace.events[0].start_ns, 1751410836000000000 + 5589164000250);
    EXPECT_EQ(trace.events[0].duration_ns(), 31007);
    EXPECT_EQ(trace.events.start_ns(), trace.events[0].start_ns);
  }
}

TEST(TraceReader, CountsTimesFromTheProfilersSpan) {
  const TraceContents trace =
      Read(Document({Slice("cpu_op", "a", "12.5,1"), Slice("Trace", "PyTorch Profiler (0)", "10,9")}));
  EXPECT_EQ(trace.events.start_ns(), 10000);
  EXPECT_EQ(trace.events[0].time_range(trace.events.start_ns()).start, 2.5);
}

TEST(TraceReader, GivesStepsOneNameAndKeepsTheirNumber) {
  const TraceContents trace = Read(Document({Slice("user_annotation", "ProfilerStep#7", "0,1")}));
  EXPECT_EQ(trace.events[0].name, "ProfilerStep*");
  EXPECT_EQ(trace.events[0].trace_name(), "ProfilerStep#7");
  EXPECT_TRUE(trace.events[0].is_user_annotation);
  EXPECT_EQ(trace.events[0].scope, RecordScope::kUserScope);
}

TEST(TraceReader, TakesOverloadsFromNamesOfOperatorsOnly) {
  const TraceContents trace = Read(Document({
      Slice("cpu_op", "aten::add.Tensor", "0,1"),
      Slice("cpu_op", "autograd::engine::evaluate_function: X.y", "1,1"),
      Slice("cpu_op", "torch.ops", "2,1"),
      Slice("user_annotation", "aten::add.Scalar", "3,1"),
      Slice("cpu_op", "mm", "4,1", R"("Overload name": "out")"),
  }));
  EXPECT_EQ(trace.events[0].name, "aten::add");
  EXPECT_EQ(trace.events[0].overload_name(), "Tensor");
  EXPECT_EQ(trace.events[1].name, "autograd::engine::evaluate_function: X.y");
  EXPECT_EQ(trace.events[2].name, "torch.ops");
  EXPECT_EQ(trace.events[3].name, "aten::add.Scalar");
  EXPECT_EQ(trace.events[3].overload_name(), "");
  EXPECT_EQ(trace.events[4].overload_name(), "out");
}

TEST(TraceReader, GivesEveryEventAnIdOfItsOwn) {
  const TraceContents trace = Read(Document({
      Slice("cpu_op", "a", "0,1", R"("External id": 3)"),
      Slice("cpu_op", "again", "1,1", R"("External id": 3)"),
      Slice("cpu_op", "none", "2,1"),
      Slice("kernel", "k", "3,1", R"("External id": 3, "correlation": 5)", kGpu),
      Slice("cpu_op", "huge", "4,1", R"("External id": 9223372036854775807)"),
      Slice("user_annotation", "u", "5,1", R"("External id": "8")"),
  }));
  EXPECT_EQ(Find(trace.events, "a")->id, 3);
  EXPECT_EQ(Find(trace.events, "u")->id, 8);
  std::map<int64_t, int> ids;
  for (const FunctionEvent& event : trace.events) {
    EXPECT_GT(event.id, 0);
    EXPECT_EQ(++ids[event.id], 1);
  }
  EXPECT_EQ(ids.size(), 6u);
}

TEST(TraceReader, NamesThreadsAsBackwardOpsDo) {
  const std::string main = "\"pid\": 900, \"tid\": 917";
  const std::string engine = "\"pid\": 900, \"tid\": 950";
  const TraceContents trace = Read(Document({
      Slice("cpu_op", "loader", "0,1", "", "\"pid\": 900, \"tid\": 901"),
      Slice("cpu_op", "aten::mm", "0,10", R"("Sequence number": 4, "Fwd thread id": 0)", main),
      Slice("cpu_op", "autograd::engine::evaluate_function: MmBackward0", "20,10",
            R"("Sequence number": 4, "Fwd thread id": 5)", engine),
      Slice("cpu_op", "MmBackward0", "21,8", R"("Sequence number": 4, "Fwd thread id": 5)", engine),
      Slice("cpu_op", "aten::t", "22,1", R"("Call stack": "a.py(1): f;")", engine),
  }));
  EXPECT_EQ(Find(trace.events, "aten::mm")->thread, 5u);
  const FunctionEvent& backward = *Find(trace.events, "MmBackward0");
  EXPECT_EQ(backward.fwd_thread, 5u);
  EXPECT_EQ(backward.scope, RecordScope::kBackwardFunction);
  EXPECT_EQ(backward.cpu_parent->scope, RecordScope::kFunction);
  EXPECT_NE(backward.thread, 5u);
  EXPECT_NE(backward.thread, Find(trace.events, "loader")->thread);
  EXPECT_EQ(Find(trace.events, "aten::mm")->fwd_thread, 0u);
  EXPECT_EQ(Find(trace.events, "aten::t")->sequence_nr, -1);
}

TEST(TraceReader, TakesArgsForWhatTheyMean) {
  const TraceContents trace = Read(Document({Slice(
      "cpu_op", "aten::conv2d", "0,10",
      R"("Input type": ["float", "TensorList", "Scalar", "ScalarList", "", ""],
         "Input Dims": [[2, 3], [[4], []], [], [], [], []], "Input Strides": [[3, 1], [[1], []], [], [], [], []],
         "Concrete Inputs": ["", "", "0.5", "[1, 2]", "mean", ""],
         "Call stack": "a.py(3): f;torch/autograd/__init__.py(9): backward;b.py(1): <module>;",
         "Module Hierarchy": "top.linear", "grid": [2, 1, 1], "mode": {"a": [true]}, "x": 1.5, "Ev Idx": 9,
         "Record function id": 0)")}));
  const FunctionEvent& event = trace.events[0];
  EXPECT_EQ(event.input_dtypes(), (std::vector<std::string>{"float", "TensorList", "Scalar", "ScalarList", "", ""}));
  EXPECT_EQ(event.input_shapes()[0], (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(event.structured_input_shapes()[1].dims, (std::vector<std::vector<int64_t>>{{4}, {}}));
  EXPECT_EQ(event.structured_input_strides()[0].dims[0], (std::vector<int64_t>{3, 1}));
  const std::vector<Value> concrete = event.concrete_inputs();
  ASSERT_EQ(concrete.size(), 6u);
  EXPECT_EQ(concrete[2], Value(0.5));
  EXPECT_EQ(concrete[3], Value(std::vector<int64_t>{1, 2}));
  EXPECT_EQ(concrete[4], Value(std::string("mean")));
  EXPECT_EQ(concrete[5], Value());
  EXPECT_EQ(event.stack(), (std::vector<std::string>{"a.py(3): f", "b.py(1): <module>"}));
  EXPECT_EQ(event.module_hierarchy(), "top.linear");
  const std::map<std::string, Value> metadata = event.metadata();
  EXPECT_EQ(metadata.at("grid"), Value(std::vector<int64_t>{2, 1, 1}));
  EXPECT_EQ(metadata.at("mode"), Value(std::string(R"({"a":[true]})")));
  EXPECT_EQ(metadata.at("x"), Value(1.5));
  EXPECT_EQ(metadata.count("Record function id"), 0u);
}

TEST(TraceReader, LeavesUnknownWhatArgsSayInAnotherForm) {
  const TraceContents trace = Read(Document({
      Slice("cpu_op", "a", "0,10",
            R"("Input type": 7, "Input Dims": [[1, "x"], "y", {"z": [2]}, [1.5]], "Concrete Inputs": {},
               "Call stack": [],
               "Sequence number": "many", "Fwd thread id": -1, "Module Hierarchy": null, "External id": [])"),
  }));
  const FunctionEvent& event = trace.events[0];
  EXPECT_EQ(event.inputs().size(), 4u);
  for (const std::vector<int64_t>& shape : event.input_shapes()) EXPECT_TRUE(shape.empty());
  EXPECT_EQ(event.sequence_nr, -1);
  EXPECT_TRUE(event.stack().empty());
}

TEST(TraceReader, JoinsAsynchronousPairs) {
  const auto half = [](const std::string& phase, const std::string& id, const std::string& ts,
                       const std::string& args) {
    return R"({"ph": ")" + phase + R"(", "cat": "cpu_op", "name": "rpc", "pid": 9, "tid": 9, "id": )" + id +
           R"(, "ts": )" + ts + R"(, "args": {)" + args + "}}";
  };
  const TraceContents trace = Read(Document({
      half("b", "1", "10", R"("External id": 1)"),
      half("b", "2", "11", ""),
      half("e", "1", "15.5", ""),
      half("e", "7", "16", ""),
      half("b", "3", "20", ""),
      half("e", "3", "19", ""),
  }));
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_TRUE(trace.events[0].is_async);
  EXPECT_EQ(trace.events[0].duration_ns(), 5500);
  EXPECT_EQ(trace.events[0].id, 1);
  ASSERT_EQ(trace.warnings.size(), 1u);
  EXPECT_EQ(trace.warnings[0], "t.json: 4 events without a usable start or end left out");
}

// Two threads: torch.profiler gives an operator what was allocated on any thread while it ran.
TEST(TraceReader, GivesMemoryToAllThreadsOrInTracesOfFerretsToTheThreadsOwn) {
  const auto memory = [](const std::string& ts, const std::string& bytes, const std::string& tid, int device) {
    return R"({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 900, "tid": )" + tid +
           R"(, "ts": )" + ts + R"(, "args": {"Bytes": )" + bytes + R"(, "Device Type": )" + std::to_string(device) +
           R"(, "Device Id": -1, "Addr": 1}})";
  };
  const std::vector<std::string> events = {
      Slice("cpu_op", "a", "0,10"), Slice("cpu_op", "inner", "2,2"), memory("1", "100", "917", 0),
      memory("3", "-40", "917", 0), memory("5", "7", "999", 0),      memory("6", "1000", "917", 1),
      memory("20", "5", "917", 0),
  };
  const TraceContents torch = Read(Document(events));
  EXPECT_EQ(Find(torch.events, "a")->cpu_memory_usage(), 67);
  EXPECT_EQ(Find(torch.events, "a")->self_cpu_memory_usage(), 107);
  EXPECT_EQ(Find(torch.events, "inner")->cpu_memory_usage(), -40);
  EXPECT_EQ(Find(torch.events, "a")->device_memory_usage(), 1000);
  ASSERT_NE(Find(torch.events, "[memory]"), nullptr);
  EXPECT_EQ(Find(torch.events, "[memory]")->cpu_memory_usage(), 5);
  EXPECT_TRUE(torch.events.config().profile_memory);

  const TraceContents own = Read(Document(events, R"("ferret_pid": 900, )"));
  EXPECT_EQ(Find(own.events, "a")->cpu_memory_usage(), 60);
}

TEST(TraceReader, CountsFlopsWhereTheTraceSaysSo) {
  const std::string mm =
      Slice("cpu_op", "aten::mm", "0,1", R"("Input type": ["float", "float"], "Input Dims": [[2, 3], [3, 4]])");
  EXPECT_EQ(Read(Document({mm})).events[0].flops(), 0);
  EXPECT_EQ(Read(Document({mm}, "\"with_flops\": 1, ")).events[0].flops(), 48);
  EXPECT_EQ(Read(Document({Slice("cpu_op", "own", "0,1", "\"Flops\": 5")})).events[0].flops(), 5);
}

TEST(TraceReader, LeavesOutAndCountsWhatHasNoTimes) {
  const TraceContents trace = Read(R"([{"ph": "X", "name": "a", "ts": 1}, {"ph": "X", "name": "b", "dur": 1},
      {"ph": "X", "name": "c", "ts": NaN, "dur": 1}, {"ph": "X", "name": "d", "ts": 1, "dur": -1},
      {"ph": "X", "name": "e", "ts": 1, "dur": 0}, {"ph": "B", "name": "f", "ts": 1}, {"name": "g"}])");
  ASSERT_EQ(trace.events.size(), 1u);
  EXPECT_EQ(trace.events[0].name, "e");
  ASSERT_EQ(trace.warnings.size(), 2u);
  EXPECT_EQ(trace.warnings[0], "t.json: 1 begins and ends of slices (ph B and E) left out");
  EXPECT_EQ(trace.warnings[1], "t.json: 4 events without a usable start or end left out");
}

TEST(TraceReader, RefusesTimesThatCannotBeAddedUp) {
  EXPECT_NE(Error(Document({Slice("cpu_op", "a", "9000000000000000,1")})).find("t.json: line 2"), std::string::npos);
  EXPECT_NE(Error(Document({Slice("cpu_op", "a", "-9000000000000000,1")})).find("\"ts\" of the event"),
            std::string::npos);
  const std::string years_30 = "0,946080000000000";
  EXPECT_EQ(Error(Document({Slice("cpu_op", "a", years_30)})), "");
  EXPECT_NE(Error(Document({Slice("cpu_op", "a", years_30), Slice("cpu_op", "b", years_30)}))
                .find("line 3, byte"), std::string::npos);
  const std::string far_base = R"("baseTimeNanoseconds": 9000000000000000000, )";
  EXPECT_NE(Error(Document({Slice("cpu_op", "a", "4000000000000000,1")}, far_base))
                .find("\"baseTimeNanoseconds\" is beyond"),
            std::string::npos);
}

TEST(TraceReader, SaysWhichFileCannotBeOpened) {
  EXPECT_EQ(ReadTrace("/nowhere/trace.json").status().message(), "/nowhere/trace.json: No such file or directory");
}

constexpr char kFerrets[] = "\"ferret_pid\": 900, ";

TEST(TraceReader, APairThatFerretTimedAroundOthersIsTheDeviceTimeOfItsScope) {
  const TraceContents trace = Read(Document(
      {
          Slice("cpu_op", "inner", "10,20", R"("External id": 2)"),
          Slice("cpu_op", "layer", "0,100", R"("External id": 1, "ferret_legacy": 1)"),
          Slice("user_annotation", "step", "0,100", R"("External id": 3, "ferret_legacy": 1)"),
          Slice("cuda_runtime", "cudaLaunchKernel", "11,18", R"("External id": 2, "cbid": 211, "correlation": 4)"),
          Slice("kernel", "inner", "200,30",
                R"("External id": 2, "device": 0, "stream": 7, "correlation": 4, "clock_error_ns": 250)",
                R"("pid": 0, "tid": 4194311)"),
          Slice("gpu_user_annotation", "layer", "150,400", R"("External id": 1, "on stream": 8, "ferret_legacy": 1)",
                R"("pid": 0, "tid": 4194312)"),
          Slice("gpu_user_annotation", "step", "140,500", R"("External id": 3, "on stream": 7, "ferret_legacy": 1)",
                kGpu),
      },
      kFerrets));
  const EventList& list = trace.events;
  EXPECT_EQ(trace.kernels_linked, 3u);
  EXPECT_EQ(Find(list, "cudaLaunchKernel"), nullptr) << "it is the scope that was timed";
  for (const FunctionEvent& event : list) {
    if (event.name == "inner" && event.device_type == DeviceType::kCuda) {
      EXPECT_EQ(event.device_resource_id, 7) << "the stream, not its track";
      EXPECT_EQ(event.metadata().at("clock_error_ns"), Value(int64_t{250}));
    }
    if (event.name == "layer") {
      EXPECT_TRUE(event.is_legacy);
      EXPECT_EQ(event.device_time_total_ns(), 400'000);
      EXPECT_EQ(event.metadata().count("ferret_legacy"), 0u);
      EXPECT_EQ(event.device_resource_id, event.device_type == DeviceType::kCuda ? 8 : 917);
    }
    if (event.name == "step") {
      EXPECT_EQ(event.device_time_total_ns(), 500'000);
    }
  }
}

TEST(TraceReader, FerretsDrawnAnnotationsAreAsLongAsWhatIsInside) {
  const std::vector<std::string> events = {
      Slice("user_annotation", "step", "0,100", R"("External id": 3)"),
      Slice("gpu_user_annotation", "step", "199.999,30.002", R"("External id": 3, "on stream": 7)", kGpu),
  };
  for (const bool is_ferrets : {true, false}) {
    const TraceContents trace = Read(Document(events, is_ferrets ? kFerrets : ""));
    ASSERT_EQ(trace.events.size(), 2u);
    EXPECT_EQ(trace.events[1].duration_ns(), is_ferrets ? 30'000 : 30'002);
    EXPECT_EQ(trace.events[0].device_time_total_ns(), 0);
  }
}

}  // namespace
}  // namespace ferret
