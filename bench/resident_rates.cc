// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A loaded model that measures the cases read from standard input, one a line, and answers with
// tokens per second: engines can take turns without loading again (bench/in_turns.py).
//
//   resident_rates MODEL THREADS
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "compute/cpu/backend.h"
#include "gguf/model_files.h"
#include "kernels/isa_choice.h"
#include "kv/pool.h"
#include "model/forward/forward.h"
#include "rate_case.h"

namespace aster {
namespace {

constexpr size_t kChunk = 512;
constexpr uint64_t kMemoryBytes = uint64_t{6} << 30;
using rates::Case;

class Resident {
 public:
  Resident(const gguf::ModelFiles& files, size_t threads)
      : pool_(threads),
        context_{pool_, kernels::IsaFromEnvironment().value()},
        weights_(model::LoadWeights(files,
                                    model::Slice::Whole(model::ReadShape(files.metadata()).value()),
                                    backend_)
                     .value()),
        layout_(model::MakeMemoryLayout(weights_.shape, model::Narrowed({}, weights_.shape),
                                        Hash128{1, 2})
                    .value()),
        pages_(kMemoryBytes),
        forward_(weights_, model::Narrowed({}, weights_.shape), backend_) {
    Random random(5);
    for (int32_t& token : tokens_)
      token = static_cast<int32_t>(random.NextBelow(weights_.shape.vocab_size));
  }

  double Measure(const Case& c) { return c.is_prompt ? Prompt(c) : Steps(c); }

 private:
  double Prompt(const Case& c) {
    kv::PageTable table = Behind(c.depth).Fork();
    const int64_t begin_ns = clock_.NowNs();
    Fill(table, c.depth, c.count, model::Wanted::kLast);
    return Rate(c.count, clock_.NowNs() - begin_ns);
  }

  double Steps(const Case& c) {
    std::vector<kv::PageTable> tables;
    for (size_t k = 0; k < c.batch; ++k) tables.push_back(Behind(c.depth).Fork());
    std::vector<int64_t> times;
    for (size_t i = 0; i < c.count; ++i) {
      std::vector<model::Segment> segments;
      for (size_t k = 0; k < c.batch; ++k) {
        segments.push_back({.table = &tables[k],
                            .tokens = std::span(tokens_).subspan(c.depth + i * c.batch + k, 1)});
      }
      const int64_t begin_ns = clock_.NowNs();
      (void)forward_.Run(segments).value();
      times.push_back(clock_.NowNs() - begin_ns);
    }
    std::ranges::sort(times);
    return Rate(c.batch, times[times.size() / 2]);
  }

  // The KV cache of `depth` tokens, computed once.
  const kv::PageTable& Behind(size_t depth) {
    const auto found = behind_.find(depth);
    if (found != behind_.end()) return found->second;
    kv::PageTable table(layout_, pages_, {weights_.slice.layer_begin, weights_.slice.layer_end});
    Fill(table, 0, depth, model::Wanted::kNone);
    return behind_.emplace(depth, std::move(table)).first->second;
  }

  void Fill(kv::PageTable& table, size_t begin, size_t count, model::Wanted of_last) {
    for (size_t done = 0; done < count; done += kChunk) {
      const size_t size = std::min(kChunk, count - done);
      const model::Segment segment{.table = &table,
                                   .tokens = std::span(tokens_).subspan(begin + done, size),
                                   .wanted = done + size == count ? of_last : model::Wanted::kNone};
      (void)forward_.Run({&segment, 1}).value();
    }
  }

  static double Rate(size_t tokens, int64_t ns) {
    return static_cast<double>(tokens) * 1e9 / static_cast<double>(ns);
  }

  SystemClock clock_;
  ThreadPool pool_;
  compute::Context context_;
  compute::CpuBackend backend_{context_};
  model::Weights weights_;
  kv::Layout layout_;
  kv::Pool pages_;
  model::Forward forward_;
  std::vector<int32_t> tokens_ = std::vector<int32_t>(rates::kMaxTokens);
  std::map<size_t, kv::PageTable> behind_;
};

int Main(int argc, char** argv) {
  unsigned threads = 0;
  const std::string_view given = argc == 3 ? argv[2] : "";
  std::from_chars(given.data(), given.data() + given.size(), threads);
  if (threads == 0) {
    fmt::print(stderr, "usage: resident_rates MODEL THREADS\n");
    return 2;
  }
  const auto files = gguf::ModelFiles::Open(std::string(argv[1]));
  if (!files.ok()) {
    fmt::print(stderr, "{}\n", files.error().message());
    return 1;
  }
  Resident resident(*files, threads);
  fmt::print("ready\n");
  std::fflush(stdout);
  std::string line;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    const auto parsed = rates::ParseCase(line);
    if (!parsed) {
      fmt::print(stderr, "resident_rates: \"{}\" is not a case\n", line);
      return 2;
    }
    fmt::print("{} {:.3f}\n", line, resident.Measure(*parsed));
    std::fflush(stdout);
    line.clear();
  }
  return 0;
}

}  // namespace
}  // namespace aster

int main(int argc, char** argv) { return aster::Main(argc, argv); }
