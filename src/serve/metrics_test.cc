// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/metrics.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace aster::serve {
namespace {

using Labels = std::map<std::string, std::string>;

struct Sample {
  std::string name;
  Labels labels;
  std::string value;
};

// A strict reader of Prometheus' text format: in a label's value only these three may follow a
// backslash, and there is no line end.
class SampleReader {
 public:
  explicit SampleReader(std::string_view line) : rest_(line) {}

  std::optional<Sample> Read() {
    Sample sample;
    sample.name = Until("{ ");
    if (Take('{')) {
      while (!Take('}')) {
        const std::string label = Until("=");
        std::string value;
        if (label.empty() || !Take('=') || !ReadValue(value)) return std::nullopt;
        if (!sample.labels.emplace(label, value).second) return std::nullopt;
        if (!Take(',') && !rest_.starts_with('}')) return std::nullopt;
      }
    }
    if (!Take(' ')) return std::nullopt;
    sample.value = std::string(rest_);
    return sample;
  }

 private:
  bool Take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string Until(std::string_view ends) {
    const size_t size = std::min(rest_.find_first_of(ends), rest_.size());
    const std::string text(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return text;
  }
  bool ReadValue(std::string& value) {
    if (!Take('"')) return false;
    while (!rest_.empty()) {
      if (Take('"')) return true;
      if (Take('\\')) {
        const size_t kind = std::string_view("\\\"n").find(rest_.empty() ? 'x' : rest_.front());
        if (kind == std::string_view::npos) return false;
        value += "\\\"\n"[kind];
      } else {
        value += rest_.front();
      }
      rest_.remove_prefix(1);
    }
    return false;
  }

  std::string_view rest_;
};

std::vector<Sample> SamplesOf(const std::string& text) {
  std::vector<Sample> samples;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_NE(end, std::string::npos) << "the last line has no end";
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.starts_with("# HELP ") || line.starts_with("# TYPE ")) continue;
    auto sample = SampleReader(line).Read();
    EXPECT_TRUE(sample) << line;
    if (sample) samples.push_back(*std::move(sample));
  }
  return samples;
}

std::string ValueOf(const std::vector<Sample>& samples, std::string_view name,
                    const Labels& labels) {
  for (const Sample& sample : samples) {
    if (sample.name == name && sample.labels == labels) return sample.value;
  }
  return "nothing";
}

TEST(Metrics, NamesMayHaveAnyCharacters) {
  const std::string strange = "a\\b\"c\nd} e,f=\"";
  ModelFigures model{.model = strange};
  model.totals.answers = 3;
  model.hops.hops = {{.node = strange, .layers = "layers 0-1", .frames = 5}};
  model.first_token.Add(0.2);
  RequestCounts::Map requests;
  requests[{strange, 200}] = 7;
  const auto samples = SamplesOf(ToPrometheus(requests, 1, {&model, 1}));
  EXPECT_EQ(ValueOf(samples, "aster_answers_total", {{"model", strange}}), "3");
  EXPECT_EQ(ValueOf(samples, "aster_http_requests_total", {{"path", strange}, {"status", "200"}}),
            "7");
  EXPECT_EQ(
      ValueOf(samples, "aster_hop_frames_total",
              {{"model", strange}, {"hop", "0"}, {"node", strange}, {"layers", "layers 0-1"}}),
      "5");
  EXPECT_EQ(
      ValueOf(samples, "aster_first_token_seconds_bucket", {{"model", strange}, {"le", "0.25"}}),
      "1");
}

TEST(Metrics, BytesThatAreNoCharactersDoNotGetOut) {
  const ModelFigures model{.model = "a\xffz"};
  const auto samples = SamplesOf(ToPrometheus({}, 0, {&model, 1}));
  EXPECT_EQ(ValueOf(samples, "aster_answers_total", {{"model", "a\ufffdz"}}), "0");
}

