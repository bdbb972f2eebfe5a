// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace aster::serve {
namespace {

constexpr double kNsPerS = 1e9;

// A label's value: any characters, three of them escaped.
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : ToValidUtf8(text)) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string Head(const char* kind, const char* name, const char* help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, kind);
}

template <typename T>
struct Figure {
  const char* kind;
  const char* name;
  const char* help;
  uint64_t T::* value;
};

constexpr Figure<Totals> kTotals[] = {
    {"counter", "aster_prompt_tokens_total", "Tokens of prompts.", &Totals::prompt_tokens},
    {"counter", "aster_cached_tokens_total", "Tokens of prompts that were in the KV cache.",
     &Totals::cached_tokens},
    {"counter", "aster_answer_tokens_total", "Tokens of answers.", &Totals::answer_tokens},
    {"counter", "aster_draft_tokens_total", "Draft tokens that were checked.",
     &Totals::drafted_tokens},
    {"counter", "aster_draft_accepted_total", "Draft tokens that were accepted.",
     &Totals::accepted_tokens},
    {"counter", "aster_answers_total", "Answers that were completed.", &Totals::answers},
    {"counter", "aster_abandoned_total", "Answers whose client disconnected.", &Totals::abandoned},
    {"counter", "aster_failed_total", "Answers that failed.", &Totals::failed},
};

constexpr Figure<ModelFigures> kNow[] = {
    {"gauge", "aster_queued", "Requests that wait.", &ModelFigures::queued},
    {"gauge", "aster_running", "Answers that are being computed.", &ModelFigures::running},
};

constexpr Figure<open::RemoteDraftFigures> kRemoteDrafts[] = {
    {"gauge", "aster_remote_drafters", "Drafters on other machines that the last answer could use.",
     &open::RemoteDraftFigures::drafters},
    {"counter", "aster_remote_draft_tokens_total", "Draft tokens pushed by other machines.",
     &open::RemoteDraftFigures::proposed},
    {"counter", "aster_remote_draft_tokens_accepted_total",
     "Of these, draft tokens that agreed with the text.", &open::RemoteDraftFigures::accepted},
    {"counter", "aster_remote_draft_tokens_cancelled_total",
     "Of these, draft tokens dropped because the text differed.",
     &open::RemoteDraftFigures::cancelled},
};

constexpr Figure<open::HopFigures> kHops[] = {
    {"counter", "aster_hop_frames_total", "Frames that a node has computed.",
     &open::HopFigures::frames},
    {"counter", "aster_hop_sent_bytes_total", "Bytes that a node has sent.",
     &open::HopFigures::sent_bytes},
    {"counter", "aster_hop_gather_bytes_total",
     "Bytes that the leading node of a group has sent the others for what they compute together.",
     &open::HopFigures::gather_bytes},
    {"counter", "aster_hop_gathers_total",
     "Gathers of a group: in each its nodes exchange what they have computed.",
     &open::HopFigures::gathers},
};

// In seconds.
constexpr Figure<open::HopFigures> kHopTimes[] = {
    {"counter", "aster_hop_queue_seconds_total", "Time that frames waited at a node.",
     &open::HopFigures::queue_ns},
    {"counter", "aster_hop_compute_seconds_total", "Time that a node computed.",
     &open::HopFigures::compute_ns},
    {"counter", "aster_hop_send_seconds_total",
     "Time of frames in transfer from a node to the next, or back.", &open::HopFigures::send_ns},
    {"counter", "aster_hop_idle_seconds_total",
     "Time in which frames were in flight and a node was idle.", &open::HopFigures::idle_ns},
    {"counter", "aster_hop_gather_seconds_total",
     "Time that the leading node of a group waited for the others, of the time it computed.",
     &open::HopFigures::gather_ns},
    {"counter", "aster_hop_gather_send_seconds_total",
     "Time that the leading node of a group spent on sending to the others, of the time it "
     "computed.",
     &open::HopFigures::gather_send_ns},
};

constexpr Figure<open::HopsFigures> kRoutes[] = {
    {"counter", "aster_replans_total", "Routes that replaced a failed one.",
     &open::HopsFigures::replans},
    {"counter", "aster_fetched_bytes_total", "KV rows fetched from other nodes by prefix search.",
     &open::HopsFigures::fetched_bytes},
    {"counter", "aster_kv_transfers_total",
     "Prompts with a KV transfer from prefill nodes to the decode node.",
     &open::HopsFigures::transferred_prompts},
    {"counter", "aster_kv_transfer_bytes_total",
     "KV rows transferred from prefill nodes to the decode node.",
     &open::HopsFigures::transferred_bytes},
    {"counter", "aster_handed_over_total", "The earlier name of aster_kv_transfers_total.",
     &open::HopsFigures::transferred_prompts},
    {"counter", "aster_handed_over_bytes_total",
     "The earlier name of aster_kv_transfer_bytes_total.", &open::HopsFigures::transferred_bytes},
    {"counter", "aster_draft_frames_ahead_total",
     "Frames of draft tokens sent behind draft tokens in flight.",
     &open::HopsFigures::frames_ahead},
    {"counter", "aster_draft_frames_cancelled_total",
     "Of these, frames cancelled because a draft token before them was rejected.",
     &open::HopsFigures::frames_ahead_cancelled},
    {"counter", "aster_draft_bubbles_filled_total",
     "Times that a stage computed such a frame before its draft tokens were known to be right, and "
     "would otherwise have been idle.",
     &open::HopsFigures::bubbles_filled},
};

