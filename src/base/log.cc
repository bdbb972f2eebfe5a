// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <ctime>
#include <iterator>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "base/json_string.h"
#include "base/mutex.h"

namespace aster::log {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warn", "error", "off"};

// Passes finished lines to a function. The logger calls it with our own mutex held.
class FunctionSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit FunctionSink(Sink write) : write_(std::move(write)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    write_({message.payload.data(), message.payload.size()});
  }
  void flush_() override {}

  Sink write_;
};

std::shared_ptr<spdlog::logger> MakeLogger(Sink sink) {
  std::shared_ptr<spdlog::sinks::sink> target;
  if (sink) {
    target = std::make_shared<FunctionSink>(std::move(sink));
  } else {
    target = std::make_shared<spdlog::sinks::stderr_sink_st>();
  }
  auto logger = std::make_shared<spdlog::logger>("aster", std::move(target));
  // Lines arrive complete: no line end, nothing is added.
  logger->set_formatter(std::make_unique<spdlog::pattern_formatter>(
      "%v", spdlog::pattern_time_type::local, /*eol=*/""));
  logger->set_level(spdlog::level::trace);
  logger->flush_on(spdlog::level::trace);
  return logger;
}

struct State {
  std::atomic<Level> least = Level::kInfo;
  std::atomic<Format> format = Format::kText;
  Mutex mu;
  std::shared_ptr<spdlog::logger> logger GUARDED_BY(mu) = MakeLogger({});
};

// Never destroyed, so that lines can still be written while the process ends.
State& TheState() {
  static State* const state = std::make_unique<State>().release();
  return *state;
}

void Write(Level level, std::string_view message, Fields fields) {
  State& state = TheState();
  if (level < state.least) return;
  const std::string line = FormatLine(state.format, level, SystemClock().WallNs(), message,
                                      {fields.begin(), fields.end()});
  const MutexLock lock(state.mu);
  state.logger->log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

// The moment in UTC or local time, to the millisecond.
std::string TimeText(int64_t wall_ns, bool utc) {
  const int64_t ms = wall_ns / kNsPerMs;
  const auto seconds = static_cast<time_t>(ms / 1000);
  tm parts{};
  if (utc) {
    gmtime_r(&seconds, &parts);
  } else {
    localtime_r(&seconds, &parts);
  }
  return fmt::format("{:04}-{:02}-{:02}{}{:02}:{:02}:{:02}.{:03}{}", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, utc ? 'T' : ' ', parts.tm_hour, parts.tm_min,
                     parts.tm_sec, ms % 1000, utc ? "Z" : "");
}

bool IsBareCharacter(char c) { return c > ' ' && c <= '~' && c != '"' && c != '=' && c != '\\'; }

// Unquoted if that is unambiguous, otherwise in quotes.
void AppendBareOrQuoted(std::string& out, std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsBareCharacter)) {
    out += text;
  } else {
    AppendJsonString(out, text);
  }
}

void AppendValue(std::string& out, const Field::Value& value, Format format) {
  std::visit(
      [&]<typename T>(const T& v) {
        if constexpr (std::same_as<T, std::string_view>) {
          format == Format::kJson ? AppendJsonString(out, v) : AppendBareOrQuoted(out, v);
        } else if constexpr (std::same_as<T, double>) {
          // JSON cannot express infinities and NaN.
          const bool quoted = format == Format::kJson && !std::isfinite(v);
          fmt::format_to(std::back_inserter(out), "{0}{1}{0}", quoted ? "\"" : "", v);
        } else {
          fmt::format_to(std::back_inserter(out), "{}", v);
        }
      },
      value);
}

// The message stays on its line: control characters become escapes.
void AppendMessage(std::string& out, std::string_view message) {
  std::string quoted;
  AppendJsonString(quoted, message);
  const bool is_plain = std::string_view(quoted).substr(1, quoted.size() - 2) == message;
  out += is_plain ? message : std::string_view(quoted);
}

}  // namespace

std::string_view LevelName(Level level) { return kLevelNames[static_cast<size_t>(level)]; }

Result<Level> ParseLevel(std::string_view name) {
  const auto* found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  if (found != kLevelNames.end()) return static_cast<Level>(found - kLevelNames.begin());
  return InvalidArgument(
      fmt::format("'{}' is no log level; write one of {}", name, fmt::join(kLevelNames, ", ")));
}

void Debug(std::string_view message, Fields fields) { Write(Level::kDebug, message, fields); }
void Info(std::string_view message, Fields fields) { Write(Level::kInfo, message, fields); }
void Warn(std::string_view message, Fields fields) { Write(Level::kWarn, message, fields); }
void Error(std::string_view message, Fields fields) { Write(Level::kError, message, fields); }

bool IsEnabled(Level level) { return level >= TheState().least; }

void Configure(Level least, Format format) {
  TheState().least = least;
  TheState().format = format;
}

void SetSink(Sink sink) {
  State& state = TheState();
  std::shared_ptr<spdlog::logger> logger = MakeLogger(std::move(sink));
  const MutexLock lock(state.mu);
  state.logger = std::move(logger);
}

std::string FormatLine(Format format, Level level, int64_t wall_ns, std::string_view message,
                       std::span<const Field> fields) {
  std::string line;
  if (format == Format::kText) {
    line = fmt::format("{} {:5} ", TimeText(wall_ns, /*utc=*/false), LevelName(level));
    AppendMessage(line, message);
    for (const Field& field : fields) {
      line += ' ';
      AppendBareOrQuoted(line, field.key());
      line += '=';
      AppendValue(line, field.value(), format);
    }
  } else {
    line = fmt::format(R"({{"time":"{}","level":"{}","message":)", TimeText(wall_ns, /*utc=*/true),
                       LevelName(level));
    AppendJsonString(line, message);
    for (const Field& field : fields) {
      line += ',';
      AppendJsonString(line, field.key());
      line += ':';
      AppendValue(line, field.value(), format);
    }
    line += '}';
  }
  line += '\n';
  return line;
}

}  // namespace aster::log
