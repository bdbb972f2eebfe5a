// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster perplexity: how well a model predicts a text, and how far two models, or two files of
// logits, differ.
#include "engine/perplexity.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/mapped_file.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/eval/perplexity_ensemble.h"
#include "cli/options/cluster_options.h"
#include "cli/options/ensemble_options.h"
#include "cli/options/model_options.h"
#include "cli/options/ranges.h"
#include "cli/options/token_ids.h"
#include "cli/terminal/progress.h"
#include "kernels/isa_choice.h"
#include "open/builtin_models.h"
#include "open/load_model.h"
#include "open/load_tokenizer.h"
#include "open/model_files.h"
#include "open/open_model.h"
#include "text/vocab_reader.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

// For chunks with several vocabularies.
constexpr uint32_t kBytesPerToken = 4;

struct PerplexityFlags {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  std::string against;
  std::string text_path;
  std::string ids_path;
  uint32_t context = 512;
  uint64_t max_chunks = 0;  // 0: all
  std::vector<std::string> logits;
  uint32_t vocab_size = 0;
  EnsembleFlags ensemble;
  bool json = false;
};

// The input: a text in chunks of one length, each beginning like a text of its own.
struct Chunks {
  std::vector<int32_t> tokens;
  uint32_t length = 0;
  uint64_t count = 0;
  // Of the scored tokens, as text. Nullopt without a vocabulary, or if unknown tokens stand for
  // unknown bytes.
  std::optional<uint64_t> scored_bytes;

  std::span<const int32_t> At(uint64_t index) const {
    return std::span(tokens).subspan(index * length, length);
  }
};

// The bytes of every chunk's second half, without its first token, whose prediction is not scored.
std::optional<uint64_t> ScoredBytes(const Chunks& chunks, const text::Tokenizer& tokenizer) {
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < chunks.count; ++i) {
    for (const int32_t token : chunks.At(i).subspan(chunks.length / 2 + 1)) {
      const auto token_bytes = tokenizer.TokenBytes(token);
      if (!token_bytes.ok()) return std::nullopt;
      const text::TokenType type = tokenizer.vocab().types[static_cast<size_t>(token)];
      if (type == text::TokenType::kUnknown) return std::nullopt;
      if (type != text::TokenType::kControl) bytes += token_bytes->size();
    }
  }
  return bytes == 0 ? std::nullopt : std::optional(bytes);
}

Result<Chunks> ReadChunks(const PerplexityFlags& options, const gguf::ModelFiles& files,
                          Console& console) {
  Chunks chunks;
  int32_t bos = text::kNoToken;
  std::unique_ptr<text::Tokenizer> tokenizer;
  if (options.ids_path.empty() || text::HasVocab(files.metadata())) {
    tokenizer = TRY(open::LoadTokenizer(files, options.model.paths.front(), console));
  }
  if (!options.ids_path.empty()) {
    chunks.tokens = TRY(ReadIds(options.ids_path));
  } else {
    const std::string text = TRY(ReadFile(options.text_path, text::kMaxTextBytes));
    chunks.tokens = TRY(tokenizer->Encode(text, {.add_special = true}).In(options.text_path));
    if (tokenizer->vocab().add_bos) bos = tokenizer->vocab().special.bos;
  }
  const std::string& path = options.ids_path.empty() ? options.text_path : options.ids_path;
  if (chunks.tokens.size() < 4) {
    return InvalidArgument(fmt::format("{}: {} tokens are too few to predict one from another",
                                       path, chunks.tokens.size()));
  }
  chunks.length = static_cast<uint32_t>(std::min<size_t>(options.context, chunks.tokens.size()));
  chunks.count = chunks.tokens.size() / chunks.length;
  if (options.max_chunks > 0) chunks.count = std::min(chunks.count, options.max_chunks);
  for (uint64_t i = 0; i < chunks.count && bos != text::kNoToken; ++i) {
    chunks.tokens[i * chunks.length] = bos;
  }
  if (tokenizer) chunks.scored_bytes = ScoredBytes(chunks, *tokenizer);
  return chunks;
}