constexpr Figure<open::HopsFigures> kRouteTimes[] = {
    {"counter", "aster_draft_bubble_seconds_total",
     "Time that stages computed what aster_draft_bubbles_filled_total counts.",
     &open::HopsFigures::bubbles_filled_ns},
    {"counter", "aster_kv_transfer_exposed_seconds_total",
     "Time from the end of prefill to the first token of prompts with a KV transfer.",
     &open::HopsFigures::exposed_ns},
    {"counter", "aster_handed_over_exposed_seconds_total",
     "The earlier name of aster_kv_transfer_exposed_seconds_total.",
     &open::HopsFigures::exposed_ns},
};

constexpr Figure<open::MemoryFigures> kKv[] = {
    {"gauge", "aster_kv_bytes", "KV cache that conversations use.",
     &open::MemoryFigures::held_bytes},
    {"gauge", "aster_kv_cached_bytes",
     "KV cache of pages that no conversation uses, until they are evicted.",
     &open::MemoryFigures::cached_bytes},
    {"gauge", "aster_kv_bytes_limit", "Memory limit of both.", &open::MemoryFigures::limit_bytes},
};

struct Distribution {
  const char* name;
  const char* help;
  Histogram ModelFigures::* value;
};
constexpr Distribution kDistributions[] = {
    {"aster_first_token_seconds", "Time to first token (TTFT).", &ModelFigures::first_token},
    {"aster_next_token_seconds", "Inter-token latency.", &ModelFigures::next_token},
    {"aster_prompt_tokens_per_second", "Prefill rate, without cached tokens.",
     &ModelFigures::prompt_rate},
    {"aster_answer_tokens_per_second", "Decode rate, after the first token.",
     &ModelFigures::answer_rate},
};

std::string LabelOf(const ModelFigures& model) {
  return fmt::format("model={}", Quoted(model.model));
}

std::string HopsText(std::span<const ModelFigures> models) {
  if (std::ranges::all_of(models, [](const auto& model) { return model.hops.hops.empty(); }))
    return "";
  std::string text;
  const auto add = [&](const Figure<open::HopFigures>& figure, bool is_time) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models) {
      for (size_t i = 0; i < model.hops.hops.size(); ++i) {
        const open::HopFigures& hop = model.hops.hops[i];
        const double value = static_cast<double>(hop.*figure.value);
        text +=
            fmt::format("{}{{{},hop=\"{}\",node={},layers={}}} {}\n", figure.name, LabelOf(model),
                        i, Quoted(hop.node), Quoted(hop.layers), is_time ? value / kNsPerS : value);
      }
    }
  };
  for (const auto& figure : kHops) add(figure, false);
  for (const auto& figure : kHopTimes) add(figure, true);
  for (const auto& figure : kRoutes) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models) {
      if (model.hops.hops.empty()) continue;
      text += fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model), model.hops.*figure.value);
    }
  }
  for (const auto& figure : kRouteTimes) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models) {
      if (model.hops.hops.empty()) continue;
      text += fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model),
                          static_cast<double>(model.hops.*figure.value) / kNsPerS);
    }
  }
  return text;
}

// From 0 to 1, for endpoint pickers of orchestrators, which compare servers.
std::string KvUsage(std::span<const ModelFigures> models) {
  const char* const kName = "aster_kv_usage";
  std::string lines;
  for (const ModelFigures& model : models) {
    if (model.memory.limit_bytes == 0) continue;
    lines += fmt::format("{}{{{}}} {:.4g}\n", kName, LabelOf(model),
                         static_cast<double>(model.memory.held_bytes) /
                             static_cast<double>(model.memory.limit_bytes));
  }
  if (lines.empty()) return "";
  return Head("gauge", kName, "Part of the KV cache's memory limit that conversations use.") +
         lines;
}

// For models whose weights and KV cache are on this machine: nodes report their own.
std::string MemoryText(std::span<const ModelFigures> models) {
  std::string text;
  const auto add = [&](const Figure<open::MemoryFigures>& figure,
                       uint64_t open::MemoryFigures::* known) {
    std::string lines;
    for (const ModelFigures& model : models) {
      if (model.memory.*known == 0) continue;
      lines +=
          fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model), model.memory.*figure.value);
    }
    if (!lines.empty()) text += Head(figure.kind, figure.name, figure.help) + lines;
  };
  add({"gauge", "aster_weight_bytes", "Weights in main memory, as packed for this processor.",
       &open::MemoryFigures::weight_bytes},
      &open::MemoryFigures::weight_bytes);
  for (const auto& figure : kKv) add(figure, &open::MemoryFigures::limit_bytes);
  text += KvUsage(models);
  add({"gauge", "aster_kv_tokens_limit",
       "Tokens of one conversation that the KV cache has room for.",
       &open::MemoryFigures::limit_tokens},
      &open::MemoryFigures::limit_tokens);
  return text;
}

}  // namespace

