// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// libferret_otlp_grpc.so: already encoded bytes, sent by Debian's gRPC. Knows nothing of OTLP and nothing of protobuf.

#include "exporters/otlp/grpc/grpc_plugin.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/channel_arguments.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/environment/process_environment.h"

struct ferret_otlp_grpc_handle {
  explicit ferret_otlp_grpc_handle(const std::shared_ptr<grpc::Channel>& channel) : stub(channel) {}

  grpc::GenericStub stub;
  grpc::CompletionQueue queue;
  std::vector<std::pair<std::string, std::string>> headers;
  bool gzip = false;

  std::mutex mutex;
  bool cancelled = false;
  grpc::ClientContext* running = nullptr;  // of the call that cancel has to end

  // What the last outcome points to.
  std::string message;
  std::string details;
  std::string reply;
};

namespace {

// The answer to an export is a few bytes. No round number, so that gRPC's text about a reply that is too large, which
// names the limit, cannot be taken for a receiver's about a request: both have the same code.
constexpr int kMostReplyBytes = (4 << 20) + 7;

// Set once static destructors have begun. This library's come before those of the libraries that it needs.
std::atomic<bool> g_exiting{false};

ferret_otlp_grpc_bytes Bytes(const std::string& text) { return {text.data(), text.size()}; }
std::string Text(const ferret_otlp_grpc_bytes& bytes) {
  return bytes.size == 0 ? std::string() : std::string(bytes.data, bytes.size);
}

// gRPC stays initialised from the first channel on: its shutdown may run on a thread of its own, beside what comes next.
void InitializeOnce(bool quiet) {
  static const bool initialized = [quiet] {
    // What is wrong with a connection is in the outcome of its calls; gRPC says it again at each attempt.
    if (quiet && ferret::EnvironmentVariable("GRPC_VERBOSITY") == nullptr) gpr_set_log_function([](gpr_log_func_args*) {});
    grpc_init();
    std::atexit([] { g_exiting.store(true, std::memory_order_relaxed); });
    return true;
  }();
  (void)initialized;
}

grpc::ChannelArguments Arguments(const ferret_otlp_grpc_config& config) {
  grpc::ChannelArguments arguments;
  arguments.SetUserAgentPrefix(Text(config.user_agent));
  arguments.SetMaxReceiveMessageSize(kMostReplyBytes);
  arguments.SetMaxSendMessageSize(-1);
  // A receiver that comes back is found again soon. Between attempts calls fail at once, and the caller waits.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  // Mostly for what comes along with it: a connection that no longer acknowledges what is sent is given up after the
  // keepalive's timeout. Receivers hang up on clients that ping more often than every five minutes, or without calls.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 6 * 60 * 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10 * 1000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // When to try again is the caller's business, and so is every other setting of a service.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Closed with its channel, also where the host has gRPC too.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!ferret::EnvironmentCounts()) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

ferret_otlp_grpc_handle* Open(const ferret_otlp_grpc_config* config, char* error, size_t error_size) {
  try {
    InitializeOnce(config->quiet != 0);
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    if (config->tls) {
      grpc::SslCredentialsOptions options;
      options.pem_root_certs = Text(config->ca);
      options.pem_private_key = Text(config->client_key);
      options.pem_cert_chain = Text(config->client_certificate);
      credentials = grpc::SslCredentials(options);
    } else {
      credentials = grpc::InsecureChannelCredentials();
    }
    const std::shared_ptr<grpc::Channel> channel =
        grpc::CreateCustomChannel(Text(config->target), credentials, Arguments(*config));
    // A new channel has not failed yet, unless gRPC made it for a target that it does not understand.
    if (channel->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
      std::snprintf(error, error_size, "the endpoint is none that gRPC can connect to");
      return nullptr;
    }
    auto handle = std::make_unique<ferret_otlp_grpc_handle>(channel);
    for (size_t i = 0; i < config->header_count; ++i) {
      handle->headers.emplace_back(Text(config->headers[i].key), Text(config->headers[i].value));
    }
    handle->gzip = config->gzip != 0;
    return handle.release();
  } catch (const std::exception& exception) {
    std::snprintf(error, error_size, "%s", exception.what());
  } catch (...) {
    std::snprintf(error, error_size, "unknown exception");
  }
  return nullptr;
}

std::string Joined(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// While it lives, Cancel reaches the call of this context.
class Running {
 public:
  Running(ferret_otlp_grpc_handle* handle, grpc::ClientContext* context) : handle_(handle) {
    std::lock_guard<std::mutex> lock(handle_->mutex);
    cancelled_ = handle_->cancelled;
    handle_->running = context;
  }
  ~Running() {
    std::lock_guard<std::mutex> lock(handle_->mutex);
    handle_->running = nullptr;
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  // Before it was made.
  bool cancelled() const { return cancelled_; }

 private:
  ferret_otlp_grpc_handle* const handle_;
  bool cancelled_ = false;
};

grpc::Status Call(ferret_otlp_grpc_handle* handle, const char* method, const ferret_otlp_grpc_bytes& request,
                  int64_t timeout_ns, grpc::ByteBuffer* reply) {
  grpc::ClientContext context;
  for (const auto& [key, value] : handle->headers) context.AddMetadata(key, value);
  if (handle->gzip) context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  // By the monotonic clock: a step of the wall clock does not move a deadline.
  if (timeout_ns >= 0) {
    context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(timeout_ns, GPR_TIMESPAN)));
  }
  // A copy: gRPC may hold the bytes of a call that was cancelled for longer than the call.
  const grpc::Slice slice(request.data, request.size);
  const grpc::ByteBuffer body(&slice, 1);
  // Before the call starts: a context remembers that it was cancelled.
  const Running running(handle, &context);
  if (running.cancelled()) return grpc::Status(grpc::StatusCode::CANCELLED, "cancelled");
  grpc::Status status;
  const auto reader = handle->stub.PrepareUnaryCall(&context, method, body, &handle->queue);
  reader->StartCall();
  reader->Finish(reply, &status, &context);
  void* tag = nullptr;
  bool ok = false;
  // One call at a time: what comes is this one's end.
  handle->queue.Next(&tag, &ok);
  return status;
}

void Send(ferret_otlp_grpc_handle* handle, const char* method, ferret_otlp_grpc_bytes request, int64_t timeout_ns,
          ferret_otlp_grpc_outcome* outcome) {
  *outcome = {};
  try {
    grpc::ByteBuffer reply;
    const grpc::Status status = Call(handle, method, request, timeout_ns, &reply);
    handle->message = status.error_message();
    handle->details = status.error_details();
    handle->reply = status.ok() ? Joined(reply) : std::string();
    outcome->code = static_cast<int32_t>(status.error_code());
    outcome->reply_too_large = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED &&
                               handle->message.find("vs. " + std::to_string(kMostReplyBytes)) != std::string::npos;
    outcome->message = Bytes(handle->message);
    outcome->details = Bytes(handle->details);
    outcome->reply = Bytes(handle->reply);
  } catch (...) {
    static constexpr char kText[] = "an exception in the client";
    outcome->code = static_cast<int32_t>(grpc::StatusCode::UNAVAILABLE);
    outcome->message = {kText, sizeof(kText) - 1};
  }
}

void Cancel(ferret_otlp_grpc_handle* handle) {
  std::lock_guard<std::mutex> lock(handle->mutex);
  handle->cancelled = true;
  if (handle->running != nullptr) handle->running->TryCancel();
}

void Close(ferret_otlp_grpc_handle* handle) {
  if (g_exiting.load(std::memory_order_relaxed)) return;
  handle->queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (handle->queue.Next(&tag, &ok)) {
  }
  delete handle;
}

constexpr ferret_otlp_grpc_api kApi = {FERRET_OTLP_GRPC_ABI_VERSION, &Open, &Send, &Cancel, &Close};

}  // namespace

extern "C" __attribute__((visibility("default"))) const ferret_otlp_grpc_api* ferret_otlp_grpc_entry(
    uint32_t abi_version);

const ferret_otlp_grpc_api* ferret_otlp_grpc_entry(uint32_t abi_version) {
  return abi_version == FERRET_OTLP_GRPC_ABI_VERSION ? &kApi : nullptr;
}