// Models with different vocabularies cut a text into different tokens, but into the same bytes.
double BitsPerByte(const engine::Perplexity& perplexity, double nll, uint64_t bytes) {
  const auto count = static_cast<double>(perplexity.count());
  return nll * count / std::log(2.0) / static_cast<double>(bytes);
}

ordered_json PerplexityJson(const engine::Perplexity& perplexity, std::optional<uint64_t> bytes) {
  const engine::RunningMean& nll = perplexity.nll();
  ordered_json json = {{"perplexity", perplexity.value()}, {"perplexity_error", perplexity.error()},
                       {"mean_surprise", nll.mean()},      {"mean_surprise_error", nll.error()},
                       {"bits_per_byte", nullptr},         {"bits_per_byte_error", nullptr}};
  if (bytes) {
    json["bits_per_byte"] = BitsPerByte(perplexity, nll.mean(), *bytes);
    json["bits_per_byte_error"] = BitsPerByte(perplexity, nll.error(), *bytes);
  }
  return json;
}

ordered_json DivergenceJson(const engine::DivergenceReport& report) {
  return {{"rows", report.count},
          {"mean", report.mean},
          {"mean_error", report.mean_error},
          {"median", report.median},
          {"percentile_90", report.percentile_90},
          {"percentile_99", report.percentile_99},
          {"largest", report.largest},
          {"same_top", report.same_top},
          {"largest_logit_difference", report.largest_difference},
          {"equal_rows", report.equal_rows}};
}

void PrintDivergence(const engine::DivergenceReport& report, Console& console) {
  console.Print(
      "KL divergence of the second from the first, in nats\n"
      "  mean    {:.6g} ± {:.2g}\n  median  {:.6g}\n  90 %    {:.6g}\n  99 %    {:.6g}\n"
      "  largest {:.6g}\n",
      report.mean, report.mean_error, report.median, report.percentile_90, report.percentile_99,
      report.largest);
  console.Print(
      "same most likely token  {:.2f} %\n"
      "largest difference of a logit  {:.6g}\n",
      100 * report.same_top, report.largest_difference);
  console.Print("rows  {}, of which {} are equal to the last bit\n", report.count,
                report.equal_rows);
}

// The models, one or two, and their collected results.
class TextRun {
 public:
  TextRun(const PerplexityFlags& options, Console& console)
      : options_(options), console_(console) {}

  Result<ExitStatus> Compute() {
    const gguf::ModelFiles files =
        TRY(open::OpenModelFiles(options_.model.paths, options_.cluster));
    const Chunks chunks = TRY(ReadChunks(options_, files, console_));
    std::optional<gguf::ModelFiles> second_files;
    TRY(Add(files));
    if (!options_.against.empty()) {
      second_files = TRY(gguf::ModelFiles::Open(options_.against));
      TRY(Add(*second_files));
    }
    TRY(Check(chunks));
    const int64_t start_ns = clock_.NowNs();
    TRY(ComputeChunks(chunks));
    const double seconds = static_cast<double>(clock_.NowNs() - start_ns) * 1e-9;
    if (nodes_) TRY(nodes_->Save());
    if (options_.json) {
      PrintJson(chunks, seconds);
    } else {
      PrintText(chunks, seconds);
    }
    return kExitOk;
  }

 private:
  Status Add(const gguf::ModelFiles& files) {
    perplexities_.emplace_back(TRY(kernels::IsaFromEnvironment()));
    if (options_.cluster.wants_nodes()) {
      nodes_ =
          TRY(open::OpenModel(files, /*tokenizer=*/nullptr, clock_,
                              {.model = &options_.model, .cluster = &options_.cluster}, console_));
      shapes_.push_back(&nodes_->generator().shape());
      return Ok();
    }
    owned_.push_back(TRY(open::LoadModel(files, options_.model, console_)));
    models_.push_back(owned_.back().get());
    shapes_.push_back(&models_.back()->shape());
    return Ok();
  }

