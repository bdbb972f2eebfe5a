// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Measures offline how many draft tokens a model would accept. The model's greedy answers are
// walked through as a speculative loop would: draft tokens count up to the first one that the model
// would not have chosen itself, and the loop continues behind that one. Drafts come from the text
// before (draft/ngram_proposer.h), from a second model with the same vocabulary, and from the
// model's own drafter: its block for multi-token prediction, or a drafter of blocks given as
// --draft (model/files/block_shape.h).
//
// --trees: what draft trees would gain over chains of as many draft tokens. The rank that the
// drafter gave to each token of the answers, behind the true text before it, is enough to know
// this: a tree of fixed shape accepts a token if its rank is among the children of the node that is
// reached. The shape is chosen by how often the token of each rank is right.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/folders_for_test.h"
#include "draft/ngram_proposer.h"
#include "draft/proposers.h"
#include "engine/generate.h"
#include "gguf/model_files.h"
#include "jinja/template.h"
#include "kv/pool.h"
#include "model/drafters/mtp_block.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster {
namespace {

using nlohmann::ordered_json;
using Tokens = std::vector<int32_t>;

constexpr uint32_t kLongestDraft = 8;
constexpr size_t kMaxPromptBytes = size_t{1} << 24;

struct Prompt {
  std::string kind;
  Tokens tokens;
  Tokens answer;  // greedy, with the token that ends it
};

class Model {
 public:
  static Result<std::unique_ptr<Model>> Open(const std::vector<std::string>& paths) {
    auto model = std::make_unique<Model>();
    model->files_ = std::make_unique<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(paths)));
    model->tokenizer_ = TRY(
        text::Tokenizer::Make(TRY(text::ReadVocab(model->files_->metadata()).In(paths.front()))));
    engine::LocalModelOptions options;
    options.drafter = model->files_->drafter();
    model->model_ = TRY(engine::LocalModel::Load(*model->files_, options));
    model->sequence_ = std::make_unique<engine::Sequence>(*model->model_);
    return model;
  }

  const text::Vocab& vocab() const { return tokenizer_->vocab(); }
  bool has_next() const { return model_->weights().mtp != nullptr; }
  bool has_own_drafter() const { return has_next() || files_->drafter() != nullptr; }

  Result<Tokens> Render(const std::string& prompt) const {
    const auto source = TRY(files_->metadata().Get<std::string_view>("tokenizer.chat_template"));
    const auto chat = TRY(jinja::ChatTemplate::Parse(source));
    const std::string text =
        TRY(chat.Render({{"messages", {{{"role", "user"}, {"content", prompt}}}},
                         {"add_generation_prompt", true}}));
    return tokenizer_->Encode(text, {.parse_special = true});
  }

  // The prefix shared with the text of the last call is not computed again.
  Result<Tokens> Answer(const Tokens& text, uint64_t max_tokens) {
    sequence_->SetHistory(text);
    engine::Request request;
    request.sequence = sequence_.get();
    request.sampling.temperature = 0;
    request.max_tokens = max_tokens;
    request.stop_tokens = vocab().end_of_generation;
    return TRY(engine::Generate(*model_, tokenizer_.get(), clock_, std::move(request))).tokens;
  }

  // The rank, from 0 on, of each token of the answer behind the text before it: computed by this
  // model, or by its block for the tokens behind the next one.
  Result<std::vector<uint32_t>> Ranks(const Prompt& prompt, bool by_block) {
    Tokens text = prompt.tokens;
    text.insert(text.end(), prompt.answer.begin(), prompt.answer.end());
    engine::Sequence sequence(*model_);
    const auto width = model_->shape().hidden_width();
    std::vector<float> hidden;
    std::vector<uint32_t> ranks;
    const size_t first = prompt.tokens.size();
    for (size_t begin = 0; begin + 1 < text.size(); begin += kRowsAtOnce) {
      const size_t count = std::min(kRowsAtOnce, text.size() - 1 - begin);
      TRY(sequence.table().Reserve(static_cast<uint32_t>(count)));
      const model::Segment segment{.table = &sequence.table(),
                                   .tokens = std::span(text).subspan(begin, count),
                                   .wanted = model::Wanted::kAll,
                                   .hidden_wanted = model::Wanted::kAll};
      model::ForwardJob job = TRY(model_->Begin(std::span(&segment, 1)));
      const model::Output output = TRY(job.Finish());
      hidden.insert(hidden.end(), output.hidden.begin(), output.hidden.end());
      if (!by_block) AddRanks(output.logits, text, begin + 1, first, ranks);
    }
    if (!by_block) return ranks;
    const kv::Layout layout =
        TRY(model::MakeMtpLayout(model_->shape(), model_->memory_options(), model_->name()));
    kv::Pool pages(kBlockBytes);
    kv::PageTable table(layout, pages, layout.all_layers());
    model::MtpBlock next(model_->weights(), model_->memory_options(), model_->backend());
    // Pair i is token i + 1 with the row behind token i; what it proposes is token i + 2.
    for (size_t begin = 0; begin + 2 < text.size(); begin += kRowsAtOnce) {
      const size_t count = std::min(kRowsAtOnce, text.size() - 2 - begin);
      const model::Output output =
          TRY(next.Run(table, std::span(text).subspan(begin + 1, count),
                       hidden.data() + begin * width, model::RowsOf::kModel, model::Wanted::kAll));
      AddRanks(output.logits, text, begin + 2, first, ranks);
    }
    return ranks;
  }

  // What the model's own drafter proposes behind the text before each token of the answer.
  Result<std::vector<Tokens>> OwnDrafts(const Prompt& prompt) {
    Tokens text = prompt.tokens;
    text.insert(text.end(), prompt.answer.begin(), prompt.answer.end());
    draft::Proposers source(model_.get());
    engine::Request request;
    request.sampling.temperature = 0;
    request.draft = {.kind = engine::DraftKind::kMtp, .most = kLongestDraft};
    const auto proposer = TRY(source.Make(request));
    const bool is_tapped = proposer->follows() == engine::Follows::kTapped;
    const size_t width = is_tapped ? model_->taps().size() * model_->shape().embedding
                                   : model_->shape().hidden_width();
    const std::vector<float> rows = TRY(RowsOf(text, is_tapped));
    std::vector<Tokens> drafts;
    size_t told = 0;
    for (size_t at = 0; at < prompt.answer.size(); ++at) {
      const auto history = std::span(text).first(prompt.tokens.size() + at);
      const auto fresh = std::span(rows).subspan(told * width, (history.size() - 1 - told) * width);
      proposer->Follow(history, static_cast<uint32_t>(told), fresh);
      told = history.size() - 1;
      TRY(proposer->Propose(history, kLongestDraft, drafts.emplace_back()));
    }
    return drafts;
  }

 private:
  // The rows of every token of a text but the last: those behind the last layer, or behind the
  // layers that a drafter of blocks taps.
  Result<std::vector<float>> RowsOf(const Tokens& text, bool is_tapped) {
    engine::Sequence sequence(*model_);
    std::vector<float> rows;
    for (size_t begin = 0; begin + 1 < text.size(); begin += kRowsAtOnce) {
      const auto tokens =
          std::span(text).subspan(begin, std::min(kRowsAtOnce, text.size() - 1 - begin));
      const auto all = model::Wanted::kAll, none = model::Wanted::kNone;
      const model::Segment segment{.table = &sequence.table(),
                                   .tokens = tokens,
                                   .wanted = none,
                                   .hidden_wanted = is_tapped ? none : all,
                                   .tapped_wanted = is_tapped ? all : none};
      const model::Output output = TRY(model_->Run(std::span(&segment, 1)));
      const std::span<const float> given = is_tapped ? output.tapped : output.hidden;
      rows.insert(rows.end(), given.begin(), given.end());
    }
    return rows;
  }

  static constexpr size_t kRowsAtOnce = 128;
  static constexpr uint64_t kBlockBytes = uint64_t{1} << 28;

  // Appends the ranks of the tokens from `begin` on, to which the logits belong. Tokens before
  // `first` are the prompt's and are skipped.
  void AddRanks(std::span<const float> logits, const Tokens& text, size_t begin, size_t first,
                std::vector<uint32_t>& ranks) const {
    const size_t vocab_size = model_->shape().vocab_size;
    for (size_t row = 0; (row + 1) * vocab_size <= logits.size(); ++row) {
      if (begin + row < first) continue;
      const auto of_row = logits.subspan(row * vocab_size, vocab_size);
      const float own = of_row[static_cast<size_t>(text[begin + row])];
      ranks.push_back(static_cast<uint32_t>(
          std::ranges::count_if(of_row, [own](float other) { return other > own; })));
    }
  }

  SystemClock clock_;
  std::unique_ptr<gguf::ModelFiles> files_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<engine::LocalModel> model_;
  std::unique_ptr<engine::Sequence> sequence_;
};

