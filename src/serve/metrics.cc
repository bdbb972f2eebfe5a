// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace aster::serve {
namespace {

constexpr double kNsPerS = 1e9;

// A label's value: any characters, of which three have to be escaped.
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
    {"counter", "aster_cached_tokens_total", "Of them, remembered already.",
     &Totals::cached_tokens},
    {"counter", "aster_answer_tokens_total", "Tokens of answers.", &Totals::answer_tokens},
    {"counter", "aster_draft_tokens_total", "Guesses of what comes next that were checked.",
     &Totals::drafted_tokens},
    {"counter", "aster_draft_accepted_total", "Of them, those that were right.",
     &Totals::accepted_tokens},
    {"counter", "aster_answers_total", "Answers that came to their end.", &Totals::answers},
    {"counter", "aster_abandoned_total", "Answers whose client was gone.", &Totals::abandoned},
    {"counter", "aster_failed_total", "Answers that failed.", &Totals::failed},
};

constexpr Figure<ModelFigures> kNow[] = {
    {"gauge", "aster_queued", "Answers that wait to be begun.", &ModelFigures::queued},
    {"gauge", "aster_running", "Answers under way.", &ModelFigures::running},
};

constexpr Figure<HopFigures> kHops[] = {
    {"counter", "aster_hop_frames_total", "Frames that a node has computed.", &HopFigures::frames},
    {"counter", "aster_hop_sent_bytes_total", "Bytes that a node has sent on.",
     &HopFigures::sent_bytes},
};

// In seconds.
constexpr Figure<HopFigures> kHopTimes[] = {
    {"counter", "aster_hop_queue_seconds_total", "Time that frames waited at a node.",
     &HopFigures::queue_ns},
    {"counter", "aster_hop_compute_seconds_total", "Time that a node computed.",
     &HopFigures::compute_ns},
    {"counter", "aster_hop_send_seconds_total",
     "Time that frames were on the way from a node to the next, or back.", &HopFigures::send_ns},
    {"counter", "aster_hop_idle_seconds_total",
     "Time that frames were under way and a node computed none of them.", &HopFigures::idle_ns},
};

constexpr Figure<HopsFigures> kRoutes[] = {
    {"counter", "aster_replans_total", "Routes that took another one's place.",
     &HopsFigures::replans},
    {"counter", "aster_fetched_bytes_total", "Of what nodes remembered for each other.",
     &HopsFigures::fetched_bytes},
};

std::string LabelOf(const ModelFigures& model) {
  return fmt::format("model={}", Quoted(model.model));
}

std::string HopsText(std::span<const ModelFigures> models) {
  if (std::ranges::all_of(models, [](const auto& model) { return model.hops.hops.empty(); }))
    return "";
  std::string text;
  const auto add = [&](const Figure<HopFigures>& figure, bool is_time) {
    text += Head(figure.kind, figure.name, figure.help);
    for (const ModelFigures& model : models) {
      for (size_t i = 0; i < model.hops.hops.size(); ++i) {
        const HopFigures& hop = model.hops.hops[i];
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
  return text;
}

}  // namespace

Totals& Totals::operator+=(const Totals& other) {
  for (const auto& figure : kTotals) this->*figure.value += other.*figure.value;
  return *this;
}

void Histogram::Add(double value) {
  const auto bound = std::ranges::lower_bound(kBounds, value);
  ++counts_[static_cast<size_t>(bound - kBounds.begin())];
  ++count_;
  sum_ += value;
}

double Histogram::Quantile(double part) const {
  uint64_t below = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    below += counts_[i];
    if (static_cast<double>(below) >= part * static_cast<double>(count_)) return kBounds[i];
  }
  return kBounds.back();
}

std::string Histogram::ToText(const std::string& name, const std::string& label) const {
  std::string text;
  uint64_t below = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    below += counts_[i];
    text += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, label, kBounds[i], below);
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

void Metrics::SetHops(HopsFigures hops) {
  const MutexLock lock(mu_);
  hops_ = std::move(hops);
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

HopsFigures Metrics::hops() const {
  const MutexLock lock(mu_);
  return hops_;
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
  const char* const kFirst = "aster_first_token_seconds";
  text += Head("histogram", kFirst, "From the request to its first token.");
  for (const ModelFigures& model : models) text += model.first_token.ToText(kFirst, LabelOf(model));
  const char* const kNext = "aster_next_token_seconds";
  text += Head("histogram", kNext, "Between two tokens of an answer.");
  for (const ModelFigures& model : models) text += model.next_token.ToText(kNext, LabelOf(model));
  return text + HopsText(models);
}

}  // namespace aster::serve