  Status Check(const Chunks& chunks) const {
    const model::Shape& shape = *shapes_[0];
    for (const model::Shape* other : shapes_) {
      if (other->vocab_size != shape.vocab_size) {
        return InvalidArgument(
            fmt::format("{} tokens in one vocabulary and {} in the other: models can be compared "
                        "only with the same vocabulary",
                        shape.vocab_size, other->vocab_size));
      }
      if (chunks.length > other->context_length) {
        return InvalidArgument(fmt::format("--ctx {}: the model was trained for {} positions",
                                           chunks.length, other->context_length));
      }
    }
    for (const int32_t token : chunks.tokens) {
      if (static_cast<uint32_t>(token) < shape.vocab_size) continue;
      return InvalidArgument(
          fmt::format("token {} is not in the vocabulary, which has {}", token, shape.vocab_size));
    }
    return Ok();
  }

  Status ComputeChunks(const Chunks& chunks) {
    divergence_.emplace(TRY(kernels::IsaFromEnvironment()));
    Progress progress(console_, clock_, "computing", Progress::Unit::kTokens);
    const uint64_t total = chunks.count * chunks.length;
    uint64_t done = 0;
    for (uint64_t i = 0; i < chunks.count; ++i) {
      const std::span<const int32_t> tokens = chunks.At(i);
      const auto add = [&](size_t position, std::span<const std::span<const float>> rows) {
        return AddRows(rows, tokens[position + 1]);
      };
      const auto show = [&](uint64_t count) { progress.Update(done += count, total); };
      if (nodes_) {
        TRY(ComputeOnNodes(tokens, add, show));
      } else {
        TRY(engine::ComputeRows(models_, tokens, chunks.length / 2, add, show));
      }
      progress.SetLabel(fmt::format("perplexity {:.4f}", perplexities_[0].value()));
    }
    return Ok();
  }

  // As engine::ComputeRows, from the logits of all positions.
  Status ComputeOnNodes(std::span<const int32_t> tokens, engine::RowsSink sink,
                        engine::TokensDone done) {
    size_t position = 0;
    return nodes_->generator().LogitsOf(
        tokens, engine::kDefaultChunk, [&](std::span<const float> row) -> Status {
          const size_t current = position++;
          done(1);
          if (current < tokens.size() / 2 || current + 1 == tokens.size()) return Ok();
          return sink(current, {&row, 1});
        });
  }

  Status AddRows(std::span<const std::span<const float>> rows, int32_t next) {
    for (size_t m = 0; m < rows.size(); ++m) TRY(perplexities_[m].Add(rows[m], next));
    if (rows.size() == 2) TRY(divergence_->Add(rows[0], rows[1]));
    return Ok();
  }

  void PrintJson(const Chunks& chunks, double seconds) {
    ordered_json json = {{"context", chunks.length},
                         {"chunks", chunks.count},
                         {"tokens", chunks.count * chunks.length},
                         {"scored", perplexities_[0].count()},
                         {"scored_bytes", nullptr}};
    if (chunks.scored_bytes) json["scored_bytes"] = *chunks.scored_bytes;
    json.update(PerplexityJson(perplexities_[0], chunks.scored_bytes));
    if (perplexities_.size() == 2) {
      json["second"] = PerplexityJson(perplexities_[1], chunks.scored_bytes);
      json["divergence"] = DivergenceJson(divergence_->Report());
    }
    if (nodes_ != nullptr && !nodes_->inexact().empty()) json["inexact"] = nodes_->inexact();
    json["seconds"] = seconds;
    console_.Print("{}\n", json.dump(2));
  }