// What a speculative loop would have counted.
struct Counts {
  uint64_t steps = 0;     // of the target model
  uint64_t drafts = 0;    // steps with draft tokens
  uint64_t drafted = 0;   // draft tokens
  uint64_t accepted = 0;  // accepted draft tokens
  uint64_t tokens = 0;    // tokens of answers

  void operator+=(const Counts& other) {
    steps += other.steps;
    drafts += other.drafts;
    drafted += other.drafted;
    accepted += other.accepted;
    tokens += other.tokens;
  }
};

double Ratio(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// For each token of an answer, the draft tokens behind the text before it; empty if there are none.
using Drafts = std::vector<Tokens>;

Drafts NgramDrafts(const Prompt& prompt) {
  draft::NgramProposer proposer({.max_tokens = kLongestDraft});
  proposer.Append(prompt.tokens);
  Drafts drafts;
  for (const int32_t token : prompt.answer) {
    const auto proposed = proposer.Propose();
    drafts.emplace_back(proposed.begin(), proposed.end());
    proposer.Append(token);
  }
  return drafts;
}

Result<Drafts> ModelDrafts(Model& model, const Prompt& prompt) {
  Drafts drafts;
  Tokens text = prompt.tokens;
  for (const int32_t token : prompt.answer) {
    drafts.push_back(TRY(model.Answer(text, kLongestDraft)));
    text.push_back(token);
  }
  return drafts;
}

// A speculative loop that drafts up to `length` tokens in every step. The target's own choice
// follows the accepted tokens.
Counts Speculate(const Prompt& prompt, const Drafts& drafts, size_t length) {
  Counts counts{.tokens = prompt.answer.size()};
  for (size_t at = 0; at < prompt.answer.size();) {
    const size_t drafted = std::min(length, drafts[at].size());
    size_t accepted = 0;
    while (accepted < drafted && at + accepted < prompt.answer.size() &&
           drafts[at][accepted] == prompt.answer[at + accepted]) {
      ++accepted;
    }
    ++counts.steps;
    counts.drafts += drafted > 0 ? 1 : 0;
    counts.drafted += drafted;
    counts.accepted += accepted;
    at += accepted + 1;
  }
  return counts;
}

// Counts by length of the drafts, from 1 on.
using ByLength = std::vector<Counts>;

struct Table {
  std::string name;  // the drafter
  std::map<std::string, ByLength> kinds;

  void Add(const Prompt& prompt, const Drafts& drafts) {
    for (const std::string& kind : {prompt.kind, std::string("all")}) {
      ByLength& rows = kinds[kind];
      rows.resize(kLongestDraft);
      for (size_t k = 1; k <= kLongestDraft; ++k) rows[k - 1] += Speculate(prompt, drafts, k);
    }
  }
};

Result<std::vector<Prompt>> ReadPrompts(const std::string& path, Model& target, uint64_t longest) {
  const std::string text = TRY(ReadFile(path, kMaxPromptBytes));
  std::vector<Prompt> prompts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const auto json = ordered_json::parse(text.substr(begin, end - begin), nullptr, false);
    begin = end + 1;
    if (!json.is_object() || !json.contains("kind") || !json.contains("prompt")) {
      return InvalidArgument(path + ": every line wants \"kind\" and \"prompt\"");
    }
    Prompt prompt{.kind = json["kind"], .tokens = {}, .answer = {}};
    prompt.tokens = TRY(target.Render(json["prompt"]));
    prompt.answer = TRY(target.Answer(prompt.tokens, longest));
    prompts.push_back(std::move(prompt));
  }
  return prompts;
}