Totals& Totals::operator+=(const Totals& other) {
  for (const auto& figure : kTotals) this->*figure.value += other.*figure.value;
  return *this;
}

void Histogram::Add(double value) {
  const auto bound = std::ranges::lower_bound(*bounds_, value);
  ++counts_[static_cast<size_t>(bound - bounds_->begin())];
  ++count_;
  sum_ += value;
}

double Histogram::Quantile(double part) const {
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_->size(); ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= part * static_cast<double>(count_)) return (*bounds_)[i];
  }
  return bounds_->back();
}

std::string Histogram::ToText(const std::string& name, const std::string& label) const {
  std::string text;
  uint64_t below = 0;
  for (size_t i = 0; i < bounds_->size(); ++i) {
    below += counts_[i];
    text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, label, (*bounds_)[i], below);
  }
  return text + fmt::format(
                    "{0}_bucket{{{1},le=\"+Inf\"}} {2}\n{0}_sum{{{1}}} {3}\n"
                    "{0}_count{{{1}}} {2}\n",
                    name, label, count_, sum_);
}

void Metrics::Add(const Totals& more) {
  const MutexLock lock(mu_);
  totals_ += more;
}

void Metrics::AddFirstToken(int64_t ns) {
  const MutexLock lock(mu_);
  first_token_.Add(static_cast<double>(ns) / kNsPerS);
}

void Metrics::AddNextToken(int64_t ns) {
  const MutexLock lock(mu_);
  next_token_.Add(static_cast<double>(ns) / kNsPerS);
}

void Metrics::SetHops(open::HopsFigures hops) {
  const MutexLock lock(mu_);
  hops_ = std::move(hops);
}

void Metrics::SetRemoteDrafts(const open::RemoteDraftFigures& drafts) {
  const MutexLock lock(mu_);
  remote_drafts_ = drafts;
}

void Metrics::SetMemory(const open::MemoryFigures& memory) {
  const MutexLock lock(mu_);
  memory_ = memory;
}

void Metrics::AddPromptRate(uint64_t tokens, int64_t ns) {
  if (tokens == 0 || ns <= 0) return;
  const MutexLock lock(mu_);
  prompt_rate_.Add(static_cast<double>(tokens) * kNsPerS / static_cast<double>(ns));
}

void Metrics::AddAnswerRate(uint64_t tokens, int64_t ns) {
  if (tokens == 0 || ns <= 0) return;
  const MutexLock lock(mu_);
  answer_rate_.Add(static_cast<double>(tokens) * kNsPerS / static_cast<double>(ns));
}

Totals Metrics::totals() const {
  const MutexLock lock(mu_);
  return totals_;
}

Histogram Metrics::first_token() const {
  const MutexLock lock(mu_);
  return first_token_;
}

Histogram Metrics::next_token() const {
  const MutexLock lock(mu_);
  return next_token_;
}

open::HopsFigures Metrics::hops() const {
  const MutexLock lock(mu_);
  return hops_;
}

open::RemoteDraftFigures Metrics::remote_drafts() const {
  const MutexLock lock(mu_);
  return remote_drafts_;
}

open::MemoryFigures Metrics::memory() const {
  const MutexLock lock(mu_);
  return memory_;
}

Histogram Metrics::prompt_rate() const {
  const MutexLock lock(mu_);
  return prompt_rate_;
}

Histogram Metrics::answer_rate() const {
  const MutexLock lock(mu_);
  return answer_rate_;
}

void RequestCounts::Count(const std::string& path, int status) {
  const MutexLock lock(mu_);
  ++counts_[{path, status}];
}

RequestCounts::Map RequestCounts::all() const {
  const MutexLock lock(mu_);
  return counts_;
}

std::string ToPrometheus(const RequestCounts::Map& requests, uint64_t connections,
                         std::span<const ModelFigures> models) {
  std::string text = Head("counter", "aster_http_requests_total", "Requests that were answered.");
  for (const auto& [key, count] : requests) {
    text += fmt::format("aster_http_requests_total{{path={},status=\"{}\"}} {}\n",
                        Quoted(key.first), key.second, count);
  }
  text += Head("gauge", "aster_connections", "Connections that are open.");
  text += fmt::format("aster_connections {}\n", connections);
  for (const auto& figure : kTotals) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models)
      text += fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model), model.totals.*figure.value);
  }
  for (const auto& figure : kNow) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models)
      text += fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model), model.*figure.value);
  }
  for (const auto& figure : kRemoteDrafts) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models)
      text += fmt::format("{}{{{}}} {}\n", figure.name, LabelOf(model),
                          model.remote_drafts.*figure.value);
  }
  for (const Distribution& one : kDistributions) {
    text += Head("histogram", one.name, one.help);
    for (const ModelFigures& model : models)
      text += (model.*one.value).ToText(one.name, LabelOf(model));
  }
  return text + MemoryText(models) + HopsText(models);
}

}  // namespace aster::serve