TEST(Metrics, EachHopHasAllOfItsTimes) {
  ModelFigures model{.model = "m"};
  model.hops.hops = {{.node = "n",
                      .layers = "layers 0-1",
                      .frames = 2,
                      .queue_ns = 1'500'000'000,
                      .compute_ns = 2'500'000'000,
                      .send_ns = 250'000'000,
                      .idle_ns = 750'000'000,
                      .sent_bytes = 4096,
                      .gather_ns = 375'000'000,
                      .gather_bytes = 8192,
                      .gathers = 17,
                      .gather_send_ns = 125'000'000}};
  const auto samples = SamplesOf(ToPrometheus({}, 0, {&model, 1}));
  const Labels labels = {{"model", "m"}, {"hop", "0"}, {"node", "n"}, {"layers", "layers 0-1"}};
  EXPECT_EQ(ValueOf(samples, "aster_hop_gathers_total", labels), "17");
  EXPECT_EQ(ValueOf(samples, "aster_hop_gather_bytes_total", labels), "8192");
  EXPECT_EQ(ValueOf(samples, "aster_hop_gather_seconds_total", labels), "0.375");
  EXPECT_EQ(ValueOf(samples, "aster_hop_gather_send_seconds_total", labels), "0.125");
  EXPECT_EQ(ValueOf(samples, "aster_hop_frames_total", labels), "2");
  EXPECT_EQ(ValueOf(samples, "aster_hop_sent_bytes_total", labels), "4096");
  EXPECT_EQ(ValueOf(samples, "aster_hop_queue_seconds_total", labels), "1.5");
  EXPECT_EQ(ValueOf(samples, "aster_hop_compute_seconds_total", labels), "2.5");
  EXPECT_EQ(ValueOf(samples, "aster_hop_send_seconds_total", labels), "0.25");
  EXPECT_EQ(ValueOf(samples, "aster_hop_idle_seconds_total", labels), "0.75");
}

TEST(Metrics, MemoryIsThatWhichIsKnown) {
  const ModelFigures models[] = {{.model = "here",
                                  .memory = {.weight_bytes = 3,
                                             .held_bytes = 5,
                                             .cached_bytes = 7,
                                             .limit_bytes = 64,
                                             .limit_tokens = 9}},
                                 {.model = "on nodes", .memory = {.limit_tokens = 11}},
                                 {.model = "unknown"}};
  const std::string text = ToPrometheus({}, 0, models);
  const auto samples = SamplesOf(text);
  EXPECT_EQ(ValueOf(samples, "aster_weight_bytes", {{"model", "here"}}), "3");
  EXPECT_EQ(ValueOf(samples, "aster_weight_bytes", {{"model", "on nodes"}}), "nothing");
  EXPECT_EQ(ValueOf(samples, "aster_kv_bytes", {{"model", "here"}}), "5");
  EXPECT_EQ(ValueOf(samples, "aster_kv_cached_bytes", {{"model", "here"}}), "7");
  EXPECT_EQ(ValueOf(samples, "aster_kv_bytes_limit", {{"model", "here"}}), "64");
  EXPECT_EQ(ValueOf(samples, "aster_kv_usage", {{"model", "here"}}), "0.07812");
  EXPECT_EQ(ValueOf(samples, "aster_kv_usage", {{"model", "on nodes"}}), "nothing");
  EXPECT_EQ(ValueOf(samples, "aster_kv_tokens_limit", {{"model", "here"}}), "9");
  EXPECT_EQ(ValueOf(samples, "aster_kv_bytes", {{"model", "on nodes"}}), "nothing");
  EXPECT_EQ(ValueOf(samples, "aster_kv_tokens_limit", {{"model", "on nodes"}}), "11");
  EXPECT_EQ(ValueOf(samples, "aster_kv_tokens_limit", {{"model", "unknown"}}), "nothing");
}

