// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "engine/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/bytes.h"
#include "engine/logits.h"
#include "engine/oracle_proposers.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "engine/verify_group.h"
#include "kernels/isa_choice.h"
#include "kv/transfer.h"

namespace aster::engine {
namespace {

using Tokens = std::span<const int32_t>;

// Of 100 draft tokens.
constexpr uint32_t kAcceptedPercent = 75;

Status Add(LogitsHash& hash, LocalModel& model, kv::PageTable& table, Tokens tokens, size_t chunk) {
  return ComputeLogits(model, table, tokens, chunk,
                       [&](std::span<const float> row) { return hash.Add(row); });
}

Status Discard(std::span<const float> /*logits*/) { return Ok(); }

Result<Hash128> InChunks(LocalModel& model, Tokens tokens, size_t chunk) {
  kv::PageTable table = model.NewTable();
  LogitsHash hash;
  TRY(Add(hash, model, table, tokens, chunk));
  return hash.Digest();
}

// Half the text, then another text, then back, and the second half.
Result<Hash128> AfterRewinding(LocalModel& model, Tokens tokens) {
  kv::PageTable table = model.NewTable();
  const size_t half = tokens.size() / 2;
  LogitsHash hash;
  TRY(Add(hash, model, table, tokens.first(half), kDefaultChunk));
  const std::vector<int32_t> other(tokens.rbegin(), tokens.rend());
  TRY(ComputeLogits(model, table, Tokens(other).first(half), kDefaultChunk, Discard));
  const uint32_t length = table.Truncate(static_cast<uint32_t>(half));
  // Rows that have left a window are computed again.
  TRY(ComputeLogits(model, table, tokens.subspan(length, half - length), kDefaultChunk, Discard));
  TRY(Add(hash, model, table, tokens.subspan(half), kDefaultChunk));
  return hash.Digest();
}

// Beside two other texts, in every batch.
Result<Hash128> BatchedWithOthers(LocalModel& model, Tokens tokens) {
  constexpr size_t kChunk = 32;
  const std::vector<int32_t> other(tokens.rbegin(), tokens.rend());
  kv::PageTable mine = model.NewTable(), second = model.NewTable(), third = model.NewTable();
  LogitsHash hash;
  for (size_t done = 0; done < tokens.size(); done += kChunk) {
    const size_t count = std::min(kChunk, tokens.size() - done);
    const model::Segment segments[] = {
        {.table = &second,
         .tokens = Tokens(other).subspan(done, count),
         .wanted = model::Wanted::kNone},
        {.table = &mine, .tokens = tokens.subspan(done, count), .wanted = model::Wanted::kAll},
        {.table = &third,
         .tokens = Tokens(other).subspan(done, 1),
         .wanted = model::Wanted::kLast}};
    const model::Output output = TRY(model.Run(segments));
    TRY(hash.Add(output.logits.first(count * model.shape().vocab_size)));
  }
  return hash.Digest();
}

// Half the text on one model; then its KV rows go as bytes to the other one's memory, which
// computes the second half.
Result<Hash128> Transferred(LocalModel& first, LocalModel& second, Tokens tokens) {
  const size_t half = tokens.size() / 2;
  kv::PageTable from = first.NewTable(), to = second.NewTable();
  LogitsHash hash;
  // The hash continues over both: it is that of one computation if the rows arrived unchanged.
  TRY(Add(hash, first, from, tokens.first(half), kDefaultChunk));
  std::vector<uint8_t> chunk;
  TRY(kv::Export(from, from.layers(), 0, static_cast<uint32_t>(half), [&](Bytes bytes) {
    chunk.insert(chunk.end(), bytes.begin(), bytes.end());
    return Ok();
  }));
  TRY(kv::Import(to, chunk));
  TRY(Add(hash, second, to, tokens.subspan(half), kDefaultChunk));
  return hash.Digest();
}

// A second sequence adopts the pages of a first one and computes the rest; logits that it does not
// compute are those of the first.
Result<Hash128> SharingAPrefix(LocalModel& model, Tokens tokens) {
  kv::PageTable first = model.NewTable(), second = model.NewTable();
  std::vector<float> logits;
  TRY(ComputeLogits(model, first, tokens, kDefaultChunk, [&](std::span<const float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
    return Ok();
  }));
  const size_t shared = second.Adopt(tokens.first(tokens.size() - 1));
  LogitsHash hash;
  TRY(hash.Add(std::span(logits).first(shared * model.shape().vocab_size)));
  TRY(Add(hash, model, second, tokens.subspan(shared), kDefaultChunk));
  return hash.Digest();
}

// Slices of some layers each; hidden rows go from one to the next.
Result<Hash128> InSlices(const gguf::ModelFiles& files, const VerifyOptions& options, Tokens tokens,
                         std::span<const uint32_t> cuts, uint32_t layer_count) {
  constexpr size_t kChunk = 128;
  std::vector<std::unique_ptr<LocalModel>> slices;
  std::vector<kv::PageTable> tables;
  for (size_t i = 0; i <= cuts.size(); ++i) {
    LocalModelOptions slice = options.model;
    slice.gpu_layers = {};
    slice.slice = {.layer_begin = i == 0 ? 0 : cuts[i - 1],
                   .layer_end = i == cuts.size() ? layer_count : cuts[i],
                   .embedding = i == 0,
                   .head = i == cuts.size()};
    slices.push_back(TRY(LocalModel::Load(files, slice)));
    tables.push_back(slices.back()->NewTable());
  }
  LogitsHash hash;
  for (size_t done = 0; done < tokens.size(); done += kChunk) {
    model::Segment segment{.table = nullptr,
                           .tokens = tokens.subspan(done, std::min(kChunk, tokens.size() - done)),
                           .hidden = nullptr,
                           .wanted = model::Wanted::kAll};
    model::Output output;
    for (size_t i = 0; i < slices.size(); ++i) {
      segment.table = &tables[i];
      segment.hidden = i == 0 ? nullptr : output.hidden.data();
      output = TRY(slices[i]->Run({&segment, 1}));
    }
    TRY(hash.Add(output.logits));
  }
  return hash.Digest();
}

class Verifier {
 public:
  Verifier(const gguf::ModelFiles& files, Tokens tokens, const VerifyOptions& options,
           const Clock& clock, const VerifySink& sink)
      : files_(files), tokens_(tokens), options_(options), clock_(clock), sink_(sink) {}

