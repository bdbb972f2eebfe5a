// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/bench/bench_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/units.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/seconds.h"
#include "cli/terminal/table.h"
#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"
#include "respond/run.h"

namespace aster::cli {
namespace {

// Short answers and long ones; some from knowledge, some calculated.
constexpr const char* kAsked[] = {
    "Tell me a story about a rabbit.",
    "What is 318 + 466?",
    "Write as JSON: name Iris, coins 42, home harbour",
    "The key is in the barn. Then Jack takes the key to the mill. Where is the key now?",
};

class IgnoringListener final : public respond::Listener {
  void OnPiece(const respond::Piece&) override {}
  void OnEnd(const respond::End&) override {}
};

// The cost of all questions, one after another.
struct AnswersCost {
  std::string name;  // of a member, or of a policy
  bool is_policy = false;
  uint64_t generated = 0;           // tokens, of all members
  uint64_t rated = 0;               // tokens
  uint64_t bytes = 0;               // of answers
  std::vector<int64_t> times = {};  // ns, per repetition

  int64_t median_ns() const {
    std::vector<int64_t> sorted = times;
    std::ranges::sort(sorted);
    return sorted[sorted.size() / 2];
  }
};

class EnsembleBench {
 public:
  EnsembleBench(const EnsembleToBench& options, Console& console)
      : options_(options), console_(console) {}

  Result<ExitStatus> Run() {
    auto opened = TRY(ensemble::OpenMembers::Open(
        {.names = options_.members},
        {.model = options_.model, .cluster = options_.cluster, .max_running = 8}, clock_,
        console_));
    members_ = opened.members();
    for (const ensemble::Member& member : members_) costs_.push_back({.name = member.name});
    for (const std::string& policy : ensemble::PolicyNames())
      costs_.push_back({.name = policy, .is_policy = true});
    TRY(Measure());
    TRY(opened.Save());
    Tell();
    return kExitOk;
  }

 private:
  // Alternating, so that changes of the machine affect all of them.
  Status Measure() {
    Progress progress(console_, clock_, "answers", Progress::Unit::kSteps);
    const uint64_t steps = uint64_t{options_.repetitions} * costs_.size();
    uint64_t done = 0;
    for (uint32_t repetition = 0; repetition < options_.repetitions; ++repetition) {
      for (size_t i = 0; i < costs_.size(); ++i) {
        progress.Update(done++, steps);
        AnswersCost& cost = costs_[i];
        cost.generated = cost.rated = cost.bytes = 0;
        const int64_t start_ns = clock_.NowNs();
        TRY(cost.is_policy ? AnswerTogether(cost) : AnswerAlone(members_[i], cost));
        cost.times.push_back(clock_.NowNs() - start_ns);
      }
    }
    return Ok();
  }

  ensemble::Question QuestionOf(const char* text) const {
    ensemble::Question question;
    question.conversation.messages.push_back({{"role", "user"}, {"content", text}});
    question.settings.sampling.temperature = 0;
    if (options_.most_tokens > 0) question.settings.max_tokens = options_.most_tokens;
    return question;
  }

  Status AnswerAlone(const ensemble::Member& member, AnswersCost& cost) {
    for (const char* const text : kAsked) {
      const ensemble::Question question = QuestionOf(text);
      const auto prompt = TRY(respond::MakePrompt(member.model, question.conversation));
      engine::Sequence sequence = member.generator->NewSequence();
      IgnoringListener listener;
      const auto answered = TRY(respond::Run(*member.generator, sequence, member.model,
                                             question.settings, prompt, listener));
      cost.generated += answered.generated.finish.counts.generated;
      cost.bytes += answered.generated.text.size();
    }
    return Ok();
  }

  Status AnswerTogether(AnswersCost& cost) {
    ensemble::Ensemble ensemble(members_, clock_, {.policy = *ensemble::PolicyCalled(cost.name)});
    for (const char* const text : kAsked) {
      const ensemble::Answer answer = TRY(ensemble::AnswerOne(ensemble, QuestionOf(text)));
      for (const ensemble::Part& part : answer.parts) {
        if (part.absence) return Error(*part.absence).In(part.member);
        cost.generated += part.counts.generated;
        cost.rated += part.rated_tokens;
      }
      cost.bytes += answer.answered.generated.text.size();
    }
    return Ok();
  }

  int64_t SlowestNs() const {
    int64_t slowest = 0;
    for (const AnswersCost& cost : costs_) {
      if (!cost.is_policy) slowest = std::max(slowest, cost.median_ns());
    }
    return slowest;
  }

  double BesideSlowest(const AnswersCost& cost) const {
    return static_cast<double>(cost.median_ns()) / static_cast<double>(SlowestNs());
  }

  void Tell() {
    if (options_.json) return TellJson();
    using enum Table::Align;
    Table table({kLeft, kRight, kRight, kRight, kRight, kRight});
    table.AddRow({"", "seconds", "of the slowest member's", "tokens", "rated", "bytes"});
    for (const AnswersCost& cost : costs_) {
      table.AddRow({cost.name, fmt::format("{:.3f}", Seconds(cost.median_ns())),
                    fmt::format("{:.2f}", BesideSlowest(cost)), fmt::format("{}", cost.generated),
                    fmt::format("{}", cost.rated), fmt::format("{}", cost.bytes)});
    }
    console_.Write(table.Render(/*indent=*/0));
    console_.Print("{} questions one after another, {} times\n", std::size(kAsked),
                   options_.repetitions);
  }
  void TellJson() {
    nlohmann::ordered_json json = {{"questions", std::size(kAsked)},
                                   {"repetitions", options_.repetitions},
                                   {"threads", options_.model->threads}};
    for (const AnswersCost& cost : costs_) {
      json[cost.is_policy ? "policies" : "members"].push_back(
          {{"name", cost.name},
           {"seconds", Seconds(cost.median_ns())},
           {"of_slowest", BesideSlowest(cost)},
           {"tokens", cost.generated},
           {"rated", cost.rated},
           {"bytes", cost.bytes}});
    }
    console_.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  const EnsembleToBench options_;
  Console& console_;
  SystemClock clock_;
  std::vector<ensemble::Member> members_;
  std::vector<AnswersCost> costs_;
};

}  // namespace

Result<ExitStatus> BenchEnsemble(const EnsembleToBench& options, Console& console) {
  return EnsembleBench(options, console).Run();
}

}  // namespace aster::cli
