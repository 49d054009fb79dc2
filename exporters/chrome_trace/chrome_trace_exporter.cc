// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "exporters/chrome_trace/chrome_trace_exporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "runtime/export/file/output_path.h"
#include "runtime/export/file/run_id.h"
#include "runtime/export/file/target_path.h"
#include "runtime/export/file/text_prefix.h"

namespace ferret {
namespace {

using chrome_trace::LaneTid;
using chrome_trace::TraceTid;

// Threads without lanes are forgotten beyond this many, so that a program that makes threads for ever costs no memory.
// Their names are in the file already.
constexpr size_t kMostThreads = 65536;

}  // namespace

ChromeTraceExporter::ChromeTraceExporter(ChromeTraceOptions options)
    : options_(std::move(options)), buffer_([this] {
        // A piece that could not be written waits in file_; Flush and the next Export say so.
        WritePiece().IgnoreError();
      }) {}

absl::StatusOr<std::unique_ptr<Exporter>> ChromeTraceExporter::Create(const ExporterSpec& spec) {
  absl::StatusOr<ChromeTraceOptions> options = ParseChromeTraceOptions(spec);
  if (!options.ok()) return options.status();
  return std::make_unique<ChromeTraceExporter>(*std::move(options));
}

absl::Status ChromeTraceExporter::Open(const SessionInfo& info) {
  info_ = info;
  run_id_ = options_.run_id.empty() ? RunId() : options_.run_id;
  target_ = options_.target;
  if (!absl::StartsWith(target_, "/")) {
    // The program may change its directory before the first event.
    directory_ = CurrentDirectory();
    target_ = absl::StrCat(absl::StrReplaceAll(directory_, {{"%", "%%"}}), target_);
  }
  writer_.emplace(info.pid, chrome_trace::BaseNs(info.start_ns), &buffer_);
  device_rows_.emplace(info, &buffer_);
  state_.span_end_ns = info.start_ns;
  return CheckWritable(PathOf(1));
}

absl::Status ChromeTraceExporter::Export(const EventBatch& batch) {
  // First, as each notice comes once: also those of a batch that is refused.
  NoteThreads(batch);
  device_rows_->Note(batch);
  NoteGap(batch);
  if (file_ == nullptr) {
    const bool only_threads = batch.events.empty() && batch.instants.empty() && batch.memory.empty() && batch.links.empty();
    if (only_threads) return absl::OkStatus();
    absl::Status begun = BeginPart(std::max(1, state_.part));
    if (!begun.ok()) {
      last_sequence_ = 0;  // this batch is a gap
      return begun;
    }
  } else if (file_->backlog_bytes() > 0) {
    absl::Status written = file_->Retry();
    ForgetWritten();
    if (absl::IsDataLoss(written)) {
      LosePart();
      written = BeginPart(std::max(1, state_.part));
    }
    if (!written.ok()) {
      last_sequence_ = 0;  // this batch is a gap
      return written;
    }
  }
  WriteNotedThreads();
  WriteEvents(batch);
  return absl::OkStatus();
}

// Forward ops of batches that never came here, or were refused, have no slice that an arrow could leave. All of them had
// ended before what the first batch afterwards holds.
void ChromeTraceExporter::NoteGap(const EventBatch& batch) {
  if (batch.sequence == last_sequence_ + 1 || batch.sequence == 0) {
    last_sequence_ = batch.sequence;
    return;
  }
  for (const FunctionEvent& event : batch.events) {
    if (event.device_type == DeviceType::kCpu) arrows_from_ns_ = std::max(arrows_from_ns_, event.end_ns);
  }
  last_sequence_ = batch.sequence;
}

void ChromeTraceExporter::WriteEvents(const EventBatch& batch) {
  for (const FunctionEvent& event : batch.events) {
    state_.span_end_ns = std::max(state_.span_end_ns, event.end_ns);
    if (event.device_type != DeviceType::kCpu) {
      device_rows_->Write(event);
    } else if (event.is_async) {
      WriteAsync(event);
    } else {
      writer_->WriteSlice(event, TraceTid(event.device_resource_id));
    }
    ++state_.events;
    attempts_ += event.is_synthesized || event.device_type != DeviceType::kCpu ? 0 : 1;
    if (part_is_full_) EndPartIfFull();
  }
  for (const ForwardBackwardLink& link : batch.links) {
    // An arrow without a slice at its tail is an error to Perfetto.
    if (link.forward_start_ns >= arrows_from_ns_) writer_->WriteLink(link);
  }
  for (const InstantEvent& instant : batch.instants) {
    state_.span_end_ns = std::max(state_.span_end_ns, instant.time_ns);
    writer_->WriteInstant(instant);
    ++state_.events;
    attempts_ += instant.kind == InstantEvent::Kind::kLoss ? 0 : 1;
  }
  for (const MemoryEvent& event : batch.memory) {
    state_.span_end_ns = std::max(state_.span_end_ns, event.time_ns);
    writer_->WriteMemory(event);
    ++state_.events;
    ++attempts_;
  }
  if (part_is_full_) EndPartIfFull();
}

void ChromeTraceExporter::WriteAsync(const FunctionEvent& event) {
  const int32_t os_tid = event.device_resource_id;
  chrome_trace::AsyncLanes& lanes = threads_[os_tid].lanes;
  const int lanes_before = lanes.count();
  const int lane = lanes.Place(event.start_ns, event.end_ns);
  if (lane == chrome_trace::AsyncLanes::kNoLane) return writer_->WriteAsyncPair(event);
  if (lanes.count() > lanes_before) WriteLane(os_tid, lane);
  writer_->WriteSlice(event, LaneTid(TraceTid(os_tid), lane));
}

absl::Status ChromeTraceExporter::Flush(const ExportProgress& progress, absl::Time) {
  SetProgress(progress);
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status written = WritePiece();
  if (!written.ok()) return written;
  return std::exchange(deferred_error_, absl::OkStatus());
}

absl::Status ChromeTraceExporter::Close(const ExportProgress& progress, absl::Time) {
  SetProgress(progress);
  if (file_ == nullptr && info_.continued.text_bytes > 0) {
    if (absl::Status begun = BeginPart(1); !begun.ok()) return begun;
  }
  if (file_ == nullptr) return absl::OkStatus();
  absl::Status status = WritePiece();
  const absl::Status finished = FinishFile();
  if (status.ok()) status = finished;
  if (file_ != nullptr) destination_ = ShownPath(file_->path(), directory_);
  file_.reset();
  if (status.ok()) status = deferred_error_;
  return status;
}

// Parts are begun at sizes, not where something is durable.
std::optional<DurableOutput> ChromeTraceExporter::Durable() const {
  const bool can_go_on = file_ != nullptr && !file_->is_stream() && options_.max_part_bytes == 0;
  if (!can_go_on || file_->backlog_bytes() > 0 || !buffer_.empty()) return std::nullopt;
  return DurableOutput{file_->temporary_path(), file_->path(), file_->text_bytes(), state_.events};
}

std::string ChromeTraceExporter::PathOf(int part) const {
  if (!info_.continued.path.empty()) return info_.continued.final_path;
  PathContext context;
  context.pid = info_.pid;
  context.rank = info_.rank;
  context.host = info_.host_name;
  context.start_ns = info_.start_ns;
  context.part = part;
  const std::string as_asked = ExpandPath(target_, context);
  if (IsStreamTarget(as_asked)) return as_asked;  // ranks may share /dev/null
  context.has_rank = info_.has_rank;
  context.in_forked_child = info_.in_forked_child;
  context.split = options_.max_part_bytes > 0;
  context.label = info_.label;
  return ExpandPath(target_, context);
}

absl::Status ChromeTraceExporter::BeginPart(int part) {
  DocumentFileOptions options;
  options.path = PathOf(part);
  options.gzip = absl::EndsWith(options.path, ".gz");
  options.gzip_level = options_.gzip_level;
  options.run_id = run_id_;
  options.diagnostic = options_.diagnostic ? options_.diagnostic : WriteLineToStderr;
  options.io = options_.io;
  absl::StatusOr<std::unique_ptr<DocumentFile>> opened = DocumentFile::Open(options);
  if (!opened.ok()) return opened.status();

  if (file_ != nullptr) {
    absl::Status finished = FinishFile();
    if (!finished.ok()) deferred_error_ = finished;
  }
  file_ = *std::move(opened);
  if (info_.file_opened && !file_->is_stream()) info_.file_opened(file_->temporary_path(), file_->path());
  destination_ = ShownPath(file_->path(), directory_);
  state_.path = destination_;
  state_.events = attempts_ = 0;
  handed_over_ = {};
  waiting_.clear();
  state_.part = options_.max_part_bytes > 0 ? part : 0;
  state_.span_start_ns = part == 1 ? info_.start_ns : state_.span_end_ns;
  if (part > 1) arrows_from_ns_ = std::max(arrows_from_ns_, state_.span_end_ns);
  longest_tail_ = 0;

  const absl::Status written = part == 1 && info_.continued.text_bytes > 0 ? WriteContinued() : WriteHead();
  buffer_.Reset(file_->text_bytes(), file_->keeps_units_in_pages());
  writer_->ResetIndex();
  device_rows_->BeginPart();
  unwritten_threads_.clear();
  for (const auto& [os_tid, thread] : threads_) unwritten_threads_.push_back(os_tid);
  std::sort(unwritten_threads_.begin(), unwritten_threads_.end());
  WriteNotedThreads();
  return written;
}

absl::Status ChromeTraceExporter::WriteHead() {
  // On its own: it fits into a page, so the file begins as a document.
  const absl::Status written = file_->Append(chrome_trace::TraceHead(info_, run_id_), Tail());
  waiting_.push_back({});
  ForgetWritten();
  return written;
}

absl::Status ChromeTraceExporter::WriteContinued() {
  state_.events = info_.continued.events;
  handed_over_.events = state_.events;
  return ReadTextPrefix(info_.continued.path, info_.continued.text_bytes, [this](std::string_view piece) {
    const absl::Status written = file_->Append(piece, Tail());
    waiting_.push_back({});
    ForgetWritten();
    return written;
  });
}

void ChromeTraceExporter::EndPartIfFull() {
  const bool written = WritePiece().ok();
  part_is_full_ = false;  // if no new part can be begun, this one grows by a piece until the next attempt
  if (written) BeginPart(state_.part + 1).IgnoreError();
}

absl::Status ChromeTraceExporter::WritePiece() {
  // Flushing adds nothing to what waits: a disk may be full for hours.
  if (buffer_.empty() && file_->backlog_pieces() > 0) {
    const absl::Status written = file_->Retry();
    ForgetWritten();
    if (!written.ok()) return written;
  }
  absl::Status status = file_->Append(buffer_.piece(), Tail());
  buffer_.Clear();
  waiting_.push_back({state_.events - handed_over_.events, attempts_ - handed_over_.attempts});
  handed_over_ = {state_.events, attempts_};
  ForgetWritten();
  part_is_full_ = options_.max_part_bytes > 0 && file_->text_bytes() >= options_.max_part_bytes && !file_->is_stream();
  return status;
}

void ChromeTraceExporter::ForgetWritten() {
  while (waiting_.size() > file_->backlog_pieces()) waiting_.pop_front();
}

// Once more with what waits for space; then without it, counted: the file is put in place as it is.
absl::Status ChromeTraceExporter::FinishFile() {
  absl::Status status = file_->Finish(Tail());
  ForgetWritten();
  if (status.ok()) return status;
  if (absl::IsDataLoss(status)) {
    LosePart();
    return status;
  }
  for (const Waiting& piece : waiting_) {
    state_.events -= piece.events;
    state_.progress.lost[LossReason::kExporterFailed] += piece.attempts;
    not_delivered_ += piece.attempts;
  }
  waiting_.clear();
  file_->FinishWithoutBacklog(Tail()).IgnoreError();
  return status;
}

// The file with what was in it is gone: all of it is lost, also what waits.
void ChromeTraceExporter::LosePart() {
  file_->Discard();
  file_.reset();
  not_delivered_ += attempts_;
  state_.progress.lost[LossReason::kExporterFailed] += attempts_;
  state_.events = attempts_ = 0;
  waiting_.clear();
}

void ChromeTraceExporter::SetProgress(const ExportProgress& progress) {
  state_.progress = progress;
  state_.progress.lost[LossReason::kExporterFailed] += not_delivered_;
}

// Never shorter than the one before: a tail that shrinks would have to be cut off, with its end missing until then.
std::string ChromeTraceExporter::Tail() {
  state_.device_properties = device_rows_->Properties();
  std::string tail = TraceTail(info_, state_);
  if (tail.size() < longest_tail_) tail.insert(tail.size() - 2, longest_tail_ - tail.size(), ' ');
  longest_tail_ = tail.size();
  return tail;
}

void ChromeTraceExporter::NoteThreads(const EventBatch& batch) {
  if (threads_.size() + batch.threads.size() > kMostThreads) ForgetIdleThreads();
  for (const ThreadInfo& info : batch.threads) {
    threads_[info.os_tid].name = info.name;
    unwritten_threads_.push_back(info.os_tid);
  }
}

void ChromeTraceExporter::ForgetIdleThreads() {
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    const auto current = thread++;
    if (current->second.lanes.count() == 0) threads_.erase(current);
  }
}

void ChromeTraceExporter::WriteNotedThreads() {
  for (int32_t os_tid : unwritten_threads_) WriteThread(os_tid);
  unwritten_threads_.clear();
}

void ChromeTraceExporter::WriteThread(int32_t os_tid) {
  const int64_t tid = TraceTid(os_tid);
  writer_->WriteThread(tid, ThreadLabel(os_tid), tid, info_.start_ns);
  for (int lane = 0; lane < threads_[os_tid].lanes.count(); ++lane) WriteLane(os_tid, lane);
}

void ChromeTraceExporter::WriteLane(int32_t os_tid, int lane) {
  const int64_t tid = TraceTid(os_tid);
  // The sort index of its thread, and a greater tid: it comes right after it.
  writer_->WriteThread(LaneTid(tid, lane), absl::StrCat(ThreadLabel(os_tid), " async ", lane), tid, info_.start_ns);
}

std::string ChromeTraceExporter::ThreadLabel(int32_t os_tid) {
  const std::string& name = threads_[os_tid].name;
  return absl::StrCat("thread ", TraceTid(os_tid), " (", name.empty() ? info_.process_name : name, ")");
}

}  // namespace ferret
