// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A small model with its vocabulary, and answers to single requests without a scheduler: token by
// token, directly from the model and the sampler. Tests compare the scheduler's answers with them.
// Only for tests.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/sanitized.h"
#include "engine/local_model.h"
#include "engine/request.h"
#include "engine/sampler.h"
#include "kv/transfer.h"
#include "model/forward/runner_for_test.h"
#include "text/tokenizer.h"
#include "text/vocab_reader.h"

namespace aster::engine {

// The weights and the vocabulary that all tests of a program share.
class TinyModel {
 public:
  static TinyModel& Get() {
    static TinyModel tiny;  // made once: writing and packing it takes longer than most tests
    return tiny;
  }

  // With its own memory and an empty KV cache.
  std::unique_ptr<LocalModel> Make(uint64_t memory_bytes = uint64_t{1} << 28,
                                   model::MemoryOptions memory = {}) const {
    LocalModelOptions options;
    options.threads = 1;
    options.memory = memory;
    options.memory_bytes = memory_bytes;
    return LocalModel::ShareWeights(*model_, options).value();
  }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const gguf::ModelFiles& files() const { return file_.files(); }
  uint32_t vocab_size() const { return model_->shape().vocab_size; }

 private:
  static model::Shape TinyShape() {
    model::Shape shape = model::SmallShape(model::Arch::kLlama);
    shape.layer_count = 2;
    shape.feed_forward = 256;
    return shape;
  }

  TinyModel() : file_(TinyShape(), gguf::TensorType::kQ8_0) {
    LocalModelOptions options;
    options.threads = 1;
    model_ = LocalModel::Load(file_.files(), options).value();
    tokenizer_ = text::Tokenizer::Make(text::ReadVocab(file_.files().metadata()).value()).value();
  }

  model::ModelFile file_;
  std::unique_ptr<LocalModel> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
};

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<Choice> choices;
  std::string text;
  FinishReason reason = FinishReason::kFailed;

  bool operator==(const Answer&) const = default;
};

// Cuts the whole text at the stop string that ends first.
inline bool CutAtStopString(const std::vector<std::string>& stops, std::string& text) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      if (std::string_view(text).substr(0, end).ends_with(stop)) {
        longest = std::max(longest, stop.size());
      }
    }
    if (longest == 0) continue;
    text.resize(end - longest);
    return true;
  }
  return false;
}

// The hash of all KV rows before `end`.
inline Hash128 RowsHash(const kv::PageTable& table, uint32_t end) {
  Hasher hasher;
  CHECK(kv::Export(table, table.layers(), 0, end, [&](Bytes bytes) {
          hasher.Add(bytes);
          return Ok();
        }).ok());
  return hasher.Digest();
}

// The answer to `request` on a model of its own; the request's sequence is not used. `rows`: the
// hash of the KV rows at the end.
inline Answer AnswerAlone(const Request& request, std::vector<int32_t> tokens,
                          model::MemoryOptions memory = {}, Hash128* rows = nullptr) {
  const TinyModel& tiny = TinyModel::Get();
  const auto model = tiny.Make(uint64_t{1} << 28, memory);
  kv::PageTable table = model->NewTable();
  Sampler sampler(request.sampling, tiny.vocab_size());
  const uint32_t limit =
      request.context_limit == 0 ? model->shape().context_length : request.context_limit;
  Answer answer;
  for (;;) {
    const model::Segment segment{.table = &table,
                                 .tokens = std::span(tokens).subspan(table.length())};
    const model::Output output = model->Run({&segment, 1}).value();
    answer.choices.push_back(sampler.Choose(output.logits, tokens).value());
    tokens.push_back(answer.choices.back().id);
    answer.tokens.push_back(tokens.back());
    const bool stops =
        std::ranges::find(request.stop_tokens, tokens.back()) != request.stop_tokens.end();
    // Decodes from the beginning each time; spaces do not depend on the text before.
    const auto shown = std::span(answer.tokens).first(answer.tokens.size() - (stops ? 1 : 0));
    answer.text = tiny.tokenizer().Decode(shown, {.skip_control = !request.show_control}).value();
    const auto end = [&](FinishReason reason) {
      answer.reason = reason;
      if (rows != nullptr) *rows = RowsHash(table, table.length());
      return answer;
    };
    if (stops) return end(FinishReason::kStopToken);
    if (CutAtStopString(request.stop_strings, answer.text)) return end(FinishReason::kStopString);
    if (answer.tokens.size() >= request.max_tokens) return end(FinishReason::kLength);
    if (tokens.size() >= limit) return end(FinishReason::kContext);
  }
}

