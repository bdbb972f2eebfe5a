// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/verify/verify_disk.h"

#include <utility>

#include "base/files.h"
#include "disk/disk_pages.h"
#include "disk/session_folder.h"
#include "engine/logits.h"
#include "engine/scheduler.h"
#include "kv/transfer.h"

namespace aster::cli {
namespace {

using engine::LocalModel;
using engine::LogitsHash;
using Tokens = std::span<const int32_t>;

constexpr int64_t kPatienceNs = 60 * kNsPerSecond;
// The folder is temporary, so any name will do.
constexpr Hash128 kName = {.low = 1, .high = 1};

// The text's logits; `first` rows are known already, and the table holds as many positions.
Result<Hash128> Rest(LocalModel& model, kv::PageTable& table, Tokens tokens,
                     std::span<const float> logits) {
  const size_t held = table.length();
  LogitsHash hash;
  TRY(hash.Add(logits.first(held * model.shape().vocab_size)));
  TRY(engine::ComputeLogits(model, table, tokens.subspan(held), engine::kDefaultChunk,
                            [&](std::span<const float> row) { return hash.Add(row); }));
  return hash.Digest();
}

class DiskVerifier {
 public:
  DiskVerifier(Tokens tokens, Clock& clock, const engine::VerifySink& sink)
      : tokens_(tokens), clock_(clock), sink_(sink) {}

  Result<std::vector<engine::VerifiedWay>> Run(const gguf::ModelFiles& files,
                                               engine::LocalModelOptions options) {
    const TemporaryDirectory folder = TRY(TemporaryDirectory::Create());
    const std::shared_ptr<disk::DiskPages> pages =
        TRY(disk::DiskPages::Open({.folder = folder.File("pages")}, clock_));
    options.name = kName;
    options.page_store = pages;
    const auto first = TRY(LocalModel::Load(files, options));
    kv::PageTable table = first->NewTable();
    TRY(engine::ComputeLogits(*first, table, tokens_, engine::kDefaultChunk,
                              [&](std::span<const float> row) {
                                logits_.insert(logits_.end(), row.begin(), row.end());
                                return Ok();
                              }));
    if (!pages->Flush(kPatienceNs)) {
      return Error(Code::kDeadlineExceeded, "the disk is too slow to compare its KV rows");
    }
    // An empty KV cache with the same store.
    const auto second = TRY(LocalModel::ShareWeights(*first, options));
    TRY(Try("from the disk", [&]() -> Result<Hash128> {
      kv::PageTable adopting = second->NewTable();
      adopting.Adopt(tokens_.first(tokens_.size() - 1));
      return Rest(*second, adopting, tokens_, logits_);
    }));
    options.page_store = nullptr;
    const auto third = TRY(LocalModel::ShareWeights(*first, options));
    const auto fourth = TRY(LocalModel::ShareWeights(*first, options));
    disk::SessionFolder sessions(folder.File("sessions"), clock_);
    TRY(Try("saved and loaded",
            [&] { return SavedAndLoaded(*third, *fourth, sessions, "session"); }));
    TRY(Try("in a file of its own", [&] {
      return SavedAndLoaded(*third, *fourth, sessions, folder.File("alone.session"));
    }));
    return std::move(ways_);
  }

 private:
  Status Try(std::string name, FunctionRef<Result<Hash128>()> compute) {
    const int64_t start_ns = clock_.NowNs();
    const Hash128 hash = TRY(compute().In(name));
    ways_.push_back({std::move(name), hash, clock_.NowNs() - start_ns});
    if (sink_) sink_(ways_.back());
    return Ok();
  }

  // Saves half of the text; another model continues with the other half.
  Result<Hash128> SavedAndLoaded(LocalModel& from, LocalModel& to, disk::SessionFolder& sessions,
                                 const std::string& name) {
    const Tokens half = tokens_.first(tokens_.size() / 2);
    engine::Scheduler saving(from, /*tokenizer=*/nullptr, clock_);
    engine::Sequence said = saving.NewSequence();
    said.SetHistory(half);
    TRY(engine::ComputeLogits(from, said.table(), said.pending(), engine::kDefaultChunk,
                              [](std::span<const float>) { return Ok(); }));
    disk::Session session;
    session.tokens.assign(half.begin(), half.end());
    TRY(sessions.Save(name, session, from.layout(), [&](kv::KvChunkSink sink) {
      return saving.ExportRows(said, 0, said.computed(), sink);
    }));
    engine::Scheduler loading(to, /*tokenizer=*/nullptr, clock_);
    engine::Sequence heard = loading.NewSequence();
    heard.SetHistory(half);
    heard.Release();  // written by an earlier way
    TRY(sessions.LoadRows(TRY(sessions.Open(name)), to.layout(),
                          [&](Bytes chunk) { return loading.ImportRows(heard, chunk); }));
    if (heard.computed() != half.size()) return DataLoss("not all of its KV rows were found again");
    return Rest(to, heard.table(), tokens_, logits_);
  }

  const Tokens tokens_;
  Clock& clock_;
  const engine::VerifySink& sink_;
  std::vector<float> logits_;  // of every position
  std::vector<engine::VerifiedWay> ways_;
};

}  // namespace

Result<std::vector<engine::VerifiedWay>> VerifyOnDisk(const gguf::ModelFiles& files,
                                                      std::span<const int32_t> tokens,
                                                      const engine::LocalModelOptions& options,
                                                      Clock& clock,
                                                      const engine::VerifySink& sink) {
  return DiskVerifier(tokens, clock, sink).Run(files, options);
}

}  // namespace aster::cli