  void PrintText(const Chunks& chunks, double seconds) {
    for (size_t m = 0; m < perplexities_.size(); ++m) {
      console_.Print("perplexity  {:.4f} ± {:.4f}  {}\n", perplexities_[m].value(),
                     perplexities_[m].error(),
                     m == 0 ? options_.model.paths.front() : options_.against);
      if (!chunks.scored_bytes) continue;
      const engine::RunningMean& nll = perplexities_[m].nll();
      console_.Print("bits per byte  {:.4f} ± {:.4f}\n",
                     BitsPerByte(perplexities_[m], nll.mean(), *chunks.scored_bytes),
                     BitsPerByte(perplexities_[m], nll.error(), *chunks.scored_bytes));
    }
    if (perplexities_.size() == 2) PrintDivergence(divergence_->Report(), console_);
    const auto tokens = static_cast<double>(chunks.count * chunks.length);
    console_.Print("{} tokens scored in {} chunks of {}; {}, {}\n", perplexities_[0].count(),
                   chunks.count, chunks.length, FormatDuration(static_cast<int64_t>(seconds * 1e9)),
                   FormatRate(tokens / std::max(seconds, 1e-9), "tokens"));
  }

  const PerplexityFlags& options_;
  Console& console_;
  const SystemClock clock_;
  // Local, or on nodes.
  std::vector<std::unique_ptr<engine::LocalModel>> owned_;
  std::vector<engine::LocalModel*> models_;
  std::unique_ptr<open::OpenedModel> nodes_;
  std::vector<const model::Shape*> shapes_;       // per model
  std::vector<engine::Perplexity> perplexities_;  // per model
  std::optional<engine::Divergence> divergence_;
};

// The logits per row: as given, or the vocabulary of the given model.
Result<uint32_t> RowLength(const PerplexityFlags& options) {
  if (options.vocab_size > 0) return options.vocab_size;
  if (options.model.paths.empty()) {
    return InvalidArgument(
        "files of logits do not say how long their rows are: give --vocab N, or the model");
  }
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options.model.paths));
  return TRY(model::ReadShape(files.metadata())).vocab_size;
}

Result<ExitStatus> CompareLogits(const PerplexityFlags& options, Console& console) {
  const size_t length = TRY(RowLength(options));
  const MappedFile first = TRY(MappedFile::Open(options.logits[0]));
  const MappedFile second = TRY(MappedFile::Open(options.logits[1]));
  const size_t row_bytes = length * sizeof(float);
  const size_t bytes = first.bytes().size();
  if (bytes != second.bytes().size() || bytes == 0 || bytes % row_bytes != 0) {
    return InvalidArgument(
        fmt::format("{} and {} bytes: both files must have as many rows of {} float32", bytes,
                    second.bytes().size(), length));
  }
  engine::Divergence divergence(TRY(kernels::IsaFromEnvironment()));
  const SystemClock clock;
  Progress progress(console, clock, "comparing");
  for (size_t offset = 0; offset < bytes; offset += row_bytes) {
    const auto row = [&](const MappedFile& file) {
      return std::span(reinterpret_cast<const float*>(file.bytes().data() + offset), length);
    };
    TRY(divergence.Add(row(first), row(second)).In(fmt::format("row {}", offset / row_bytes)));
    progress.Update(offset, bytes);
  }
  if (options.json) {
    const ordered_json json = {{"divergence", DivergenceJson(divergence.Report())}};
    console.Print("{}\n", json.dump(2));
  } else {
    PrintDivergence(divergence.Report(), console);
  }
  return kExitOk;
}

Result<ExitStatus> RateTogether(const PerplexityFlags& options, Console& console) {
  const std::string path = options.text_path.empty()
                               ? TRY(open::FindBesideModels(open::kHeldOutText))
                               : options.text_path;
  return RateTextTogether({.model = &options.model,
                           .cluster = &options.cluster,
                           .ensemble = &options.ensemble,
                           .path = path,
                           .chunk_bytes = options.context * kBytesPerToken,
                           .max_chunks = options.max_chunks,
                           .json = options.json},
                          console);
}

