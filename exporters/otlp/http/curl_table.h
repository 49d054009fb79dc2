// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0
//
// CurlTable: the functions of libcurl, found at run time.
//
// Never linked: Ferret runs where there is no libcurl, and where the process has another use for it. What the process has
// loaded already is taken; the symbols of what is loaded here are not visible to others; nothing is ever unloaded or
// cleaned up, since others may use the same libcurl.

#ifndef FERRET_EXPORTERS_OTLP_HTTP_CURL_TABLE_H_
#define FERRET_EXPORTERS_OTLP_HTTP_CURL_TABLE_H_

#include <curl/curl.h>

#include <string>

#include "absl/status/statusor.h"

namespace ferret::otlp {

// All of them are in libcurl 7.68 and later. Only the types are taken from the header.
#define FERRET_CURL_FUNCTIONS(X)                                                                                      \
  X(easy_cleanup)                                                                                                     \
  X(easy_getinfo)                                                                                                     \
  X(easy_init)                                                                                                        \
  X(easy_setopt)                                                                                                      \
  X(easy_strerror)                                                                                                    \
  X(free)                                                                                                             \
  X(getdate)                                                                                                          \
  X(global_init)                                                                                                      \
  X(multi_add_handle)                                                                                                 \
  X(multi_cleanup)                                                                                                    \
  X(multi_info_read)                                                                                                  \
  X(multi_init)                                                                                                       \
  X(multi_perform)                                                                                                    \
  X(multi_poll)                                                                                                       \
  X(multi_remove_handle)                                                                                              \
  X(multi_strerror)                                                                                                   \
  X(multi_wakeup)                                                                                                     \
  X(slist_append)                                                                                                     \
  X(slist_free_all)                                                                                                   \
  X(url)                                                                                                              \
  X(url_cleanup)                                                                                                      \
  X(url_get)                                                                                                          \
  X(url_set)

struct CurlTable {
#define FERRET_CURL_MEMBER(name) decltype(&curl_##name) name = nullptr;
  FERRET_CURL_FUNCTIONS(FERRET_CURL_MEMBER)
#undef FERRET_CURL_MEMBER
};

inline constexpr char kCurlLibrary[] = "libcurl.so.4";

// libcurl, loaded and initialised by the first call in the process. An error says what to install, and stays. A libcurl
// before 7.84 does not bear another thread that initialises it at the same moment.
absl::StatusOr<const CurlTable*> LoadCurl();

// The same from a library of another name, each time anew.
absl::StatusOr<CurlTable> LoadCurlFrom(const std::string& library);

}  // namespace ferret::otlp

#endif  // FERRET_EXPORTERS_OTLP_HTTP_CURL_TABLE_H_
