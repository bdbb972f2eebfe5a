// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster_options.h"

#include <CLI/CLI.hpp>

namespace aster::cli {

void ClusterOptions::Declare(CLI::App& app) {
  constexpr size_t kMostLocalNodes = 16;
  CLI::Option* nodes =
      app.add_option("--local-nodes", local_nodes,
                     "Run on so many nodes on this machine, started for this command")
          ->check(CLI::Range(size_t{1}, kMostLocalNodes))
          ->type_name("N");
  app.add_flag("--pin", pinned, "With --local-nodes: each on a core of its own")->needs(nodes);
  app.add_option("--split", split,
                 "Layers of the nodes, such as 0:20,21:out, or node-2=0:20,node-1=21:out; auto: in "
                 "equal parts")
      ->needs(nodes)
      ->type_name("SPLIT");
  app.add_option("--wire", rows,
                 "How rows travel between nodes: f32 is exact, bf16 and q8 are smaller and are not")
      ->check(CLI::IsMember({"f32", "bf16", "q8"}))
      ->needs(nodes)
      ->type_name("TYPE");
  app.add_option("--trace", trace_path,
                 "Write what every node did and when, for ui.perfetto.dev or chrome://tracing")
      ->needs(nodes)
      ->type_name("FILE");
}

}  // namespace aster::cli