constexpr const char* kPerplexityFooter =
    "The text is cut into chunks, each computed as a text of its own (from the token that begins "
    "texts, where the\n"
    "model has one); the tokens of its second half are scored, so that each is predicted from at "
    "least half a chunk.\n"
    "Tokens after the last whole chunk are ignored. Bits per byte compare models of different "
    "vocabularies.\n"
    "With --ensemble: several models byte by byte, beside the mean of their predictions; a "
    "chunk has 4 bytes for each\n"
    "token of --ctx.\n"
    "  aster perplexity nova\n"
    "  aster perplexity --ensemble nova,pulsar\n"
    "  aster perplexity m.gguf --file wiki.txt\n"
    "  aster perplexity f16.gguf --against q4.gguf --file wiki.txt --ctx 1024 --json\n"
    "  aster perplexity m.gguf --logits a.f32 --logits b.f32";

}  // namespace

Run DeclarePerplexity(CLI::App& app) {
  auto options = std::make_shared<PerplexityFlags>();
  DeclareModelOptions(app, options->model);
  DeclareKvCacheOptions(app, options->model.kv_cache);
  DeclareClusterOptions(app, options->cluster);
  CLI::Option* text =
      app.add_option("--file", options->text_path,
                     "Text file (default: stories that no built-in model was trained on)")
          ->type_name("TEXT");
  CLI::Option* ids = app.add_option("--ids", options->ids_path, "File of token ids")
                         ->excludes(text)
                         ->type_name("FILE");
  app.add_option("--ctx", options->context,
                 "Length of each chunk in tokens; its second half is scored")
      ->check(CLI::Range(4, 1 << 24))
      ->type_name("N");
  app.add_option("--chunks", options->max_chunks, "Number of chunks (default: all)")
      ->check(NotNegative())
      ->type_name("N");
  app.add_option("--against", options->against, "Second model, to compare with the first")
      ->type_name("MODEL2");
  CLI::Option* logits =
      app.add_option("--logits", options->logits, "File of `aster logits`; give two")
          ->allow_extra_args(false)
          ->excludes(text)
          ->excludes(ids)
          ->type_name("FILE");
  app.add_option("--vocab", options->vocab_size,
                 "With --logits and without a model: logits in a row")
      ->needs(logits)
      ->check(CLI::Range(1, 1 << 24))
      ->type_name("N");
  app.add_flag("--json", options->json, "Print one JSON document");
  CLI::Option* members = DeclareEnsembleMembers(app, options->ensemble)->excludes(logits);
  for (const char* other : {"model", "--ids", "--against"})
    members->excludes(app.get_option(other));
  app.callback([=] {
    if (!logits->empty() && options->logits.size() != 2) {
      throw CLI::ValidationError("--logits", "give two files");
    }
    if (options->cluster.wants_nodes() && !(options->against.empty() && logits->empty())) {
      throw CLI::ValidationError(
          "--against and --logits compare on this machine; `aster logits` writes the logits of "
          "nodes");
    }
  });
  app.footer(kPerplexityFooter);
  return [options](Console& console) -> Result<ExitStatus> {
    if (!options->logits.empty()) {
      if (!options->model.paths.empty()) TRY(options->model.Find());
      return CompareLogits(*options, console);
    }
    if (options->ensemble.is_wanted()) return RateTogether(*options, console);
    TRY(options->model.Find());
    if (!options->against.empty()) options->against = TRY(open::FindModel(options->against));
    if (options->text_path.empty() && options->ids_path.empty()) {
      options->text_path = TRY(open::FindBesideModels(open::kHeldOutText));
    }
    return TextRun(*options, console).Compute();
  };
}

}  // namespace aster::cli
