// Copyright The Ferret Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/explorer/protocol.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ferret/internal/hot_path.h"
#include "runtime/drain/drain.h"
#include "runtime/record/recorder.h"

namespace ferret::explorer {
namespace {

using namespace ferret::internal;

// Room for the begin and the end of an op, or for the begins of two nested scopes and one of their ends; one more begin
// opens the next chunk.
constexpr uint32_t kChunkBytes = 704;

std::array<unsigned long long, kMaxThreads> g_ticks;

class ProtocolProgram final : public Program {
 public:
  ProtocolProgram(Execution& execution, const Protocol& protocol)
      : execution_(execution),
        protocol_(protocol),
        producers_(static_cast<int>(protocol.scopes.size())),
        logs_(protocol.scopes.size() + 1) {
    g_ticks = {};
    SetThreadLocals({[] { return static_cast<void*>(t_writer); },
                     [](void* writer) { t_writer = static_cast<Writer*>(writer); }});
    std::vector<std::string> roles(protocol.scopes.size(), "producer");
    roles.push_back("drain");
    execution.DeclareThreads(std::move(roles));

    Recorder::Config config;
    config.pool.chunk_bytes = kChunkBytes;
    config.pool.chunks = config.pool.max_chunks = static_cast<uint32_t>(protocol.chunks);
    recorder_.reset(Recorder::Create(config));
    recorder_->Start(true);
    drain_ = std::make_unique<Drain>(EventBuilder::Config(), recorder_.get(), nullptr, nullptr);
    Declare();
  }
  ~ProtocolProgram() override { Recorder::Stop(); }

  void Run(int thread) override {
    if (thread > producers_) {
      for (int i = 0; i < protocol_.passes; ++i) drain_->Pass(UINT64_MAX);
      execution_.Barrier();
      drain_->Pass(UINT64_MAX);
      return;
    }
    Log& log = logs_[static_cast<size_t>(thread)];
    const ScopeEnd outer = Begin(log);
    if (protocol_.nested) End(log, Begin(log));
    for (int i = 1; i < protocol_.scopes[static_cast<size_t>(thread) - 1]; ++i) {
      const ScopeEnd scope = Begin(log);
      if (protocol_.nested) End(log, Begin(log));
      End(log, scope);
    }
    End(log, outer);
    if (!protocol_.exits_early) {
      execution_.Barrier();
      const bool free = AnyFreeChunk();
      const ScopeEnd late = Begin(log);
      if (free && !late) execution_.Fail("a scope was refused while a chunk was free");
      End(log, late);
    }
    Exit(log);
  }

  void Check(Execution& execution) override {
    for (int producer = 1; producer <= producers_; ++producer) {
      const Log& log = logs_[static_cast<size_t>(producer)];
      const auto trace = drain_->builder().traces().find(log.thread);
      const bool known = trace != drain_->builder().traces().end();
      const std::string wrong = Compare(log, known ? trace->second.words : std::vector<uint64_t>());
      if (!wrong.empty()) execution.Fail("producer " + std::to_string(producer) + ": " + wrong);
    }
    for (int i = 0; i < protocol_.chunks; ++i) {
      if (recorder_->pool().chunk_at(static_cast<uint32_t>(i))->owner.load(std::memory_order_relaxed) != kOwnerFree) {
        execution.Fail("a chunk did not come back");
      }
    }
  }

 private:
  struct Written {
    uint64_t header;
    int64_t sequence_nr;
  };
  struct Log {
    uint32_t thread = 0;
    const ThreadState* state = nullptr;
    std::vector<Written> written;
    uint64_t refused = 0;
    int64_t next_sequence_nr = 1;
  };

  void Declare() {
    const uint32_t drain = 1u << (producers_ + 1);
    const uint32_t producers = drain - 2;
    ChunkPool& pool = recorder_->pool();
    std::vector<int> owners;
    for (int i = 0; i < protocol_.chunks; ++i) {
      Chunk* const chunk = pool.chunk_at(static_cast<uint32_t>(i));
      const std::string of = " of chunk " + std::to_string(i);
      Add("write_offset", of, &chunk->write_offset, producers, true);
      Add("sealed", of, &chunk->sealed, producers, true);
      owners.push_back(Add("owner", of, &chunk->owner, producers | drain, true));
    }
    Add("fresh", "", Execution::AddressUsedBy([&] { pool.chunks_used(); }), producers, false);
    Add("recycled", "", Execution::AddressUsedBy([&] { pool.recycled(); }), drain, true);
    // When the drain wakes up changes nothing that this program looks at.
    execution_.Ignore(Execution::AddressUsedBy([&] { recorder_->Wake(); }));
    execution_.model().WatchBytes(pool.chunk_at(0), size_t{kChunkBytes} * static_cast<size_t>(protocol_.chunks));
    execution_.model().NameQueue(0, "the open queue", producers, drain);
    execution_.model().NameQueue(1, "the free queue", drain, producers);
    if (!protocol_.queues_carry_owner) return;
    execution_.CarryWithPointers([&pool, owners](void* item) {
      const ptrdiff_t bytes = static_cast<char*>(item) - pool.chunk_at(0)->bytes();
      return owners[static_cast<size_t>(bytes) / kChunkBytes];
    });
  }

