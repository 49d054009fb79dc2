// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tools/otlp_replay.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporters/otlp/delivery/delivery.h"
#include "exporters/otlp/delivery/delivery_report.h"
#include "tools/otlp_replay_arguments.h"
#include "tools/replay_source.h"
#include "tools/run.h"
#include "tools/say.h"

namespace ferret {
namespace {

using otlp::Amount;
using otlp::Delivery;
using otlp::Form;
using otlp::GroupedDigits;
using otlp::RequestLoss;
using otlp::SignalCounts;
using otlp::SpilledRequest;

constexpr int kSomethingLeft = 1;

// Of one file, or of all.
struct Sum {
  Amount delivered;
  uint64_t rejected = 0;  // items of delivered requests
  Amount left;

  void operator+=(const Sum& other) {
    delivered += other.delivered;
    rejected += other.rejected;
    left += other.left;
  }
};

std::string Items(uint64_t count) { return absl::StrCat(GroupedDigits(count), count == 1 ? " item" : " items"); }

std::string Text(const Amount& amount) {
  return absl::StrCat(GroupedDigits(amount.requests), amount.requests == 1 ? " request (" : " requests (",
                      Items(amount.items), ")");
}

void PrintSum(const std::string& what, const Sum& sum) {
  const std::string line = absl::StrCat(what, ": ", Text(sum.delivered), " delivered, ", Items(sum.rejected),
                                        " rejected, ", Text(sum.left), " left\n");
  std::fwrite(line.data(), 1, line.size(), stdout);
}

class Replay {
 public:
  Replay(std::unique_ptr<otlp::Transport> transport, const otlp::DeliveryOptions& options, RunnerClock* clock)
      : form_(transport->form()), clock_(clock), delivery_(std::move(transport), options) {}

  // False if not everything in the file was delivered.
  bool File(const std::string& path, bool remove) {
    absl::StatusOr<std::unique_ptr<ReplaySource>> source = ReplaySource::Open(path, remove);
    if (!source.ok()) {
      Say(absl::StrCat(path, ": ", std::string(source.status().message())));
      return false;
    }
    Sum sum;
    bool other_form = false;
    absl::Status removed;
    while (std::optional<SpilledRequest> request = (*source)->Next()) {
      const bool fits = request->form == form_;
      other_form = other_form || !fits;
      if (away_ || !fits || !Deliver(*std::move(request), &sum)) {
        sum.left += {request->items, 1};
      } else if (const absl::Status status = (*source)->Remove(); !status.ok()) {
        removed = status;
      }
    }
    if ((*source)->damaged() > 0) Say(absl::StrCat(path, ": ", (*source)->damage()));
    if (other_form) {
      const bool json = form_ == Form::kJson;
      Say(absl::StrCat(path, ": has requests that only ",
                       json ? "--protocol http/protobuf or grpc can send" : "--protocol http/json can send"));
    }
    const bool all = sum.left.requests == 0 && (*source)->damaged() == 0;
    if (all && removed.ok()) removed = (*source)->RemoveFile();
    if (!removed.ok()) Say(absl::StrCat(path, ": ", std::string(removed.message())));
    PrintSum(path, sum);
    all_ += sum;
    return all && sum.rejected == 0;
  }

  void Close() { delivery_.Close(clock_->After(absl::Seconds(2))); }
  const Sum& all() const { return all_; }

 private:
  // Whether the receiver took it. One at a time, so that what became of each is seen in the counts.
  bool Deliver(SpilledRequest&& request, Sum* sum) {
    const otlp::Signal signal = request.signal;
    const SignalCounts before = delivery_.counts()[signal];
    delivery_.Push(signal, std::move(request.body), request.items);
    const absl::Status flushed = delivery_.Flush(clock_->After(absl::InfiniteDuration()));
    const SignalCounts after = delivery_.counts()[signal];
    const uint64_t lost = after.all_lost().requests - before.all_lost().requests;
    // A receiver that does not take anything now would have to be waited for with each request.
    away_ = !flushed.ok() || after[RequestLoss::kTimeout].requests > before[RequestLoss::kTimeout].requests;
    if (!flushed.ok() || lost > 0) return false;
    sum->delivered += {after.delivered.items - before.delivered.items, 1};
    sum->rejected += after.rejected.items - before.rejected.items;
    return true;
  }

  const Form form_;
  RunnerClock* const clock_;
  Delivery delivery_;
  Sum all_;
  bool away_ = false;
};

}  // namespace

const char kOtlpReplayUsage[] =
    "usage: ferret otlp-replay [OPTION]... FILE...\n"
    "\n"
    "Sends to an OTLP receiver what Ferret could not deliver and kept (*.otlpspill), and what\n"
    "FERRET_EXPORT=otlp_file wrote (*.jsonl, *.jsonl.gz; with --protocol http/json only). Where the\n"
    "receiver is, and how it is reached, the OTEL_EXPORTER_OTLP_* variables say too.\n"
    "\n"
    "  --endpoint URL        the receiver\n"
    "  --protocol PROTOCOL   http/protobuf, http/json or grpc\n"
    "  --remove              takes what was delivered out of files of kept requests, and removes\n"
    "                        those of which nothing is left\n"
    "\n"
    "Ends with 0 only if everything was delivered, with 1 if something was rejected, is left or\n"
    "cannot be read. Files of a process that is still running are left alone: it sends them itself.\n";

int OtlpReplay(char** arguments, const MakeReplayTransport& make_transport, otlp::DeliveryOptions options) {
  const absl::StatusOr<OtlpReplayRequest> request = ParseOtlpReplayArguments(arguments);
  if (!request.ok()) {
    Say(std::string(request.status().message()));
    std::fputs(kOtlpReplayUsage, stderr);
    return kOwnFailure;
  }
  if (request->help) {
    std::fputs(kOtlpReplayUsage, stdout);
    return 0;
  }
  absl::StatusOr<std::unique_ptr<otlp::Transport>> transport =
      make_transport(request->endpoint, request->protocol, &options);
  if (!transport.ok()) {
    Say(std::string(transport.status().message()));
    return kOwnFailure;
  }
  options.spill_directory.clear();  // what is not delivered is in a file already
  static RunnerClock* const real = new RunnerClock;  // leaked: a thread that is left behind may read it
  if (options.clock == nullptr) options.clock = real;
  Replay replay(*std::move(transport), options, options.clock);
  bool all = true;
  for (const std::string& file : request->files) all = replay.File(file, request->remove) && all;
  replay.Close();
  if (request->files.size() > 1) PrintSum("all", replay.all());
  return std::fflush(stdout) == 0 && all ? 0 : kSomethingLeft;
}

}  // namespace ferret
