// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/eval_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/run/run_report.h"
#include "cli/terminal/table.h"
#include "engine/request.h"
#include "eval/statistics.h"
#include "open/drafts.h"

namespace aster::cli {
namespace {

using eval::CategoryTally;
using eval::Tally;
using nlohmann::ordered_json;

std::string Percent(double rate) { return fmt::format("{:.1f} %", 100 * rate); }

std::string IntervalText(const Tally& tally) {
  const eval::Interval interval = eval::WilsonInterval(tally.right, tally.asked);
  return fmt::format("{:.1f} to {:.1f}", 100 * interval.low, 100 * interval.high);
}

// "20 of 24", the score and its interval; with several models only the last two, in one cell each.
std::vector<std::string> Cells(const Tally& tally, bool alone) {
  if (tally.asked == 0)
    return alone ? std::vector<std::string>{"-", "", ""} : std::vector<std::string>{"-", ""};
  if (!alone) return {Percent(tally.rate()), IntervalText(tally)};
  return {fmt::format("{} of {}", tally.right, tally.asked), Percent(tally.rate()),
          IntervalText(tally)};
}

// The categories of all models, in the order of the first that has them.
std::vector<std::string> CategoriesOf(const std::vector<std::vector<CategoryTally>>& tallies) {
  std::vector<std::string> categories;
  for (const auto& tally : tallies) {
    for (const CategoryTally& entry : tally) {
      if (std::ranges::find(categories, entry.category) == categories.end()) {
        categories.push_back(entry.category);
      }
    }
  }
  return categories;
}

Tally TallyIn(const std::vector<CategoryTally>& tallies, const std::string& category) {
  const auto found = std::ranges::find(tallies, category, &CategoryTally::category);
  return found == tallies.end() ? Tally() : found->tally;
}

void PrintNotes(const Evaluation& evaluation, Console& console) {
  const Tally all = eval::TallyAll(evaluation.results);
  uint64_t prompt_tokens = 0;
  uint64_t reply_tokens = 0;
  uint64_t cut = 0;
  for (const eval::QuestionResult& result : evaluation.results) {
    if (result.skipped) continue;
    prompt_tokens += result.prompt_tokens;
    reply_tokens += result.reply_tokens;
    cut += result.finish == engine::FinishReasonName(engine::FinishReason::kLength) ? 1 : 0;
  }
  std::string text =
      fmt::format("{}: {} questions of {} tokens, {} tokens of replies",
                  ForDisplay(evaluation.header.model), all.asked, prompt_tokens, reply_tokens);
  if (evaluation.resumed > 0) {
    text += fmt::format("; {} were asked in an earlier run", evaluation.resumed);
  }
  if (evaluation.seconds > 0) {
    text += "; " + FormatDuration(static_cast<int64_t>(evaluation.seconds * 1e9));
  }
  if (const std::string drafts = open::DescribeDrafts(evaluation.drafts); !drafts.empty()) {
    text += "; " + drafts;
  }
  console.Print("{}\n", text);
  if (all.skipped > 0) {
    console.Print(
        "  {} questions were skipped: longer than the context of {} tokens; they do not count\n",
        all.skipped, evaluation.context);
  }
  if (cut > 0) console.Print("  {} replies were cut off at the limit of --tokens\n", cut);
  if (evaluation.results.size() < evaluation.wanted) {
    console.Print("  interrupted: {} of {} questions were asked\n", evaluation.results.size(),
                  evaluation.wanted);
  }
}

ordered_json TallyJson(const Tally& tally) {
  const eval::Interval interval = eval::WilsonInterval(tally.right, tally.asked);
  ordered_json json = {{"asked", tally.asked}, {"right", tally.right}, {"skipped", tally.skipped}};
  json["score"] = tally.asked == 0 ? ordered_json() : ordered_json(tally.rate());
  json["low"] = interval.low;
  json["high"] = interval.high;
  return json;
}

ordered_json PairedJson(const eval::PairedTally& tally) {
  return {{"both", tally.both},
          {"first_right", tally.first_right},
          {"second_right", tally.second_right},
          {"only_first", tally.only_first},
          {"only_second", tally.only_second},
          {"p", tally.p()}};
}

std::vector<std::string> PairedCells(const std::string& name, const eval::PairedTally& tally) {
  const auto score = [&](uint64_t right) {
    return tally.both == 0 ? "-"
                           : Percent(static_cast<double>(right) / static_cast<double>(tally.both));
  };
  return {ForDisplay(name),
          fmt::format("{}", tally.both),
          score(tally.first_right),
          score(tally.second_right),
          fmt::format("{}", tally.only_first),
          fmt::format("{}", tally.only_second),
          fmt::format("{:.3g}", tally.p())};
}

// Only as many ids as fit on a line or two; the JSON has all.
void PrintChanged(std::string_view what, const std::vector<eval::Change>& changes, bool first_right,
                  Console& console) {
  std::string ids;
  for (const eval::Change& change : changes) {
    if (change.first->right == first_right) ids += " " + ForDisplay(change.first->id);
  }
  if (!ids.empty()) console.Print("{}:{}\n", what, ids);
}

void PrintReplies(const eval::Change& change, Console& console) {
  const auto show = [&](const char* name, const eval::QuestionResult& result) {
    const Style style = result.right ? Style::kGood : Style::kBad;
    console.Print("  {}  {}\n", console.Styled(style, name), ForDisplay(result.reply));
  };
  console.Print("\n{}  wants {}\n", console.Styled(Style::kBold, ForDisplay(change.first->id)),
                ForDisplay(change.first->expected));
  show("first ", *change.first);
  show("second", *change.second);
}

}  // namespace

void PrintEvaluations(std::span<const Evaluation> evaluations, Console& console) {
  const bool alone = evaluations.size() == 1;
  std::vector<std::vector<CategoryTally>> tallies;
  std::vector<Table::Align> columns = {Table::Align::kLeft};
  std::vector<std::string> head = {"category"};
  for (const Evaluation& evaluation : evaluations) {
    tallies.push_back(eval::TallyByCategory(evaluation.results));
    columns.insert(columns.end(), alone ? 3 : 2, Table::Align::kRight);
    if (alone) head.emplace_back("right");
    head.push_back(alone ? "score" : ForDisplay(evaluation.header.model));
    head.emplace_back("95 %");
  }
  Table table(columns);
  table.AddRow(head);
  const auto add = [&](const std::string& name, const auto& tally_of) {
    std::vector<std::string> row = {ForDisplay(name)};
    for (size_t m = 0; m < evaluations.size(); ++m) {
      for (std::string& cell : Cells(tally_of(m), alone)) row.push_back(std::move(cell));
    }
    table.AddRow(std::move(row));
  };
  for (const std::string& category : CategoriesOf(tallies)) {
    add(category, [&](size_t m) { return TallyIn(tallies[m], category); });
  }
  add("all", [&](size_t m) { return eval::TallyAll(evaluations[m].results); });
  console.Write(table.Render(0));
  for (const Evaluation& evaluation : evaluations) PrintNotes(evaluation, console);
}

ordered_json EvaluationsToJson(std::span<const Evaluation> evaluations) {
  ordered_json models = ordered_json::array();
  for (const Evaluation& evaluation : evaluations) {
    ordered_json categories = ordered_json::array();
    for (const CategoryTally& entry : eval::TallyByCategory(evaluation.results)) {
      ordered_json json = {{"category", entry.category}};
      json.update(TallyJson(entry.tally));
      categories.push_back(std::move(json));
    }
    ordered_json settings = ordered_json::object();
    for (const auto& [name, value] : evaluation.header.settings) settings[name] = value;
    models.push_back({{"model", evaluation.model},
                      {"fingerprint", evaluation.header.fingerprint},
                      {"questions", evaluation.header.questions},
                      {"settings", std::move(settings)},
                      {"wanted", evaluation.wanted},
                      {"resumed", evaluation.resumed},
                      {"interrupted", evaluation.results.size() < evaluation.wanted},
                      {"categories", std::move(categories)},
                      {"overall", TallyJson(eval::TallyAll(evaluation.results))},
                      {"seconds", evaluation.seconds}});
    if (evaluation.drafts.steps > 0) models.back()["draft"] = DraftsToJson(evaluation.drafts);
  }
  return {{"models", std::move(models)}};
}

void PrintComparison(const ComparedFiles& files, bool verbose, Console& console) {
  using enum Table::Align;
  const eval::Comparison& comparison = *files.comparison;
  console.Print("first   {}\nsecond  {}\n\n", ForDisplay(files.first), ForDisplay(files.second));
  Table table({kLeft, kRight, kRight, kRight, kRight, kRight, kRight});
  table.AddRow({"category", "asked", "first", "second", "only first", "only second", "p"});
  for (const eval::PairedCategory& entry : comparison.categories) {
    table.AddRow(PairedCells(entry.category, entry.tally));
  }
  table.AddRow(PairedCells("all", comparison.all));
  console.Write(table.Render(0));
  if (comparison.only_in_first + comparison.only_in_second > 0) {
    console.Print("not compared: {} questions that only the first answered, {} only the second\n",
                  comparison.only_in_first, comparison.only_in_second);
  }
  PrintChanged("right only in the first", comparison.changes, true, console);
  PrintChanged("right only in the second", comparison.changes, false, console);
  if (!verbose) return;
  for (const eval::Change& change : comparison.changes) PrintReplies(change, console);
}

ordered_json ComparisonToJson(const ComparedFiles& files, bool verbose) {
  const eval::Comparison& comparison = *files.comparison;
  ordered_json categories = ordered_json::array();
  for (const eval::PairedCategory& entry : comparison.categories) {
    ordered_json json = {{"category", entry.category}};
    json.update(PairedJson(entry.tally));
    categories.push_back(std::move(json));
  }
  ordered_json changes = ordered_json::array();
  for (const eval::Change& change : comparison.changes) {
    ordered_json json = {{"id", change.first->id},
                         {"right", change.first->right ? "first" : "second"}};
    if (verbose) {
      json["expected"] = change.first->expected;
      json["first"] = change.first->reply;
      json["second"] = change.second->reply;
    }
    changes.push_back(std::move(json));
  }
  return {{"first", files.first},
          {"second", files.second},
          {"overall", PairedJson(comparison.all)},
          {"categories", std::move(categories)},
          {"changes", std::move(changes)},
          {"only_in_first", comparison.only_in_first},
          {"only_in_second", comparison.only_in_second}};
}

}  // namespace aster::cli