  Result<std::vector<VerifiedWay>> Run() {
    // On the processor: different cuts of the text, and other texts computed beside it.
    auto model = TRY(Load(/*gpu_layers=*/0));
    const uint32_t layer_count = model->shape().layer_count;
    TRY(Try("whole", [&] { return InChunks(*model, tokens_, tokens_.size()); }));
    for (const size_t chunk : {1, 7, 64, 128}) {
      TRY(Try(fmt::format("in chunks of {}", chunk),
              [&] { return InChunks(*model, tokens_, chunk); }));
    }
    TRY(Try("after a rewind", [&] { return AfterRewinding(*model, tokens_); }));
    TRY(Try("beside other texts", [&] { return BatchedWithOthers(*model, tokens_); }));
    TRY(Try("after a KV transfer", [&] { return Transferred(*model, *model, tokens_); }));
    Scheduler scheduler(*model, /*tokenizer=*/nullptr, clock_, {.batch_tokens = 128});
    TRY(Try("answered beside others", [&] { return AnsweredBesideOthers(scheduler, tokens_); }));
    TRY(Try("answered in turns", [&] { return AnsweredInTurns(scheduler, tokens_); }));
    // Speculative decoding with drafts of which some are rejected, then with the chosen drafter.
    OracleProposers knowing(kAcceptedPercent);
    knowing.AddText({tokens_.begin(), tokens_.end()});
    TRY(TryDrafts("with draft tokens", *model, knowing, {.kind = DraftKind::kModel, .most = 6}));
    if (options_.proposers) {
      TRY(TryDrafts("with --draft", *model, options_.proposers(*model), options_.draft));
    }
    TRY(Try("sharing a prefix", [&] { return SharingAPrefix(*model, tokens_); }));
    // Other threads and instruction sets on the same weights; then slices, and GPUs.
    for (const size_t threads : options_.threads) TRY(TryThreads(*model, threads));
    for (const kernels::Isa isa : options_.isas) TRY(TryIsa(*model, isa));
    const model::Shape shape = model->shape();
    model.reset();  // slices pack weights of their own
    if (layer_count >= 2) TRY(TrySlices({layer_count / 2}, shape));
    if (layer_count >= 3) TRY(TrySlices({1, layer_count - 1}, shape));
    if (options_.model.gpu_layers.wanted()) {
      TRY(TryGpu(layer_count));
      TRY(TryGpus(layer_count));
      TRY(TryGroups(shape));
    }
    return std::move(ways_);
  }

