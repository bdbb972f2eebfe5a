// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/verify_group.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/logits.h"
#include "model/parts/exchange.h"

namespace aster::engine {
namespace {

// Columns that the parts have sent for one batch.
struct SentColumns {
  std::vector<uint8_t> bytes;
  bool are_blocks;
};
using Board = std::map<std::pair<uint32_t, uint32_t>, SentColumns>;  // by gather and part

class BoardExchange final : public model::Exchange {
 public:
  BoardExchange(Board& board, uint32_t part) : board_(board), part_(part) {}

  bool TakesBlocks() const override { return true; }
  Status Send(uint32_t gather, To /*to*/, const Rows& rows) override {
    board_[{gather, part_}] = {.bytes = {rows.bytes.begin(), rows.bytes.end()},
                               .are_blocks = rows.are_blocks};
    return Ok();
  }
  Result<Rows> Take(uint32_t gather, uint32_t part) override {
    const auto found = board_.find({gather, part});
    if (found == board_.end()) return Rows();
    return Rows{.bytes = found->second.bytes, .are_blocks = found->second.are_blocks};
  }

 private:
  Board& board_;
  const uint32_t part_;
};

// Advances the parts in turns until all are done.
Status AdvanceAll(std::vector<model::ForwardJob>& jobs, const Board& board) {
  std::vector<bool> is_done(jobs.size());
  while (std::ranges::count(is_done, false) > 0) {
    const size_t sent = board.size();
    bool has_advanced = false;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (is_done[i]) continue;
      is_done[i] = TRY(jobs[i].Advance()) == model::Progress::kDone;
      has_advanced |= is_done[i] || jobs[i].is_computing();
      if (jobs[i].is_computing()) TRY(jobs[i].Wait());
    }
    if (!has_advanced && board.size() == sent)
      return FailedPrecondition("the parts of the group wait for each other");
  }
  return Ok();
}

}  // namespace

Result<Hash128> InGroup(std::span<const std::unique_ptr<LocalModel>> parts,
                        std::span<const int32_t> tokens, size_t chunk) {
  std::vector<kv::PageTable> tables;
  for (const auto& part : parts) tables.push_back(part->NewTable());
  LogitsHash hash;
  for (size_t done = 0; done < tokens.size(); done += chunk) {
    Board board;
    std::vector<BoardExchange> exchanges;
    for (uint32_t i = 0; i < parts.size(); ++i) exchanges.emplace_back(board, i);
    std::vector<model::ForwardJob> jobs;
    for (size_t i = 0; i < parts.size(); ++i) {
      const model::Segment segment{
          .table = &tables[i],
          .tokens = tokens.subspan(done, std::min(chunk, tokens.size() - done)),
          .wanted = model::Wanted::kAll};
      jobs.push_back(TRY(parts[i]->Begin({&segment, 1}, parts[i]->slice(), &exchanges[i])));
    }
    TRY(AdvanceAll(jobs, board));
    // The first part leads.
    TRY(hash.Add(jobs.front().output().logits));
  }
  return hash.Digest();
}

}  // namespace aster::engine