// Proposes right drafts, wrong ones, or invalid tokens, in a mix by the request's kind of draft:
// right ones (kMtp), wrong ones (kNgram), both (kModel).
class HostileSource final : public ProposerSource {
 public:
  explicit HostileSource(uint64_t seed) : random_(seed) {}

  // The expected answer of a request on that sequence.
  void Expect(const Sequence& sequence, std::vector<int32_t> tokens) {
    texts_[&sequence] = std::move(tokens);
  }
  Result<std::unique_ptr<Proposer>> Make(const Request& request) override {
    return std::make_unique<Hostile>(*this, request.draft.kind, texts_[request.sequence]);
  }

 private:
  class Hostile final : public Proposer {
   public:
    Hostile(HostileSource& source, DraftKind kind, std::vector<int32_t> text)
        : source_(source), kind_(kind), text_(std::move(text)) {}
    Follows follows() const override { return Follows::kHidden; }
    void Follow(std::span<const int32_t> history, uint32_t begin,
                std::span<const float> hidden) override {
      CHECK(begin < history.size() && !hidden.empty());
    }
    Status Propose(std::span<const int32_t> history, uint32_t most,
                   std::vector<int32_t>& drafts) override {
      Random& random = source_.random_;
      if (kind_ == DraftKind::kModel && random.NextBelow(6) == 0)
        return Error(Code::kInternal, "no drafts today");
      const size_t more = random.NextBelow(3);  // more than asked for
      for (size_t i = 0; i < most + more; ++i) {
        const size_t at = history.size() + i;
        int32_t token = at < text_.size() ? text_[at] : 0;
        if (kind_ == DraftKind::kNgram) token = (token + 1) % 298;
        if (kind_ == DraftKind::kModel && random.NextBelow(3) == 0) {
          const int32_t wrong[] = {-1, 1 << 30, 298, 5, INT32_MIN};
          token = wrong[random.NextBelow(5)];
        }
        drafts.push_back(token);
      }
      return Ok();
    }

   private:
    HostileSource& source_;
    const DraftKind kind_;
    const std::vector<int32_t> text_;
  };

  Random random_;
  std::map<const Sequence*, std::vector<int32_t>> texts_;
};

// Records a request's callbacks, and checks what must hold at each.
class Listener {
 public:
  // Sets the callbacks. Must not move until the request is finished.
  void Attach(Request& request) {
    request.on_prefill = [this](uint64_t done, uint64_t total) {
      CHECK(done <= total && !finish_);
      prefills_.push_back(done);
    };
    request.on_token = [this](const Delta& delta) {
      CHECK(!finish_);
      answer_.tokens.push_back(delta.choice.id);
      answer_.choices.push_back(delta.choice);
      answer_.text += delta.text;
    };
    request.on_finish = [this](const Finish& finish) {
      CHECK(!finish_);
      finish_ = finish;
      answer_.text += finish.text;
      answer_.reason = finish.reason;
    };
  }

  bool finished() const { return finish_.has_value(); }
  const Finish& finish() const { return finish_.value(); }
  const Answer& answer() const { return answer_; }
  const std::vector<uint64_t>& prefills() const { return prefills_; }

 private:
  Answer answer_;
  std::optional<Finish> finish_;
  std::vector<uint64_t> prefills_;
};

}  // namespace aster::engine
