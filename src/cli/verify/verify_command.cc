// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster verify: computes one text in every way; the logits must be the same to the last bit.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/machine.h"
#include "cli/commands.h"
#include "cli/options/cluster_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/ensemble_options.h"
#include "cli/options/model_options.h"
#include "cli/options/token_ids.h"
#include "cli/verify/verify_disk.h"
#include "cli/verify/verify_ensemble.h"
#include "cli/verify/verify_failures.h"
#include "cli/verify/verify_nodes.h"
#include "engine/measure.h"
#include "engine/verify.h"
#include "kernels/isa_choice.h"
#include "model/files/support.h"
#include "open/drafts.h"
#include "open/model_identity.h"
#include "open/node_session.h"

namespace aster::cli {
namespace {

struct VerifyFlags {
  open::ModelOptions model;
  open::ClusterOptions cluster;
  open::DraftOptions draft;
  EnsembleFlags ensemble;
  std::string ids_path;
  size_t tokens = 200;
  bool reference = false;
  bool json = false;
};

void PrintJson(std::span<const engine::VerifiedWay> ways, size_t tokens,
               const std::vector<std::string>& left_out, Console& console) {
  nlohmann::ordered_json json = {{"equal", engine::AllEqual(ways)}, {"tokens", tokens}};
  if (!left_out.empty()) json["left_out"] = left_out;
  for (const engine::VerifiedWay& way : ways) {
    json["ways"].push_back({{"name", way.name},
                            {"hash", way.hash.ToHex()},
                            {"seconds", static_cast<double>(way.duration_ns) * 1e-9}});
  }
  console.Print("{}\n", json.dump(2));
}

constexpr size_t kMostAnswerTokens = 60;  // for an ensemble
constexpr size_t kLeastTokens = 32;       // so that a text has a middle in every way

// A way that these nodes or this text do not allow, and why not.
struct LeftOut {
  std::string cuts;
  std::string sessions;
  std::string kills;
  std::vector<std::string> groups;

  std::vector<std::string> ToLines() const {
    std::vector<std::string> lines;
    if (!cuts.empty()) lines.push_back("not every split is computed: " + cuts);
    if (!sessions.empty()) lines.push_back("no session is moved: " + sessions);
    if (!kills.empty()) lines.push_back("no node is killed: " + kills);
    for (const std::string& group : groups) lines.push_back("a group is left out: " + group);
    return lines;
  }
};

LeftOut WhatIsLeftOut(const VerifyFlags& options, const open::NodeSession& nodes, size_t tokens) {
  LeftOut left_out;
  left_out.groups = GroupsLeftOut(nodes);
  const size_t cuts = CutsToVerify(nodes.layer_count()).size();
  if (nodes.nodes().size() > 1 && cuts + 1 < nodes.layer_count()) {
    left_out.cuts =
        fmt::format("of {} places between layers, {} are cut", nodes.layer_count() - 1, cuts);
  }
  if (!nodes.Inexact().empty()) {
    left_out.sessions = "hidden states are not sent exactly";
  } else if (tokens < kLeastTokens) {
    left_out.sessions = fmt::format("that takes {} tokens", kLeastTokens);
  } else if (nodes.layer_count() < 2) {
    left_out.sessions = "the model has one layer";
  } else if (nodes.nodes().size() < 2) {
    left_out.sessions = "that takes two nodes";
  }
  left_out.kills = left_out.sessions;
  if (!left_out.kills.empty()) return left_out;
  if (options.cluster.cluster) {
    left_out.kills = "nodes of a cluster serve others, too; --local-nodes starts some for it";
  } else if (nodes.other_count() < 2) {
    left_out.kills = "that takes two nodes beside this command";
  }
  return left_out;
}

// Nodes other than those that began continue. Kills only nodes that this command has started, and
// starts more of them for this.
Result<std::vector<engine::VerifiedWay>> VerifyBreaks(
    const VerifyFlags& options, const gguf::ModelFiles& files, open::NodeSession& nodes,
    const LeftOut& left_out, std::span<const int32_t> ids, Clock& clock,
    const engine::VerifySink& sink, Console& console) {
  if (!left_out.sessions.empty()) return std::vector<engine::VerifiedWay>();
  engine::LocalModelOptions model = TRY(options.model.ForEngine());
  model.name = TRY(open::FingerprintOf(files, console));  // nodes identify their KV rows by it
  FreshNodes start;
  if (left_out.kills.empty()) {
    start = [&]() {
      open::ClusterOptions cluster = options.cluster;
      cluster.trace_path.clear();  // for nodes that are not killed
      cluster.split = "auto";      // these ways have plans of their own, without this process
      cluster.decode.clear();
      return open::NodeSession::Start(files, options.model, cluster, console);
    };
  }
  auto ways = TRY(VerifySessions(nodes, start, files, model, ids, clock, sink, console));
  if (!start) return ways;
  const auto failing = TRY(VerifyFailures(start, GroupSupportOf(nodes), ids, clock, sink, console));
  ways.insert(ways.end(), failing.begin(), failing.end());
  return ways;
}

// The nodes, once it is certain that they are there and suitable.
struct NodesToVerify {
  std::unique_ptr<open::NodeSession> session;  // null: none are wanted
  std::optional<plan::Plan> asked;             // the plan named by the options
  LeftOut left_out;
};

Result<NodesToVerify> StartNodes(const VerifyFlags& options, const gguf::ModelFiles& files,
                                 size_t tokens, Console& console) {
  NodesToVerify nodes;
  if (!options.cluster.wants_nodes()) return nodes;
  nodes.session = TRY(open::NodeSession::Start(files, options.model, options.cluster, console));
  if (options.cluster.split != "auto" || !options.cluster.decode.empty()) {
    nodes.asked = TRY(nodes.session->Plan());
  }
  nodes.left_out = WhatIsLeftOut(options, *nodes.session, tokens);
  for (const std::string& line : nodes.left_out.ToLines()) console.Complain("note", line);
  return nodes;
}

Result<ExitStatus> Verify(const VerifyFlags& options, Console& console) {
  if (options.cluster.kv_wire != "exact") {
    return InvalidArgument("--kv-wire: verify compares bits, and fewer bits are not exact");
  }
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(options.model.paths));
  const model::Shape shape = TRY(model::ShapeOf(files));
  const std::vector<int32_t> ids =
      options.ids_path.empty()
          ? engine::RandomTokens(options.tokens, shape.vocab_size, /*stream=*/0)
          : TRY(ReadIds(options.ids_path));
  const NodesToVerify nodes = TRY(StartNodes(options, files, ids.size(), console));

