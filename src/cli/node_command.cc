// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster node: this machine computes slices of models for others.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/machine.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/local_nodes.h"
#include "cli/model_options.h"
#include "gguf/fingerprint.h"
#include "kernels/arithmetic_version.h"
#include "net/tcp_network.h"
#include "route/file_slice_source.h"
#include "route/node.h"

namespace aster::cli {
namespace {

struct Options {
  ModelOptions model;
  std::string memory;
  bool local = false;
};

// The next line of standard input; nothing where it has ended.
std::optional<std::string> ReadInputLine() {
  constexpr size_t kMaxLineBytes = 4096;
  std::string line;
  char c = 0;
  while (line.size() < kMaxLineBytes && read(STDIN_FILENO, &c, 1) == 1) {
    if (c == '\n') return line;
    line += c;
  }
  return std::nullopt;
}

Result<std::unique_ptr<route::FileSliceSource>> SourceOf(const Options& options) {
  route::FileSliceOptions slices;
  slices.threads = options.model.threads;
  if (!options.memory.empty()) slices.memory_bytes = TRY(ParseBytes(options.memory).In("--memory"));
  auto source = std::make_unique<route::FileSliceSource>(slices);
  auto files = std::make_shared<gguf::ModelFiles>(TRY(gguf::ModelFiles::Open(options.model.paths)));
  ThreadPool pool(UsableCpuCount());
  const gguf::Fingerprint fingerprint = TRY(gguf::FingerprintModel(*files, pool));
  source->Add(fingerprint.model, std::move(files));
  return source;
}

// A process that a command with --local-nodes has started; it ends when that does.
Result<ExitStatus> ServeLocally(const Options& options, Console& console) {
  const auto line = ReadInputLine();
  if (!line) return InvalidArgument("--local is for processes that aster starts itself");
  const LocalInvitation invitation = TRY(LocalInvitation::Parse(*line));
  const auto source = TRY(SourceOf(options));
  const auto network = TRY(net::TcpNetwork::Start({.credentials = invitation.ForNetwork(),
                                                   .listen = {"127.0.0.1:0"},
                                                   .name = invitation.name,
                                                   .arithmetic = kernels::kArithmeticVersion,
                                                   .admit = nullptr}));
  route::Node node(*network, *source);
  node.Start();
  console.Write(LocalReply(network->addresses().front()));
  TRY(console.Flush());
  while (ReadInputLine()) {
  }
  node.Stop();
  return kExitOk;
}

}  // namespace

Run DeclareNode(CLI::App& app) {
  auto options = std::make_shared<Options>();
  options->model.DeclareModel(app);
  options->model.DeclareThreads(app);
  app.add_option("--memory", options->memory,
                 "For weights and what sequences remember, such as 6GiB (15/16 of the machine's "
                 "where not given)")
      ->type_name("SIZE");
  app.add_flag("--local", options->local,
               "Started by a command with --local-nodes, which says more on standard input");
  return [options](Console& console) -> Result<ExitStatus> {
    if (!options->local) {
      return Unimplemented(
          "clusters of several machines are not here yet; `aster run --local-nodes 2` shows nodes "
          "on "
          "this one");
    }
    TRY(options->model.Find());
    return ServeLocally(*options, console);
  };
}

}  // namespace aster::cli
