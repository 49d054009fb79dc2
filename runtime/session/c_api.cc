// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "ferret/c_api.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "ferret/internal/adapter.h"
#include "ferret/scope.h"
#include "ferret/session.h"
#include "ferret/signal.h"

namespace {

using namespace ferret::internal;  // the whole file translates to it

std::string_view Name(const char* name, size_t length) {
  if (name == nullptr) return {};
  return {name, length == FERRET_STRLEN ? std::strlen(name) : length};
}

int Report(const ferret::Error& message, char* error, size_t error_size) {
  if (error != nullptr && error_size != 0) {
    const size_t length = std::min(message.size(), error_size - 1);
    std::memcpy(error, message.data(), length);
    error[length] = '\0';
  }
  return message.empty() ? 0 : -1;
}

}  // namespace

extern "C" {

uint32_t ferret_api_version(void) { return FERRET_API_VERSION; }

int ferret_start(const char* exporters, char* error, size_t error_size) {
  return Report(ferret::Start(exporters == nullptr ? "" : exporters), error, error_size);
}

int ferret_start_scheduled(const char* exporters, const ferret_schedule* schedule, char* error, size_t error_size) {
  if (schedule == nullptr) return Report("a schedule is needed", error, error_size);
  ferret::Schedule when;
  when.unit = schedule->by_time ? ferret::Schedule::Unit::kMilliseconds : ferret::Schedule::Unit::kSteps;
  when.skip_first = schedule->skip_first;
  when.skip_first_wait = schedule->skip_first_wait != 0;
  when.wait = schedule->wait;
  when.warmup = schedule->warmup;
  when.active = schedule->active;
  when.repeat = schedule->repeat;
  return Report(ferret::Start(exporters == nullptr ? "" : exporters, when), error, error_size);
}

int ferret_stop(int64_t deadline_ms, char* error, size_t error_size) {
  return Report(deadline_ms < 0 ? ferret::Stop() : ferret::Stop(deadline_ms), error, error_size);
}

int ferret_flush(int64_t deadline_ms, char* error, size_t error_size) {
  return Report(deadline_ms < 0 ? ferret::Flush() : ferret::Flush(deadline_ms), error, error_size);
}

int ferret_dump(char* error, size_t error_size) { return Report(ferret::Dump(), error, error_size); }

int ferret_is_recording(void) { return ferret::IsRecording(); }

uint64_t ferret_lost(const char* reason) {
  const ferret::LossCounts losses = ferret::Losses();
  if (reason == nullptr) return losses.total();
  for (size_t i = 0; i < ferret::kLossReasonCount; ++i) {
    if (std::strcmp(reason, ferret::LossReasonText(static_cast<ferret::LossReason>(i))) == 0) return losses.by_reason[i];
  }
  return 0;
}

ferret_scope ferret_scope_begin(const char* name, size_t length) {
  return {Enabled() ? BeginNamed(Name(name, length), kNoFlags).word : 0};
}

ferret_scope ferret_annotation_begin(const char* name, size_t length) {
  return {Enabled() ? BeginNamed(Name(name, length), kUserAnnotation).word : 0};
}

ferret_scope ferret_op_begin(const char* name, size_t length, int64_t sequence_nr, uint32_t fwd_thread,
                             uint8_t record_scope) {
  if (!Enabled()) return {0};
  return {BeginOpNamed(Name(name, length), kNoFlags, {sequence_nr, fwd_thread, record_scope}).word};
}

void ferret_scope_end(ferret_scope scope) { EndScope(ScopeEnd{scope.word}); }

uint32_t ferret_name_id(const char* name, size_t length) { return InternName(Name(name, length)); }

ferret_scope ferret_scope_begin_id(uint32_t name_id) {
  const uint32_t epoch = CurrentEpoch();
  if (epoch == 0) return {0};
  if (!IsNameId(name_id)) return {BeginNamed({}, kNoFlags).word};
  return {BeginScope(RecordHeader(RecordType::kScopeBegin, kBeginBytes, kNoFlags, name_id), epoch).word};
}

ferret_async ferret_async_begin(const char* name, size_t length) {
  const ferret::AsyncScope scope = ferret::BeginAsync(Name(name, length));
  return {scope.thread, scope.handle};
}

void ferret_async_end(ferret_async scope) { ferret::EndAsync({scope.thread, scope.handle}); }

void ferret_instant(const char* name, size_t length) { ferret::Instant(Name(name, length)); }

void ferret_counter(const char* name, size_t length, double value) { ferret::Counter(Name(name, length), value); }

void ferret_step(uint64_t number) {
  if (StepsMatter()) RecordStep(number);
}

void ferret_thread_name(const char* name, size_t length) { ferret::SetThreadName(Name(name, length)); }

uint32_t ferret_thread_id(void) { return ferret::ThreadId(); }

void ferret_instant_from_signal(uint32_t name_id) {
  if (Enabled()) ferret::internal::RecordInstantFromSignal(IsNameId(name_id) ? name_id : 0);
}

ferret_scope ferret_scope_begin_from_signal(uint32_t name_id) {
  return {Enabled() ? ferret::internal::BeginScopeFromSignal(IsNameId(name_id) ? name_id : 0).word : 0};
}

void ferret_scope_end_from_signal(ferret_scope scope) { ferret::internal::EndScopeFromSignal(ScopeEnd{scope.word}); }

}  // extern "C"