 private:
  // With layers on the first GPU, or on the first few.
  Result<std::unique_ptr<LocalModel>> Load(uint32_t gpu_layers, size_t most_gpus = 1,
                                           const std::optional<model::Slice>& slice = {}) {
    LocalModelOptions options = options_.model;
    options.gpu_layers = {gpu_layers};
    if (slice) options.slice = slice;
    options.open_gpus = [&](const vulkan::KernelUse& use, compute::Context& host) -> Result<Gpus> {
      Gpus gpus = TRY(options_.model.open_gpus(use, host));
      found_gpus_ = gpus.size();
      if (gpus.size() > most_gpus) gpus.resize(most_gpus);
      return gpus;
    };
    auto model = TRY(LocalModel::Load(files_, options));
    // Must not report a way that was not computed as named.
    if (gpu_layers > 0 && model->gpu_count() == 0) return Unimplemented(model->gpu_note());
    return model;
  }

  uint32_t MostGpuLayers(uint32_t layer_count) const {
    return std::min(layer_count, options_.model.gpu_layers.count.value_or(layer_count));
  }

  Status Try(std::string name, FunctionRef<Result<Hash128>()> compute) {
    const int64_t start_ns = clock_.NowNs();
    const Hash128 hash = TRY(compute().In(name));
    ways_.push_back({std::move(name), hash, clock_.NowNs() - start_ns});
    if (sink_) sink_(ways_.back());
    return Ok();
  }

  Status TryDrafts(const std::string& name, LocalModel& model, ProposerSource& proposers,
                   const DraftOptions& draft) {
    Scheduler scheduler(model, /*tokenizer=*/nullptr, clock_,
                        {.batch_tokens = 128, .proposers = &proposers});
    TRY(Try(name + ", beside others",
            [&] { return AnsweredBesideOthers(scheduler, tokens_, draft); }));
    return Try(name + ", in turns", [&] { return AnsweredInTurns(scheduler, tokens_, draft); });
  }

  Status TryThreads(const LocalModel& model, size_t threads) {
    LocalModelOptions varied = options_.model;
    varied.threads = threads;
    const auto variant = TRY(LocalModel::ShareWeights(model, varied));
    return Try(fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"),
               [&] { return InChunks(*variant, tokens_, kDefaultChunk); });
  }

  Status TryIsa(const LocalModel& model, kernels::Isa isa) {
    LocalModelOptions varied = options_.model;
    varied.isa = isa;
    const auto variant = TRY(LocalModel::ShareWeights(model, varied));
    return Try(fmt::format("with {}", kernels::IsaName(isa)),
               [&] { return InChunks(*variant, tokens_, kDefaultChunk); });
  }

  // As many layers as wanted, and half of them; and KV rows transferred between GPU and processor.
  Status TryGpu(uint32_t layer_count) {
    const uint32_t most = MostGpuLayers(layer_count);
    if (most >= 2) {
      const auto half = TRY(Load(most / 2));
      TRY(Try("half of it on the GPU", [&] { return InChunks(*half, tokens_, 64); }));
    }
    const auto gpu = TRY(Load(most));
    TRY(Try("on the GPU", [&] { return InChunks(*gpu, tokens_, tokens_.size()); }));
    TRY(Try("on the GPU, in chunks of 7", [&] { return InChunks(*gpu, tokens_, 7); }));
    TRY(Try("on the GPU, after a rewind", [&] { return AfterRewinding(*gpu, tokens_); }));
    TRY(Try("on the GPU, beside other texts", [&] { return BatchedWithOthers(*gpu, tokens_); }));
    TRY(Try("on the GPU, sharing a prefix", [&] { return SharingAPrefix(*gpu, tokens_); }));
    Scheduler scheduler(*gpu, /*tokenizer=*/nullptr, clock_, {.batch_tokens = 128});
    TRY(Try("on the GPU, answered beside others",
            [&] { return AnsweredBesideOthers(scheduler, tokens_); }));
    OracleProposers knowing(kAcceptedPercent);
    knowing.AddText({tokens_.begin(), tokens_.end()});
    TRY(TryDrafts("on the GPU, with draft tokens", *gpu, knowing,
                  {.kind = DraftKind::kModel, .most = 6}));
    const auto cpu = TRY(Load(0));
    TRY(Try("from the GPU to the processor", [&] { return Transferred(*gpu, *cpu, tokens_); }));
    return Try("from the processor to the GPU", [&] { return Transferred(*cpu, *gpu, tokens_); });
  }