// A tree of draft tokens. Nodes are in the order in which they were added, the most probable first.
// Node 0 is the token before them, which is certain.
struct DraftTree {
  struct Node {
    double value = 1;                // the probability that it is accepted
    std::vector<size_t> children{};  // by rank
  };
  std::vector<Node> nodes{{}};
};

// The `size` draft tokens that are most likely accepted, if the token of rank i behind accepted
// ones is right with probability share[i].
DraftTree BestTree(size_t size, const std::vector<double>& share) {
  DraftTree tree;
  while (tree.nodes.size() <= size) {
    size_t parent = 0;
    double most = -1;
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const size_t rank = tree.nodes[i].children.size();
      const double value = rank < share.size() ? tree.nodes[i].value * share[rank] : 0;
      if (value <= most) continue;
      most = value;
      parent = i;
    }
    tree.nodes[parent].children.push_back(tree.nodes.size());
    tree.nodes.push_back({.value = most});
  }
  return tree;
}

DraftTree Chain(size_t size) {
  DraftTree tree;
  for (size_t i = 0; i < size; ++i) {
    tree.nodes[i].children.push_back(i + 1);
    tree.nodes.push_back({});
  }
  return tree;
}

// Tokens per step, over answers whose tokens have these ranks.
double TokensPerStep(const DraftTree& tree, const std::vector<std::vector<uint32_t>>& answers) {
  uint64_t steps = 0, tokens = 0;
  for (const std::vector<uint32_t>& ranks : answers) {
    tokens += ranks.size();
    for (size_t at = 0; at < ranks.size(); ++at, ++steps) {
      for (size_t node = 0; at < ranks.size(); ++at) {
        if (ranks[at] >= tree.nodes[node].children.size()) break;
        node = tree.nodes[node].children[ranks[at]];
      }
    }
  }
  return Ratio(tokens, steps);
}

