// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/options/cluster_options.h"

#include <CLI/CLI.hpp>

namespace aster::cli {
namespace {

void DeclareNumberFormats(CLI::App& app, open::ClusterOptions& options) {
  app.add_option("--wire", options.rows,
                 "Number format of hidden states between nodes: f32 is exact, bf16 and q8 are "
                 "smaller and not exact")
      ->check(CLI::IsMember({"f32", "bf16", "q8"}))
      ->type_name("TYPE");
  app.add_option("--kv-wire", options.kv_wire,
                 "Number format of KV transfers between nodes: exact, or q8, which takes half the "
                 "bytes and is not exact")
      ->check(CLI::IsMember({"exact", "q8"}))
      ->type_name("TYPE");
}

}  // namespace

void DeclareClusterOptions(CLI::App& app, open::ClusterOptions& options) {
  constexpr size_t kMostLocalNodes = 16;
  CLI::Option* nodes = app.add_option("--local-nodes", options.local_nodes,
                                      "Number of nodes on this machine, started for this command")
                           ->check(CLI::Range(size_t{1}, kMostLocalNodes))
                           ->type_name("N");
  app.add_flag("--pin", options.pinned, "With --local-nodes: pin each node to a core of its own")
      ->needs(nodes);
  app.add_option("--link", options.link,
                 "With --local-nodes: simulated link between the nodes, such as 1ms,1Gbit: latency "
                 "one way, and bits per second")
      ->needs(nodes)
      ->type_name("DELAY,RATE");
  CLI::Option* whole =
      app.add_flag("--cluster", options.cluster, "Run on the nodes of this machine's cluster")
          ->excludes(nodes);
  app.add_option("--via", options.via,
                 "With --cluster: address of a node that knows the others (default: the nodes that "
                 "were seen before). Repeatable")
      ->needs(whole)
      ->allow_extra_args(false)
      ->type_name("HOST:PORT");
  CLI::Option* layers =
      app.add_option("--split", options.split,
                     "Layers of each node (pipeline parallel), such as 0:20,21:out, or "
                     "desktop=0:20,laptop=21:out; here (or front) is this command itself, a name "
                     "alone has all layers; a+b=0:out: both compute these layers together (tensor "
                     "parallel), 2*a+b shares the work out unevenly, group is all nodes, "
                     "a+b/experts=0:out: each owns some experts, /experts*8: and eight of each "
                     "layer are on both; auto: by measured speed and memory")
          ->type_name("SPLIT");
  app.add_option_function<std::string>(
         "--prefill",
         [&options](const std::string& text) {
           options.split = text;
           options.split_option = "--prefill";
         },
         "Layers of the prefill nodes: another name for --split, beside --decode")
      ->excludes(layers)
      ->type_name("SPLIT");
  app.add_option("--decode", options.decode,
                 "Decode node, behind the prefill nodes of --split (prefill/decode "
                 "disaggregation): a node with all layers, here (or front), or a split of its own")
      ->type_name("SPLIT");
  app.add_option(
         "--direct-tokens", options.direct_tokens,
         "With decode nodes: new tokens of a prompt up to which they compute it themselves, "
         "without prefill nodes (default: where that is predicted to be as fast)")
      ->type_name("N");
  DeclareNumberFormats(app, options);
  app.add_option("--trace", options.trace_path,
                 "Trace file of all nodes, for ui.perfetto.dev or chrome://tracing")
      ->type_name("FILE");
  app.parse_complete_callback([&options] {
    const bool is_plain = options.split == "auto" && options.decode.empty() &&
                          options.rows == "f32" && options.kv_wire == "exact" &&
                          options.trace_path.empty() && !options.direct_tokens;
    if (options.wants_nodes() || is_plain) return;
    throw CLI::ValidationError(
        "--split, --decode, --direct-tokens, --wire, --kv-wire and --trace need nodes: give "
        "--cluster or --local-nodes N, too");
  });
}

}  // namespace aster::cli