  // Layers divided between all GPUs, if there are several.
  Status TryGpus(uint32_t layer_count) {
    if (found_gpus_ < 2) return Ok();
    const auto model = TRY(Load(MostGpuLayers(layer_count), SIZE_MAX));
    if (model->gpu_count() < 2) return Ok();
    const std::string name = fmt::format("on {} GPUs", model->gpu_count());
    TRY(Try(name, [&] { return InChunks(*model, tokens_, tokens_.size()); }));
    TRY(Try(name + ", in chunks of 7", [&] { return InChunks(*model, tokens_, 7); }));
    return Try(name + ", beside other texts", [&] { return BatchedWithOthers(*model, tokens_); });
  }

  // Two parts of a group, the second one with its layers on the GPU: with rows of all matrices, and
  // with experts of its own, if the model can be divided so.
  Status TryGroups(const model::Shape& shape) {
    const model::GroupPart rows{.count = 2, .shares = {1, 1}};
    model::GroupPart experts = rows;
    experts.owns_experts = true;
    experts.replicas = 1;
    for (const model::GroupPart& group : {rows, experts}) {
      if (group.owns_experts && shape.experts.count == 0) continue;
      if (!model::CheckGroup(group, shape).ok()) continue;
      std::vector<std::unique_ptr<LocalModel>> parts;
      for (const uint32_t i : {0u, 1u}) {
        model::Slice slice = model::Slice::Whole(shape);
        slice.part = group.At(i);
        parts.push_back(TRY(Load(i == 0 ? 0 : MostGpuLayers(shape.layer_count), 1, slice)));
      }
      const char* const of_what = group.owns_experts ? ", with experts of their own" : "";
      TRY(Try(fmt::format("as a group of the processor and the GPU{}", of_what),
              [&] { return InGroup(parts, tokens_, 40); }));
    }
    return Ok();
  }

  // Only where the model can be cut.
  Status TrySlices(std::vector<uint32_t> cuts, const model::Shape& shape) {
    std::erase_if(cuts, [&](uint32_t cut) { return !shape.can_begin(cut); });
    if (cuts.empty()) return Ok();
    return Try(fmt::format("cut at layer {}", fmt::join(cuts, " and ")),
               [&] { return InSlices(files_, options_, tokens_, cuts, shape.layer_count); });
  }