void PrintTrees(const std::string& name, const std::vector<std::vector<uint32_t>>& answers) {
  constexpr size_t kRanks = 8;
  std::vector<double> share(kRanks);
  size_t tokens = 0;
  for (const auto& ranks : answers) {
    tokens += ranks.size();
    for (const uint32_t rank : ranks) {
      if (rank < kRanks) ++share[rank];
    }
  }
  for (double& count : share) count /= static_cast<double>(std::max<size_t>(tokens, 1));
  fmt::print("{}: {} tokens; right by rank:", name, tokens);
  for (const double part : share) fmt::print(" {:.3f}", part);
  fmt::print("\n{:>14}{:>8}{:>8}{:>8}\n", "draft tokens", "chain", "tree", "gain");
  for (const size_t size : {2, 3, 4, 6, 8, 12, 16}) {
    const double chain = TokensPerStep(Chain(size), answers);
    const double tree = TokensPerStep(BestTree(size, share), answers);
    fmt::print("{:>14}{:>8.2f}{:>8.2f}{:>+7.1f} %\n", size, chain, tree, 100 * (tree / chain - 1));
  }
}

ordered_json ToJson(const std::vector<Table>& tables) {
  ordered_json json = ordered_json::array();
  for (const Table& table : tables) {
    for (const auto& [kind, rows] : table.kinds) {
      for (size_t k = 1; k <= rows.size(); ++k) {
        const Counts& counts = rows[k - 1];
        json.push_back({{"guesser", table.name},
                        {"kind", kind},
                        {"length", k},
                        {"tokens", counts.tokens},
                        {"steps", counts.steps},
                        {"guesses", counts.drafts},
                        {"guessed", counts.drafted},
                        {"accepted", counts.accepted},
                        {"steps_with_guess", Ratio(counts.drafts, counts.steps)},
                        {"accepted_per_guess", Ratio(counts.accepted, counts.drafts)},
                        {"acceptance", Ratio(counts.accepted, counts.drafted)},
                        {"tokens_per_step", Ratio(counts.tokens, counts.steps)}});
      }
    }
  }
  return {{"results", std::move(json)}};
}

