// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/eval/perplexity_ensemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "cli/terminal/progress.h"
#include "ensemble/ensemble.h"
#include "ensemble/open_members.h"
#include "text/tokenizer.h"

namespace aster::cli {
namespace {

constexpr size_t kChunksAtOnce = 8;

// A text, and its continuation, which is scored.
struct TextChunk {
  std::string_view before;
  std::string_view scored;
};

// Chunks of about this many bytes. Words stay whole.
std::vector<TextChunk> ChunksOf(std::string_view text, size_t bytes) {
  const auto at_word = [&](size_t position) {
    return std::min(text.find_first_of(" \n", position), text.size());
  };
  std::vector<TextChunk> chunks;
  for (size_t begin = 0; text.size() - begin >= bytes;) {
    const size_t middle = at_word(begin + bytes / 2);
    const size_t end = at_word(begin + bytes);
    if (middle >= end) break;
    chunks.push_back({.before = text.substr(begin, middle - begin),
                      .scored = text.substr(middle, end - middle)});
    begin = end;
  }
  return chunks;
}

class TextRater {
 public:
  TextRater(const EnsembleText& options, Console& console) : options_(options), console_(console) {}

  Result<ExitStatus> Run() {
    const std::string text = TRY(ReadFile(options_.path, text::kMaxTextBytes));
    std::vector<TextChunk> chunks = ChunksOf(text, options_.chunk_bytes);
    if (options_.max_chunks > 0 && chunks.size() > options_.max_chunks)
      chunks.resize(options_.max_chunks);
    if (chunks.empty()) {
      return InvalidArgument(
          fmt::format("{}: {} bytes are less than one chunk", options_.path, text.size()));
    }
    auto opened = TRY(ensemble::OpenMembers::Open(
        TRY(options_.ensemble->Members()),
        {.model = options_.model, .cluster = options_.cluster, .max_running = 4 * kChunksAtOnce},
        clock_, console_));
    TRY(RateAll(opened.members(), chunks));
    TRY(opened.Save());
    Tell(chunks.size());
    return kExitOk;
  }

 private:
  Status RateAll(const std::vector<ensemble::Member>& members,
                 const std::vector<TextChunk>& chunks) {
    for (const ensemble::Member& member : members) {
      names_.push_back(member.name);
      bits_.push_back(0);
    }
    ensemble::Ensemble ensemble(members, clock_, {.policy = ensemble::Policy::kBytes});
    Progress progress(console_, clock_, "chunks", Progress::Unit::kSteps);
    Status failed;
    for (size_t asked = 0, done = 0; done < chunks.size() && failed.ok();) {
      for (; asked < chunks.size() && asked - done < kChunksAtOnce; ++asked) {
        ensemble.Ask(QuestionOf(chunks[asked]), [&](const Result<ensemble::Answer>& answer) {
          ++done;
          if (answer.ok()) {
            Add(*answer);
          } else if (failed.ok()) {
            failed = answer.error();
          }
        });
      }
      ensemble.StepOrWait();
      progress.Update(done, chunks.size());
    }
    return failed;
  }

  static ensemble::Question QuestionOf(const TextChunk& chunk) {
    ensemble::Question question;
    question.text = std::string(chunk.before);
    question.forced_text = std::string(chunk.scored);
    return question;
  }

  void Add(const ensemble::Answer& answer) {
    for (const ensemble::DecidedSpan& span : answer.spans) {
      const ensemble::Candidate& taken = span.taken();
      const auto bytes = static_cast<double>(std::max<size_t>(taken.text.size(), 1));
      bytes_ += bytes;
      together_ += bytes * taken.bits_per_byte;
      for (size_t i = 0; i < bits_.size(); ++i) bits_[i] += bytes * taken.member_bits[i];
    }
    for (const ensemble::Part& part : answer.parts) tokens_ += part.counts.generated;
  }

  void Tell(size_t chunks) {
    if (options_.json) {
      nlohmann::ordered_json json = {
          {"chunks", chunks}, {"scored_bytes", bytes_}, {"computed_tokens", tokens_}};
      for (size_t i = 0; i < names_.size(); ++i)
        json["members"].push_back({{"name", names_[i]}, {"bits_per_byte", bits_[i] / bytes_}});
      json["bits_per_byte"] = together_ / bytes_;
      console_.Print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    for (size_t i = 0; i < names_.size(); ++i)
      console_.Print("bits per byte  {:.4f}  {}\n", bits_[i] / bytes_, names_[i]);
    console_.Print("bits per byte  {:.4f}  together\n", together_ / bytes_);
    console_.Print("{} bytes scored in {} chunks\n", bytes_, chunks);
  }

  const EnsembleText& options_;
  Console& console_;
  SystemClock clock_;
  std::vector<std::string> names_;
  std::vector<double> bits_;  // per member
  double together_ = 0;       // bits
  double bytes_ = 0;
  uint64_t tokens_ = 0;
};

}  // namespace

Result<ExitStatus> RateTextTogether(const EnsembleText& options, Console& console) {
  return TextRater(options, console).Run();
}

}  // namespace aster::cli