TEST(Metrics, RatesAreCountedWhereThereAreAny) {
  Metrics metrics;
  metrics.AddPromptRate(600, 2'000'000'000);
  metrics.AddAnswerRate(8, 1'000'000'000);
  metrics.AddAnswerRate(0, 1'000'000'000);
  metrics.AddAnswerRate(8, 0);
  const ModelFigures model{
      .model = "m", .prompt_rate = metrics.prompt_rate(), .answer_rate = metrics.answer_rate()};
  const auto samples = SamplesOf(ToPrometheus({}, 0, {&model, 1}));
  const auto bucket = [&](const char* name, const char* bound) {
    return ValueOf(samples, name, {{"model", "m"}, {"le", bound}});
  };
  EXPECT_EQ(bucket("aster_prompt_tokens_per_second_bucket", "250"), "0");
  EXPECT_EQ(bucket("aster_prompt_tokens_per_second_bucket", "500"), "1");
  EXPECT_EQ(bucket("aster_answer_tokens_per_second_bucket", "5"), "0");
  EXPECT_EQ(bucket("aster_answer_tokens_per_second_bucket", "10"), "1");
  EXPECT_EQ(ValueOf(samples, "aster_answer_tokens_per_second_count", {{"model", "m"}}), "1");
}

TEST(Metrics, KvTransfersAlsoUnderTheirEarlierNames) {
  ModelFigures model{.model = "m"};
  model.hops = {.hops = {{.node = "n", .layers = "l"}},
                .transferred_prompts = 3,
                .transferred_bytes = 4096,
                .exposed_ns = 1'500'000'000};
  const auto samples = SamplesOf(ToPrometheus({}, 0, {&model, 1}));
  for (const std::string name : {"aster_kv_transfers", "aster_handed_over"})
    EXPECT_EQ(ValueOf(samples, name + "_total", {{"model", "m"}}), "3");
  for (const std::string name : {"aster_kv_transfer", "aster_handed_over"}) {
    EXPECT_EQ(ValueOf(samples, name + "_bytes_total", {{"model", "m"}}), "4096");
    EXPECT_EQ(ValueOf(samples, name + "_exposed_seconds_total", {{"model", "m"}}), "1.5");
  }
}

TEST(Metrics, DraftTokensInFlight) {
  ModelFigures model{.model = "m"};
  model.hops = {.hops = {{.node = "n", .layers = "l"}},
                .frames_ahead = 7,
                .frames_ahead_cancelled = 2,
                .bubbles_filled = 5,
                .bubbles_filled_ns = 2'500'000'000};
  const auto samples = SamplesOf(ToPrometheus({}, 0, {&model, 1}));
  EXPECT_EQ(ValueOf(samples, "aster_draft_frames_ahead_total", {{"model", "m"}}), "7");
  EXPECT_EQ(ValueOf(samples, "aster_draft_frames_cancelled_total", {{"model", "m"}}), "2");
  EXPECT_EQ(ValueOf(samples, "aster_draft_bubbles_filled_total", {{"model", "m"}}), "5");
  EXPECT_EQ(ValueOf(samples, "aster_draft_bubble_seconds_total", {{"model", "m"}}), "2.5");
}

TEST(Metrics, DraftersOfOtherMachinesAreShownWhereverTheModelIs) {
  Metrics metrics;
  metrics.SetRemoteDrafts({.drafters = 2, .proposed = 9, .accepted = 6, .cancelled = 3});
  const ModelFigures models[] = {
      {.model = "here", .remote_drafts = metrics.remote_drafts()},
      {.model = "on nodes",
       .hops = {.hops = {{.node = "n", .layers = "l"}}},
       .remote_drafts = {.drafters = 1, .proposed = 4, .accepted = 4, .cancelled = 0}},
      {.model = "without"}};
  const auto samples = SamplesOf(ToPrometheus({}, 0, models));
  const auto value = [&](const char* name, const char* model) {
    return ValueOf(samples, name, {{"model", model}});
  };
  EXPECT_EQ(value("aster_remote_drafters", "here"), "2");
  EXPECT_EQ(value("aster_remote_draft_tokens_total", "here"), "9");
  EXPECT_EQ(value("aster_remote_draft_tokens_accepted_total", "here"), "6");
  EXPECT_EQ(value("aster_remote_draft_tokens_cancelled_total", "here"), "3");
  EXPECT_EQ(value("aster_remote_drafters", "on nodes"), "1");
  EXPECT_EQ(value("aster_remote_draft_tokens_total", "on nodes"), "4");
  // The metrics exist from the start, not only once there is a drafter.
  EXPECT_EQ(value("aster_remote_drafters", "without"), "0");
  EXPECT_EQ(value("aster_remote_draft_tokens_total", "without"), "0");
}

TEST(Metrics, TotalsAddUp) {
  Metrics metrics;
  metrics.Add({.prompt_tokens = 5, .drafted_tokens = 4, .accepted_tokens = 3, .answers = 1});
  metrics.Add({.failed = 1});
  metrics.Add({.prompt_tokens = 2, .cached_tokens = 1, .answer_tokens = 6, .abandoned = 1});
  const Totals totals = metrics.totals();
  EXPECT_EQ(totals.prompt_tokens, 7u);
  EXPECT_EQ(totals.cached_tokens, 1u);
  EXPECT_EQ(totals.answer_tokens, 6u);
  EXPECT_EQ(totals.drafted_tokens, 4u);
  EXPECT_EQ(totals.accepted_tokens, 3u);
  EXPECT_EQ(totals.answers, 1u);
  EXPECT_EQ(totals.abandoned, 1u);
  EXPECT_EQ(totals.failed, 1u);
}

TEST(Metrics, BucketsAreCumulative) {
  Histogram histogram;
  for (const double value : {0.001, 0.02, 0.02, 100.0}) histogram.Add(value);
  const auto samples = SamplesOf(histogram.ToText("h", "model=\"m\""));
  EXPECT_EQ(ValueOf(samples, "h_bucket", {{"model", "m"}, {"le", "0.005"}}), "1");
  EXPECT_EQ(ValueOf(samples, "h_bucket", {{"model", "m"}, {"le", "0.025"}}), "3");
  EXPECT_EQ(ValueOf(samples, "h_bucket", {{"model", "m"}, {"le", "60"}}), "3");
  EXPECT_EQ(ValueOf(samples, "h_bucket", {{"model", "m"}, {"le", "+Inf"}}), "4");
  EXPECT_EQ(ValueOf(samples, "h_count", {{"model", "m"}}), "4");
  EXPECT_EQ(histogram.Quantile(0.5), 0.025);
}

}  // namespace
}  // namespace aster::serve