void Print(const std::vector<Table>& tables) {
  fmt::print("{:<8}{:<11}{:>7}{:>8}{:>8}{:>12}{:>14}{:>12}{:>13}\n", "drafter", "kind", "length",
             "tokens", "steps", "with draft", "per draft", "acceptance", "tokens/step");
  for (const Table& table : tables) {
    for (const auto& [kind, rows] : table.kinds) {
      for (size_t k = 1; k <= rows.size(); ++k) {
        const Counts& c = rows[k - 1];
        fmt::print("{:<8}{:<11}{:>7}{:>8}{:>8}{:>10.1f} %{:>14.2f}{:>10.1f} %{:>13.2f}\n",
                   table.name, kind, k, c.tokens, c.steps, 100 * Ratio(c.drafts, c.steps),
                   Ratio(c.accepted, c.drafts), 100 * Ratio(c.accepted, c.drafted),
                   Ratio(c.tokens, c.steps));
      }
    }
  }
}

struct Options {
  std::string target;
  std::string draft;
  std::string prompts = ASTER_SOURCE_DIR "/bench/acceptance_prompts.jsonl";
  uint64_t longest = 300;
  bool json = false;
  bool trees = false;
};

Status CompareTrees(const std::vector<Prompt>& prompts, Model& target, Model* draft) {
  const auto compare = [&](const char* name, Model& drafter, bool by_block) -> Status {
    std::vector<std::vector<uint32_t>> answers;
    for (const Prompt& prompt : prompts) {
      if (prompt.answer.size() > 1) answers.push_back(TRY(drafter.Ranks(prompt, by_block)));
    }
    PrintTrees(name, answers);
    return Ok();
  };
  if (draft != nullptr) TRY(compare("model", *draft, /*by_block=*/false));
  if (target.has_next()) TRY(compare("MTP", target, /*by_block=*/true));
  return Ok();
}

Status Measure(const Options& options) {
  std::vector<std::string> paths = {options.target};
  std::unique_ptr<Model> draft;
  if (!options.draft.empty()) {
    const auto files = TRY(gguf::ModelFiles::Open(options.draft));
    if (model::HoldsBlockDrafter(files.metadata())) {
      paths.push_back(options.draft);
    } else {
      draft = TRY(Model::Open({options.draft}));
    }
  }
  const auto target = TRY(Model::Open(paths));
  if (draft && draft->vocab().tokens != target->vocab().tokens) {
    return InvalidArgument("the two models have different vocabularies");
  }
  const std::vector<Prompt> prompts = TRY(ReadPrompts(options.prompts, *target, options.longest));
  if (options.trees) return CompareTrees(prompts, *target, draft.get());
  std::vector<Table> tables;
  const auto add = [&](const char* name, const auto& drafts_for) -> Status {
    Table& table = tables.emplace_back();
    table.name = name;
    for (const Prompt& prompt : prompts) table.Add(prompt, TRY(drafts_for(prompt)));
    return Ok();
  };
  TRY(add("n-gram", [](const Prompt& prompt) { return Result<Drafts>(NgramDrafts(prompt)); }));
  if (draft) TRY(add("model", [&](const Prompt& prompt) { return ModelDrafts(*draft, prompt); }));
  if (target->has_own_drafter())
    TRY(add("own", [&](const Prompt& prompt) { return target->OwnDrafts(prompt); }));
  if (options.json) {
    fmt::print("{}\n", ToJson(tables).dump(2));
  } else {
    Print(tables);
  }
  return Ok();
}

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("How many draft tokens a model would accept.");
  app.add_option("target", options.target, "The model that answers")->required();
  app.add_option("--draft", options.draft,
                 "Draft model, of the same vocabulary, or a drafter of blocks");
  app.add_option("--prompts", options.prompts, "JSON lines with kind and prompt");
  app.add_option("-n", options.longest, "The most tokens of an answer");
  app.add_flag("--trees", options.trees, "Compare draft trees with chains");
  app.add_flag("--json", options.json, "Print one JSON document");
  CLI11_PARSE(app, argc, argv);
  if (const Status measured = Measure(options); !measured.ok()) {
    fmt::print(stderr, "acceptance: {}\n", measured.error().message());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace aster

int main(int argc, char** argv) { return aster::Main(argc, argv); }