  const gguf::ModelFiles& files_;
  const Tokens tokens_;
  const VerifyOptions& options_;
  const Clock& clock_;
  const VerifySink& sink_;
  std::vector<VerifiedWay> ways_;
  size_t found_gpus_ = 0;
};

}  // namespace

// The first half is the prompt; the second is the answer, as nothing else is allowed. Two other
// texts are answered beside it, one of them from the beginning.
Result<Hash128> AnsweredBesideOthers(Generator& generator, Tokens tokens,
                                     const DraftOptions& draft) {
  const size_t half = (tokens.size() + 1) / 2;
  LogitsHash hash;
  if (half > 1) {
    TRY(generator.LogitsOf(tokens.first(half - 1), kDefaultChunk,
                           [&](std::span<const float> row) { return hash.Add(row); }));
  }
  const std::vector<int32_t> other(tokens.rbegin(), tokens.rend());
  Sequence first = generator.NewSequence();
  Sequence mine = generator.NewSequence();
  Sequence last = generator.NewSequence();
  first.SetHistory(Tokens(other).first(half));
  mine.SetHistory(tokens.first(half));
  last.SetHistory(Tokens(other).subspan(1));
  Status status = FailedPrecondition("the request never ended");
  const uint64_t count = tokens.size() - half + 1;
  const auto limit = static_cast<uint32_t>(2 * tokens.size());
  const auto allow_next = [&](Tokens history, std::span<float> logits) {
    static_cast<void>(hash.Add(logits));
    if (history.size() == tokens.size()) return;
    const int32_t next = tokens[history.size()];
    std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
    logits[next] = 0;
  };
  // One request is a step ahead of the text's, one begins from its first token: batches are uneven.
  TRY(generator.Submit(
      {.sequence = &first, .draft = draft, .max_tokens = count, .context_limit = limit}));
  TRY(generator.Step());
  TRY(generator.Submit({.sequence = &mine,
                        .edit_logits = allow_next,
                        .draft = draft,
                        .max_tokens = count,
                        .context_limit = limit,
                        .on_finish = [&](const Finish& finish) { status = finish.status; }}));
  TRY(generator.Submit(
      {.sequence = &last, .draft = draft, .max_tokens = count, .context_limit = limit}));
  while (!generator.idle()) TRY(generator.Step());
  TRY(std::move(status));
  return hash.Digest();
}

Status AnswerWith(Generator& generator, Sequence& sequence, Tokens tokens, size_t end,
                  const DraftOptions& draft, LogitsHash& hash) {
  const size_t begin = sequence.length();
  Status status = FailedPrecondition("the request never ended");
  const auto allow_next = [&](Tokens history, std::span<float> logits) {
    static_cast<void>(hash.Add(logits));
    if (history.size() == tokens.size()) return;
    const int32_t next = tokens[history.size()];
    std::fill(logits.begin(), logits.end(), -std::numeric_limits<float>::infinity());
    logits[next] = 0;
  };
  TRY(generator.Submit({.sequence = &sequence,
                        .edit_logits = allow_next,
                        .draft = draft,
                        .max_tokens = end - begin + 1,
                        .context_limit = static_cast<uint32_t>(2 * tokens.size()),
                        .on_finish = [&](const Finish& finish) { status = finish.status; }}));
  while (!generator.idle()) TRY(generator.Step());
  return status;
}

namespace {

// Hashes the logits after tokens [begin, end), computed as a separate text.
Status HashRows(Generator& generator, Tokens tokens, size_t begin, size_t end, LogitsHash& hash) {
  size_t row = 0;
  if (begin == end) return Ok();
  return generator.LogitsOf(tokens.first(end), kDefaultChunk, [&](std::span<const float> logits) {
    return row++ < begin ? Ok() : hash.Add(logits);
  });
}

}  // namespace

Result<Hash128> AnsweredInTurns(Generator& generator, Tokens tokens, const DraftOptions& draft) {
  // Two thirds of each turn are prompt, one third is the answer.
  const size_t size = tokens.size();
  const size_t asked = std::max<size_t>(size / 3, 1), said = std::max<size_t>(size / 2, 1);
  const size_t asked_again = std::max<size_t>(size * 5 / 6, 1);
  LogitsHash hash;
  Sequence sequence = generator.NewSequence();
  TRY(HashRows(generator, tokens, 0, asked - 1, hash));
  sequence.SetHistory(tokens.first(asked));
  TRY(AnswerWith(generator, sequence, tokens, said, draft, hash));
  // The token after the answer was chosen and never computed.
  if (said + 1 < asked_again) {
    TRY(HashRows(generator, tokens, said, asked_again - 1, hash));
    sequence.SetHistory(tokens.first(asked_again));
    TRY(AnswerWith(generator, sequence, tokens, size, draft, hash));
  } else {
    TRY(HashRows(generator, tokens, said, size, hash));
  }
  return hash.Digest();
}

Result<std::vector<VerifiedWay>> Verify(const gguf::ModelFiles& files,
                                        std::span<const int32_t> tokens,
                                        const VerifyOptions& options, const Clock& clock,
                                        const VerifySink& sink) {
  if (tokens.size() < 2)
    return InvalidArgument("at least two tokens are needed to compute them in different ways");
  return Verifier(files, tokens, options, clock, sink).Run();
}

bool AllEqual(std::span<const VerifiedWay> ways) {
  return std::all_of(ways.begin(), ways.end(),
                     [&](const VerifiedWay& way) { return way.hash == ways[0].hash; });
}

}  // namespace aster::engine
