// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/otlp/http/http_poster.h"

#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "exporters/otlp/http/signal_checks.h"
#include "exporters/otlp/spans/span.h"
#include "runtime/environment/process_environment.h"

namespace ferret::otlp {
namespace {

// Sets options of one handle and remembers whether all of them were taken.
class Options {
 public:
  Options(const CurlTable* curl, CURL* easy) : curl_(curl), easy_(easy) {}

  template <typename Value>
  void Set(CURLoption option, Value value) {
    const CURLcode result = curl_->easy_setopt(easy_, option, value);
    if (result != CURLE_OK && status_.ok()) {
      status_ = absl::InternalError(
          absl::StrCat("libcurl refuses option ", static_cast<int>(option), ": ", curl_->easy_strerror(result)));
    }
  }
  // Of newer versions only.
  template <typename Value>
  void SetIfKnown(CURLoption option, Value value) {
    curl_->easy_setopt(easy_, option, value);
  }
  void SetFile(CURLoption option, const std::string& file) {
    if (!file.empty()) Set(option, file.c_str());
  }
  const absl::Status& status() const { return status_; }

 private:
  const CurlTable* const curl_;
  CURL* const easy_;
  absl::Status status_;
};

// As libcurl would, but a program that the host starts does not inherit it, and cannot hold the connection open.
curl_socket_t OpenSocket(void* /*unused*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpPoster>> HttpPoster::Create(const CurlTable* curl, CurlSession* session,
                                                               const SignalConfig& config, Form form) {
  if (absl::Status status = CheckSignal(*curl, config); !status.ok()) return status;
  std::unique_ptr<HttpPoster> poster(new HttpPoster(curl, session));
  if (absl::Status status = poster->SetUp(config, form); !status.ok()) return status;
  return poster;
}

HttpPoster::~HttpPoster() {
  if (easy_ != nullptr) curl_->easy_cleanup(easy_);
  curl_->slist_free_all(plain_headers_);
  curl_->slist_free_all(gzip_headers_);
}

absl::Status HttpPoster::AddHeader(const std::string& line) {
  for (curl_slist** list : {&plain_headers_, &gzip_headers_}) {
    curl_slist* const longer = curl_->slist_append(*list, line.c_str());
    if (longer == nullptr) return absl::ResourceExhaustedError("no memory for a header");
    *list = longer;
  }
  return absl::OkStatus();
}

absl::Status HttpPoster::SetUp(const SignalConfig& config, Form form) {
  easy_ = curl_->easy_init();
  if (easy_ == nullptr) return absl::ResourceExhaustedError("libcurl has no memory");

  // "Expect:" without a value is left out: waiting for the receiver's consent costs a second where it gives none.
  std::vector<std::string> lines = {
      "Expect:",
      absl::StrCat("Content-Type: ", form == Form::kJson ? "application/json" : "application/x-protobuf")};
  for (const auto& [name, value] : config.headers) lines.push_back(HeaderLine(name, value));
  for (const std::string& line : lines) {
    if (absl::Status status = AddHeader(line); !status.ok()) return status;
  }
  curl_slist* const longer = curl_->slist_append(gzip_headers_, "Content-Encoding: gzip");
  if (longer == nullptr) return absl::ResourceExhaustedError("no memory for a header");
  gzip_headers_ = longer;

  Options options(curl_, easy_);
  options.Set(CURLOPT_URL, config.url.c_str());
  options.SetIfKnown(CURLOPT_PROTOCOLS_STR, "http,https");  // the URL was checked, and redirects are off
  options.Set(CURLOPT_FOLLOWLOCATION, 0L);
  if (!EnvironmentCounts()) options.Set(CURLOPT_PROXY, "");  // libcurl would look there
  options.Set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  options.Set(CURLOPT_USERAGENT, ("OTel-OTLP-Exporter-Ferret/" + std::string(kVersion)).c_str());
  options.Set(CURLOPT_ACCEPT_ENCODING, "gzip");
  options.Set(CURLOPT_POST, 1L);
  options.Set(CURLOPT_NOSIGNAL, 1L);
  options.Set(CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  options.Set(CURLOPT_NOPROGRESS, 1L);
  options.Set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);  // a proxy's are not the receiver's
  options.SetIfKnown(CURLOPT_QUICK_EXIT, 1L);         // leaves a name lookup that hangs to itself
  options.Set(CURLOPT_ERRORBUFFER, &error_[0]);
  options.Set(CURLOPT_HEADERFUNCTION, &ReplyCollector::OnHeader);
  options.Set(CURLOPT_HEADERDATA, static_cast<void*>(&collector_));
  options.Set(CURLOPT_WRITEFUNCTION, &ReplyCollector::OnBody);
  options.Set(CURLOPT_WRITEDATA, static_cast<void*>(&collector_));
  options.Set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));  // or later
  options.Set(CURLOPT_SSL_VERIFYPEER, 1L);
  options.Set(CURLOPT_SSL_VERIFYHOST, 2L);
  options.SetFile(CURLOPT_CAINFO, config.ca_file);
  options.SetFile(CURLOPT_SSLCERT, config.client_certificate_file);
  options.SetFile(CURLOPT_SSLKEY, config.client_key_file);
  options.Set(CURLOPT_KEYPASSWD, "");  // a key that is encrypted is an error: nobody is asked at the terminal
  return options.status();
}

const HttpReply& HttpPoster::Post(std::string_view body, bool gzip, RunnerClock::Time deadline) {
  collector_.Begin();
  HttpReply& reply = collector_.reply();
  error_[0] = '\0';
  Options options(curl_, easy_);
  options.Set(CURLOPT_HTTPHEADER, gzip ? gzip_headers_ : plain_headers_);
  options.Set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  options.Set(CURLOPT_POSTFIELDS, body.data());  // not copied
  if (!options.status().ok()) {
    reply.end = HttpReply::End::kFailed;
    reply.code = CURLE_FAILED_INIT;
    reply.error = std::string(options.status().message());
    return reply;
  }
  session_->Run(easy_, deadline, &reply);
  if (reply.end == HttpReply::End::kFailed && reply.error.empty()) {
    reply.error = error_[0] != '\0' ? error_ : curl_->easy_strerror(reply.code);
  }
  long proxy_status = 0;
  curl_->easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &proxy_status);
  reply.proxy_status = static_cast<int>(proxy_status);
  return reply;
}

}  // namespace ferret::otlp