  engine::VerifyOptions verify;
  verify.model = TRY(options.model.ForEngine());
  verify.threads = {1, 2, UsableCpuCount() + 1};
  for (const kernels::Isa isa : kernels::AvailableIsas()) {
    if (isa != kernels::Isa::kRef || options.reference) verify.isas.push_back(isa);
  }
  std::unique_ptr<open::Drafts> drafts;
  if (options.draft.wanted()) {
    // The local ways are not computed on the cluster's nodes.
    open::ClusterOptions through;
    through.via = options.cluster.via;
    drafts = TRY(open::Drafts::Load(options.draft, files, options.model, through, console));
    verify.draft = options.draft.ForEngine();
    verify.model.drafter = drafts->drafter();
    verify.proposers = [&](engine::LocalModel& model) -> engine::ProposerSource& {
      return drafts->For(&model);
    };
  }
  Hash128 first;
  SystemClock clock;
  const auto tell = [&](const engine::VerifiedWay& way) {
    if (options.json) return;
    if (way.name == "whole") first = way.hash;
    const bool differs = way.hash != first;
    console.Print("  {}  {:<24}{}{}\n", way.hash.ToHex(), way.name, differs ? "  " : "",
                  differs ? console.Styled(Style::kBad, "differs") : "");
  };
  auto ways = TRY(engine::Verify(files, ids, verify, clock, tell));
  const auto on_disk = TRY(VerifyOnDisk(files, ids, verify.model, clock, tell));
  ways.insert(ways.end(), on_disk.begin(), on_disk.end());
  if (nodes.session) {
    const auto more = TRY(VerifyOnNodes(*nodes.session, nodes.asked, ids, clock, tell, console));
    ways.insert(ways.end(), more.begin(), more.end());
    const auto failing = TRY(
        VerifyBreaks(options, files, *nodes.session, nodes.left_out, ids, clock, tell, console));
    ways.insert(ways.end(), failing.begin(), failing.end());
    TRY(nodes.session->SaveTrace());
  }
  const bool equal = engine::AllEqual(ways);
  if (options.json) {
    PrintJson(ways, ids.size(), nodes.left_out.ToLines(), console);
  } else {
    console.Print("{} tokens, {} ways: {}\n", ids.size(), ways.size(),
                  equal ? console.Styled(Style::kGood, "all equal")
                        : console.Styled(Style::kBad, "NOT equal"));
  }
  return equal ? kExitOk : kExitNo;
}

}  // namespace

Run DeclareVerify(CLI::App& app) {
  auto options = std::make_shared<VerifyFlags>();
  DeclareModelOptions(app, options->model);
  DeclareClusterOptions(app, options->cluster);
  DeclareDraftOptions(app, options->draft);
  CLI::Option* ids =
      app.add_option("--ids", options->ids_path, "File of token ids")->type_name("FILE");
  app.add_option("--tokens", options->tokens, "Length of a random text in tokens, without --ids")
      ->check(CLI::Range(2, 1 << 20))
      ->excludes(ids)
      ->type_name("N");
  app.add_flag("--reference", options->reference,
               "Also with the plain C++ kernels, which are slow");
  app.add_flag("--json", options->json, "Print one JSON document");
  DeclareEnsembleMembers(app, options->ensemble)
      ->excludes(app.get_option("model"))
      ->excludes(ids)
      ->excludes(app.get_option("--draft"));
  app.footer(
      "Computes the logits of every position in chunks, on other threads, with other instruction "
      "sets, beside other\n"
      "texts, with draft tokens (--draft names the drafter), after a rewind, after a KV transfer, "
      "in slices and from disk, and\n"
      "prints one hash for each way. With --local-nodes or --cluster on nodes, too: with prefill "
      "nodes and a decode node, with\n"
      "sessions that move, and with nodes that are killed (only --local-nodes); --split and "
      "--decode add a plan.\n"
      "With --ensemble: answers of several models by every policy, on threads, at once and on "
      "nodes. "
      "One model twice,\n"
      "or all weight on one member, must answer as that model alone.\n"
      "The exit status is 1 if the hashes differ: that is a bug, please report it.");
  return [options](Console& console) -> Result<ExitStatus> {
    if (options->ensemble.is_wanted()) {
      return VerifyEnsemble({.model = &options->model,
                             .cluster = &options->cluster,
                             .ensemble = &options->ensemble,
                             .tokens = std::min<size_t>(options->tokens, kMostAnswerTokens),
                             .json = options->json},
                            console);
    }
    TRY(options->model.Find());
    return Verify(*options, console);
  };
}

}  // namespace aster::cli