  int Add(const char* kind, const std::string& of, const volatile void* address, uint32_t writers, bool ordered) {
    Location location;
    location.kind = kind;
    location.name = kind + of;
    location.address = address;
    location.bytes = 4;
    location.writers = writers;
    location.ordered = ordered;
    return execution_.model().AddLocation(std::move(location));
  }

  ScopeEnd Begin(Log& log) {
    const OpFields op{log.next_sequence_nr++, 0, 0};
    const bool is_op = !protocol_.nested;
    const uint64_t header = is_op ? RecordHeader(RecordType::kOpBegin, kOpBeginBytes, kNoFlags, 1)
                                  : RecordHeader(RecordType::kScopeBegin, kBeginBytes, kNoFlags, 1);
    const ScopeEnd end = is_op ? BeginOp(header, CurrentEpoch(), op) : BeginScope(header, CurrentEpoch());
    log.thread = t_writer->thread;
    log.state = static_cast<const ThreadState*>(t_writer);
    if (end) {
      log.written.push_back({header, op.sequence_nr});
    } else {
      ++log.refused;
    }
    return end;
  }

  void End(Log& log, ScopeEnd end) {
    if (!end) return;
    EndScope(end);
    log.written.push_back({end.word, 0});
  }

  void Exit(Log& log) {
    auto* const state = const_cast<ThreadState*>(log.state);
    Recorder::OnThreadExit(state);
    Recorder::OnThreadExit(state);
  }

  // Beyond the barrier only.
  bool AnyFreeChunk() {
    for (int i = 0; i < protocol_.chunks; ++i) {
      const Chunk* const chunk = recorder_->pool().chunk_at(static_cast<uint32_t>(i));
      if (chunk->owner.load(std::memory_order_relaxed) == kOwnerFree) return true;
    }
    return false;
  }

  static std::string Compare(const Log& log, const std::vector<uint64_t>& words) {
    size_t next = 0;
    uint64_t told = 0;
    uint64_t last_ticks = 0;
    int exits = 0;
    for (size_t i = 0; i < words.size();) {
      const uint64_t header = words[i];
      const size_t length = RecordBytes(header) / 8;
      if (length < 2 || i + length > words.size()) return "a record is broken";
      if (words[i + 1] < last_ticks) return "records are out of order";
      last_ticks = words[i + 1];
      if (TypeOf(header) == RecordType::kLoss) {
        told += words[i + 2];
      } else if (TypeOf(header) == RecordType::kThreadExit) {
        ++exits;
      } else {
        if (next == log.written.size() || header != log.written[next].header) return "a record is another one";
        if (length == 4 && static_cast<int64_t>(words[i + 2]) != log.written[next].sequence_nr) {
          return "a record has other contents";
        }
        ++next;
      }
      i += length;
    }
    if (next != log.written.size()) return "records were lost";
    if (exits != (log.written.empty() ? 0 : 1)) return "the end of a thread was lost";
    if (told + log.state->unreported != log.refused) return "refusals were counted wrong";
    return {};
  }

  Execution& execution_;
  const Protocol protocol_;
  const int producers_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Drain> drain_;
  std::vector<Log> logs_;  // by thread
};

}  // namespace

std::string Text(const Protocol& protocol) {
  std::string text =
      std::to_string(protocol.chunks) + " chunks, " + std::to_string(protocol.passes) + " passes, scopes";
  for (const int scopes : protocol.scopes) text += " " + std::to_string(scopes);
  if (protocol.nested) text += ", nested";
  if (protocol.exits_early) text += ", exit before the last pass";
  return text;
}

MakeProgram Make(const Protocol& protocol) {
  return [protocol](Execution& execution) { return std::make_unique<ProtocolProgram>(execution, protocol); };
}

}  // namespace ferret::explorer

extern "C" unsigned long long FerretExplorerTicks(void) {
  return ++ferret::explorer::g_ticks[static_cast<size_t>(ferret::explorer::Execution::CurrentThread())];
}
