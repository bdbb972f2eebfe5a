// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/verify/verify_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"
#include "open/placed_model.h"
#include "respond/run.h"

namespace aster::cli {
namespace {

constexpr const char* kQuestions[] = {"What is 12 + 7?", "Tell me a story about a rabbit.",
                                      "Write as JSON: name Iris, coins 42, home harbour"};
constexpr float kTemperatures[] = {0, 1};

// Ways of one group must have the same hash.
struct AnswersWay {
  std::string group;
  std::string name;
  Hash128 hash;
};

class DiscardListener final : public respond::Listener {
  void OnPiece(const respond::Piece&) override {}
  void OnEnd(const respond::End&) override {}
};

void AddAnswered(const respond::Answered& answered, Hasher& hasher) {
  hasher.AddText(answered.generated.text);
  hasher.AddValue(static_cast<uint64_t>(answered.generated.tokens.size()));
  for (const int32_t token : answered.generated.tokens) hasher.AddValue(token);
  hasher.AddValue(static_cast<uint8_t>(answered.generated.finish.reason));
}

void AddCandidates(const std::vector<ensemble::Candidate>& candidates, size_t chosen,
                   Hasher& hasher) {
  hasher.AddValue(static_cast<uint64_t>(chosen));
  for (const ensemble::Candidate& candidate : candidates) {
    hasher.AddText(candidate.text);
    hasher.AddValue(candidate.bits_per_byte);
    for (const double bits : candidate.member_bits) hasher.AddValue(bits);
  }
}

// All decisions, as bits.
void AddDecided(const ensemble::Answer& answer, Hasher& hasher) {
  AddAnswered(answer.answered, hasher);
  AddCandidates(answer.candidates, answer.chosen, hasher);
  for (const ensemble::DecidedSpan& span : answer.spans)
    AddCandidates(span.candidates, span.chosen, hasher);
}

class EnsembleVerifier {
 public:
  EnsembleVerifier(const EnsembleToVerify& options, Console& console)
      : options_(options), console_(console) {}

  Result<ExitStatus> Run() {
    // Here, with the requested threads; then with other numbers, and on nodes.
    {
      const auto here = TRY(Open(options_.model->threads, /*on_nodes=*/false));
      TRY(VerifyHere(here.members()));
    }
    {
      const auto other = TRY(Open(options_.model->threads == 2 ? 1 : 2, /*on_nodes=*/false));
      TRY(VerifyElsewhere("on another number of threads", other.members()));
    }
    if (options_.cluster->wants_nodes()) {
      auto nodes = TRY(Open(options_.model->threads, /*on_nodes=*/true));
      TRY(VerifyElsewhere("on nodes", nodes.members()));
      TRY(nodes.Save());
    }
    return Tell();
  }

 private:
  Result<ensemble::OpenMembers> Open(size_t threads, bool on_nodes) {
    open::ModelOptions& model = models_.emplace_back(*options_.model);
    model.threads = threads;
    static const open::ClusterOptions kHere;
    std::vector<std::string> names = options_.ensemble->names;
    // Places belong to the ways on nodes.
    for (std::string& name : names) {
      if (!on_nodes && options_.cluster->wants_nodes()) name = open::PlacedModel::Parse(name).model;
    }
    return ensemble::OpenMembers::Open(
        {.names = std::move(names)},
        {.model = &model, .cluster = on_nodes ? options_.cluster : &kHere, .max_running = 8},
        clock_, console_);
  }

  std::vector<ensemble::Question> Questions() const {
    std::vector<ensemble::Question> questions;
    for (const char* const text : kQuestions) {
      for (const float temperature : kTemperatures) {
        ensemble::Question question;
        question.conversation.messages.push_back({{"role", "user"}, {"content", text}});
        question.settings.sampling.temperature = temperature;
        question.settings.sampling.seed = questions.size();
        question.settings.max_tokens = options_.tokens;
        questions.push_back(std::move(question));
      }
    }
    return questions;
  }

  Status VerifyHere(const std::vector<ensemble::Member>& members) {
    for (const ensemble::Member& member : members) TRY(VerifyAlone(member));
    for (const std::string& policy : Policies()) {
      TRY(Verify(policy, policy, "one question after another", members));
      TRY(VerifyAtOnce(policy, members));
      std::vector<ensemble::Member> on_threads = members;
      for (ensemble::Member& member : on_threads) member.is_elsewhere = true;
      TRY(Verify(policy, policy, "each member on a thread", on_threads));
      for (size_t i = 0; i < members.size(); ++i) TRY(VerifyIdentities(policy, members, i));
    }
    return Ok();
  }
  Status VerifyElsewhere(const std::string& where, const std::vector<ensemble::Member>& members) {
    for (const std::string& policy : Policies()) TRY(Verify(policy, policy, where, members));
    return Ok();
  }
  std::vector<std::string> Policies() const { return ensemble::PolicyNames(); }

