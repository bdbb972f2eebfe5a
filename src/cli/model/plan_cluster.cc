// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/model/plan_cluster.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/options/token_ids.h"
#include "cli/run/run_report.h"
#include "cli/terminal/table.h"
#include "open/model_files.h"
#include "open/node_session.h"
#include "plan/alternatives.h"

namespace aster::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string TimeOf(double seconds) { return FormatDuration(static_cast<int64_t>(seconds * 1e9)); }

void PrintAlternatives(const open::NodeSession& nodes, const ClusterPlanFlags& flags,
                       Console& console) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.AddRow({"", "plan", "first token", "tokens/s", "in all"});
  for (const plan::Alternative& of : nodes.alternatives()) {
    const char* const mark = of.is_taken ? "*" : "";
    if (!of.plan) {
      table.AddRow({mark, of.kind, "-", "-", "-"});
      continue;
    }
    table.AddRow({mark, of.kind, TimeOf(of.first_token_s),
                  fmt::format("{:.1f}", of.decode_tokens_per_s), TimeOf(of.request_s)});
  }
  console.Print("A prompt of {} tokens and an answer of {} are predicted to take:\n{}\n",
                flags.prompt_tokens, flags.answer_tokens, table.Render(2));
  for (const plan::Alternative& of : nodes.alternatives()) {
    if (of.is_taken) {
      console.Print("{}, {}, is taken{}.\n", of.kind, plan::OptionsText(*of.plan),
                    plan::DescribeHeld(of));
    } else if (of.plan) {
      console.Print("{}, {}, is not: {}{}.\n", of.kind, plan::OptionsText(*of.plan), of.why,
                    plan::DescribeHeld(of));
    } else {
      console.Print("{} is not possible: {}.\n", of.kind, of.why);
    }
  }
}

void PrintPlan(const open::NodeSession& nodes, const ClusterPlanFlags& flags, Console& console) {
  if (nodes.alternatives().empty()) {
    console.Print("The nodes have not measured their rates yet, so nothing is predicted.\n");
  } else {
    PrintAlternatives(nodes, flags, console);
  }
  console.Print("\n");
  for (const std::string& reason : nodes.reasons()) console.Print("{}\n", reason);
  for (const open::AbsentNode& node : nodes.LeftOut())
    console.Print("{} is left out: it {}\n", node.name, node.why);
}

void PrintPlanJson(const open::NodeSession& nodes, const plan::Plan& taken,
                   const ClusterPlanFlags& flags, Console& console) {
  Json alternatives = Json::array();
  for (const plan::Alternative& of : nodes.alternatives())
    alternatives.push_back(AlternativeToJson(of));
  const Json json = {
      {"prompt_tokens", flags.prompt_tokens}, {"answer_tokens", flags.answer_tokens},
      {"options", plan::OptionsText(taken)},  {"alternatives", alternatives},
      {"reasons", nodes.reasons()},           {"left_out", LeftOutToJson(nodes.LeftOut())}};
  console.Print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace

Result<ExitStatus> ShowClusterPlan(ClusterPlanFlags flags, Console& console) {
  std::vector<int32_t> prompt;
  if (!flags.ids_path.empty()) {
    prompt = TRY(ReadIds(flags.ids_path));
    if (prompt.empty()) return InvalidArgument("--ids: the file has no tokens");
    flags.prompt_tokens = static_cast<uint32_t>(prompt.size());
  }
  open::ClusterOptions cluster;
  cluster.cluster = true;
  cluster.via = flags.via;
  cluster.only_request = {.prompt_tokens = flags.prompt_tokens,
                          .answer_tokens = flags.answer_tokens};
  cluster.only_tokens = std::move(prompt);
  open::ModelOptions model;
  model.paths = flags.models;
  model.kv_memory = flags.kv_memory;
  TRY(model.Find());
  const gguf::ModelFiles files = TRY(open::OpenModelFiles(model.paths, cluster));
  const auto nodes = TRY(open::NodeSession::Start(files, model, cluster, console));
  const plan::Plan taken = TRY(nodes->Plan());
  if (flags.json) {
    PrintPlanJson(*nodes, taken, flags, console);
  } else {
    PrintPlan(*nodes, flags, console);
  }
  return kExitOk;
}

}  // namespace aster::cli
