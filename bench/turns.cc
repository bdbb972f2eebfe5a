// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The cost, on this machine, of two cores that take turns, without nodes or links: a token goes
// through all layers on one core, or through the first half on one and the rest on another. Two
// nodes with a core each cannot answer one sequence faster than that (bench/nodes.py --limit).
//
//   turns MODEL TOKENS ROUNDS
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/machine.h"
#include "compute/cpu/backend.h"
#include "gguf/model_files.h"
#include "kernels/isa_choice.h"
#include "kv/pool.h"
#include "model/forward/forward.h"

namespace aster {
namespace {

constexpr uint64_t kMemoryBytes = uint64_t{256} << 20;

class Turns {
 public:
  Turns(const gguf::ModelFiles& files, std::vector<int> cores)
      : cores_(std::move(cores)),
        pool_(1),
        context_{pool_, kernels::IsaFromEnvironment().value()},
        whole_(model::Slice::Whole(model::ReadShape(files.metadata()).value())),
        weights_(model::LoadWeights(files, whole_, backend_).value()),
        layout_(model::MakeMemoryLayout(weights_.shape, model::Narrowed({}, weights_.shape),
                                        Hash128{1, 2})
                    .value()),
        pages_(kMemoryBytes),
        forward_(weights_, model::Narrowed({}, weights_.shape), backend_) {}

  // The median time of a token.
  int64_t Measure(bool in_turns, size_t tokens) {
    kv::PageTable table(layout_, pages_, {whole_.layer_begin, whole_.layer_end});
    const uint32_t middle = whole_.layer_end / 2;
    const model::Slice first{0, middle, true, false};
    const model::Slice second{middle, whole_.layer_end, false, true};
    std::vector<int64_t> times;
    for (size_t i = 0; i < tokens; ++i) {
      const auto token = static_cast<int32_t>(i);
      const int64_t begin_ns = clock_.NowNs();
      PinThisThread(cores_[0]);
      model::Segment segment{.table = &table, .tokens = {&token, 1}};
      const auto hidden = forward_.Run({&segment, 1}, first).value().hidden;
      const std::vector<float> rows(hidden.begin(), hidden.end());
      if (in_turns) PinThisThread(cores_[1]);
      segment.hidden = rows.data();
      (void)forward_.Run({&segment, 1}, second).value();
      times.push_back(clock_.NowNs() - begin_ns);
    }
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

 private:
  SystemClock clock_;
  std::vector<int> cores_;
  ThreadPool pool_;
  compute::Context context_;
  compute::CpuBackend backend_{context_};
  model::Slice whole_;
  model::Weights weights_;
  kv::Layout layout_;
  kv::Pool pages_;
  model::Forward forward_;
};

size_t Number(std::string_view text) {
  size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

int Main(int argc, char** argv) {
  const size_t tokens = argc == 4 ? Number(argv[2]) : 0;
  const size_t rounds = argc == 4 ? Number(argv[3]) : 0;
  if (tokens == 0 || rounds == 0) {
    fmt::print(stderr, "usage: turns MODEL TOKENS ROUNDS\n");
    return 2;
  }
  const std::vector<int> cores = UsableCpus();
  if (cores.size() < 2) {
    fmt::print(stderr, "turns: it needs two cores, and there is one\n");
    return 1;
  }
  const auto files = gguf::ModelFiles::Open(std::string(argv[1]));
  if (!files.ok()) {
    fmt::print(stderr, "{}\n", files.error().message());
    return 1;
  }
  Turns turns(*files, cores);
  turns.Measure(/*in_turns=*/true, tokens);  // warm
  for (size_t round = 0; round < rounds; ++round) {
    const int64_t alone_ns = turns.Measure(/*in_turns=*/false, tokens);
    const int64_t in_turns_ns = turns.Measure(/*in_turns=*/true, tokens);
    fmt::print("{:.2f} {:.2f}\n", 1e9 / static_cast<double>(alone_ns),
               1e9 / static_cast<double>(in_turns_ns));
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace aster

int main(int argc, char** argv) { return aster::Main(argc, argv); }