  static std::string Alone(const ensemble::Member& member) { return member.name + " alone"; }

  Status VerifyAlone(const ensemble::Member& member) {
    Hasher hasher;
    for (const ensemble::Question& question : Questions()) {
      const auto prompt = TRY(respond::MakePrompt(member.model, question.conversation));
      engine::Sequence sequence = member.generator->NewSequence();
      DiscardListener listener;
      AddAnswered(TRY(respond::Run(*member.generator, sequence, member.model, question.settings,
                                   prompt, listener)),
                  hasher);
    }
    Add(Alone(member), Alone(member), hasher);
    return Ok();
  }

  // A model twice, or one with all the weight, must equal the model alone.
  Status VerifyIdentities(const std::string& policy, const std::vector<ensemble::Member>& members,
                          size_t i) {
    const std::string group = Alone(members[i]);
    std::vector<ensemble::Member> twice = {members[i], members[i]};
    for (ensemble::Member& member : twice) member.is_elsewhere = false;
    twice[1].name += " 2";
    TRY(Verify(policy, group, policy + ": " + members[i].name + " twice", twice));
    std::vector<ensemble::Member> weighed = members;
    for (size_t k = 0; k < weighed.size(); ++k) weighed[k].weight = k == i ? 1 : 0;
    return Verify(policy, group, policy + ": " + members[i].name + " has all the weight", weighed);
  }

  // Groups of one policy compare all decisions, the others only the answers.
  Status Verify(const std::string& policy, const std::string& group, const std::string& name,
                const std::vector<ensemble::Member>& members) {
    ensemble::Ensemble ensemble(members, clock_, {.policy = *ensemble::PolicyCalled(policy)});
    Hasher hasher;
    for (const ensemble::Question& question : Questions()) {
      const ensemble::Answer answer = TRY(ensemble::AnswerOne(ensemble, question));
      if (group == policy) {
        AddDecided(answer, hasher);
      } else {
        AddAnswered(answer.answered, hasher);
      }
    }
    Add(group, group == policy ? policy + ": " + name : name, hasher);
    return Ok();
  }

  Status VerifyAtOnce(const std::string& policy, const std::vector<ensemble::Member>& members) {
    ensemble::Ensemble ensemble(members, clock_, {.policy = *ensemble::PolicyCalled(policy)});
    const std::vector<ensemble::Question> questions = Questions();
    std::map<size_t, Result<ensemble::Answer>> answers;
    for (size_t i = 0; i < questions.size(); ++i) {
      ensemble.Ask(questions[i], [&answers, i](Result<ensemble::Answer> answer) {
        answers.emplace(i, std::move(answer));
      });
    }
    while (!ensemble.idle()) ensemble.StepOrWait();
    Hasher hasher;
    for (auto& [i, answer] : answers) AddDecided(TRY(std::move(answer)), hasher);
    Add(policy, policy + ": all questions at once", hasher);
    return Ok();
  }

  void Add(const std::string& group, const std::string& name, const Hasher& hasher) {
    ways_.push_back({.group = group, .name = name, .hash = hasher.Digest()});
    if (options_.json) return;
    console_.Print("  {}  {:<44}{}\n", ways_.back().hash.ToHex(), name,
                   IsEqual(ways_.back()) ? "" : console_.Styled(Style::kBad, "differs"));
  }
  // With the first of its group.
  bool IsEqual(const AnswersWay& way) const {
    return std::ranges::find(ways_, way.group, &AnswersWay::group)->hash == way.hash;
  }

  Result<ExitStatus> Tell() {
    const bool equal = std::ranges::all_of(ways_, [&](const auto& way) { return IsEqual(way); });
    const size_t answers = Questions().size();
    if (options_.json) {
      nlohmann::ordered_json json = {{"equal", equal}, {"answers", answers}};
      for (const AnswersWay& way : ways_) {
        json["ways"].push_back(
            {{"group", way.group}, {"name", way.name}, {"hash", way.hash.ToHex()}});
      }
      console_.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
    } else {
      console_.Print("{} answers, {} ways: {}\n", answers, ways_.size(),
                     equal ? console_.Styled(Style::kGood, "all equal in their groups")
                           : console_.Styled(Style::kBad, "NOT equal"));
    }
    return equal ? kExitOk : kExitNo;
  }

  const EnsembleToVerify options_;
  Console& console_;
  SystemClock clock_;
  std::deque<open::ModelOptions> models_;  // of the open members
  std::vector<AnswersWay> ways_;
};

}  // namespace

Result<ExitStatus> VerifyEnsemble(const EnsembleToVerify& options, Console& console) {
  return EnsembleVerifier(options, console).Run();
}

}  // namespace aster::cli
