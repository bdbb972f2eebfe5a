// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_status_view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/terminal/columns.h"

namespace aster::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Hash128 kModel{0xabcdef, 0x123456};

cluster::NodeId Node(uint64_t number) { return {Hash128{number, number << 56}}; }

node::NodeView Seen(uint64_t number, const std::string& name) {
  node::NodeView node;
  node.member.node = Node(number);
  node.member.name = name;
  cluster::Description description;
  description.node = Node(number);
  description.name = name;
  description.core_count = 8;
  description.instruction_set = "avx512";
  description.memory_bytes = uint64_t{30} << 30;
  description.multiply_flops_per_s = 1.8e12;
  description.memory_bytes_per_s = 24.3e9;
  cluster::HeldModel held;
  held.fingerprint = kModel;
  held.name = "llama-1b";
  held.layer_count = 36;
  description.models.push_back(held);
  node.description = description;
  cluster::NodeStatus status;
  status.node = Node(number);
  status.uptime_ms = 3'700'000;
  status.memory_used_bytes = uint64_t{12} << 30;
  node.status = status;
  return node;
}

cluster::SliceStatus Slice(uint32_t begin, uint32_t end, bool head) {
  cluster::SliceStatus slice;
  slice.route = UINT64_MAX - 5;
  slice.fingerprint = kModel;
  slice.layers = {begin, end};
  slice.embedding = begin == 0;
  slice.head = head;
  slice.is_ready = true;
  slice.weight_bytes = uint64_t{4} << 30;
  slice.sequences = 3;
  return slice;
}

// Two nodes that compute, and one that does not answer.
ClusterSample TwoNodes() {
  ClusterSample sample;
  sample.taken_ns = 1'000'000'000;
  sample.nodes = {Seen(1, "attic"), Seen(2, "屋根裏")};
  sample.nodes[0].status->slices = {Slice(0, 21, false)};
  sample.nodes[1].status->slices = {Slice(21, 36, true)};
  cluster::LinkStatus link;
  link.peer = Node(2);
  link.is_up = true;
  link.round_trip_ns = 210'000;
  link.bytes_per_s = 1.2e9;
  sample.nodes[0].status->links = {link};
  node::NodeView lost;
  lost.member.node = Node(3);
  lost.member.name = "cellar";
  lost.member.state = cluster::MemberState::kSuspect;
  lost.why = "it does not answer within 5000 ms";
  sample.nodes.push_back(lost);
  return sample;
}

TEST(ClusterStatus, ShowsTheWorkOfEachNode) {
  const std::string text = ClusterStatusText(TwoNodes(), nullptr, 200);
  EXPECT_THAT(text, HasSubstr("3 nodes, 2 of them up; 16 cores, 60.0 GiB for models\n"));
  EXPECT_THAT(text, HasSubstr("  attic   alive      8 cores avx512    12.0 GiB of 30.0 GiB"));
  EXPECT_THAT(text, HasSubstr("  1.80 TFLOP/s  24.3 GB/s  up "));
  EXPECT_THAT(text, HasSubstr("  cellar  suspect  it does not answer within 5000 ms\n"));
  EXPECT_THAT(text, HasSubstr("  llama-1b, 36 layers; 3 sequences\n"));
  EXPECT_THAT(text, HasSubstr("    attic   ██████████████··········  layers 0 to 20, 4.00 GiB"));
  EXPECT_THAT(text,
              HasSubstr("    屋根裏  ··············██████████  layers 21 to 35 and the head"));
  EXPECT_THAT(text, HasSubstr("  attic  → 屋根裏     210 µs   1.20 GB/s\n"));
  EXPECT_THAT(text, Not(HasSubstr("tokens/s")));  // unknown from a single sample
}

TEST(ClusterStatus, ShowsDiskCaches) {
  ClusterSample sample = TwoNodes();
  sample.nodes[0].status->disk_cache = {.bytes = uint64_t{3} << 30,
                                        .bytes_limit = uint64_t{8} << 30,
                                        .files = 40,
                                        .loaded_tokens = 5120,
                                        .loaded_bytes = 9,
                                        .looked_for_pages = 50,
                                        .found_pages = 40};
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200),
              HasSubstr("          KV cache on disk 3.00 GiB of 8.00 GiB, 5120 tokens loaded\n"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  EXPECT_EQ(json["nodes"][0]["disk_cache"]["found_pages"], 40);
  EXPECT_TRUE(json["nodes"][1]["disk_cache"].is_null());
}

TEST(ClusterStatus, ShowsWhatNodesTookForModels) {
  ClusterSample sample = TwoNodes();
  sample.nodes[0].status->rates = {{.model = "llama-1b",
                                    .fingerprint = {7, 8},
                                    .layers = {0, 21},
                                    .decode = {.ns = 20'000'000, .rows = 1, .context = 90},
                                    .prefill = {.ns = 512'000'000, .rows = 256, .context = 256}},
                                   {.model = "",
                                    .fingerprint = {0x0102030405060708, 8},
                                    .layers = {0, 36},
                                    .head = true,
                                    .part = 0.5,
                                    .decode = {.ns = 10'000'000, .rows = 1, .context = 90},
                                    .prefill = {}}};
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text, HasSubstr("          llama-1b, layers 0 to 20, prefill 500 tokens/s, "
                              "decode 50.0 tokens/s\n"));
  EXPECT_THAT(text, HasSubstr(", 50 % of layers 0 to 35 and the head, decode 100 tokens/s\n"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  std::vector<std::string> roles;
  for (const auto& role : json["nodes"][0]["roles"]) {
    if (!role.contains("rows")) continue;
    roles.push_back(fmt::format("{} {} {}", role["role"].get<std::string>(),
                                role["tokens_per_s"].get<double>(), role["part"].get<double>()));
  }
  EXPECT_THAT(roles, testing::ElementsAre("prefill 500 1", "decode 50 1", "decode 100 0.5"));
}

TEST(ClusterStatus, VersionsAreShownAndThatTheyDiffer) {
  ClusterSample sample = TwoNodes();
  for (size_t i = 0; i < 2; ++i) {
    sample.nodes[i].description->version = "1.2.0";
    sample.nodes[i].description->protocol = 6;
    sample.nodes[i].description->arithmetic = 4;
  }
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200),
              HasSubstr("\nversion 1.2.0, protocol 6, arithmetic 4\n"));
  sample.nodes[1].description->version = "1.1.0";
  sample.nodes[1].description->protocol = 0;  // an older node does not report it
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text, HasSubstr("\nversion 1.1.0, arithmetic 4: 屋根裏\n"
                              "version 1.2.0, protocol 6, arithmetic 4: attic\n"
                              "note: give all nodes the same version of the program\n"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  EXPECT_EQ(json["nodes"][0]["protocol"], 6);
  EXPECT_TRUE(json["nodes"][1]["protocol"].is_null());
}

TEST(ClusterStatus, IdleLinksOfManyNodesAreCounted) {
  ClusterSample sample;
  for (uint64_t i = 1; i <= 32; ++i) sample.nodes.push_back(Seen(i, "n" + std::to_string(i)));
  for (node::NodeView& node : sample.nodes) {
    for (uint64_t peer = 1; peer <= 32; ++peer) {
      if (Node(peer) != node.member.node) node.status->links.emplace_back().peer = Node(peer);
    }
  }
  sample.nodes.back().status->links.back().is_up = true;
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_LT(std::ranges::count(text, '\n'), 110);
  EXPECT_THAT(text, HasSubstr("  and 935 more that are idle\n"));
  EXPECT_THAT(text, HasSubstr("  n32 → n31 "));
}

TEST(ClusterStatus, AGpuIsShownWithItsNode) {
  ClusterSample sample = TwoNodes();
  sample.nodes[1].description->devices = {{.name = "Radeon\x1b[2J",
                                           .memory_bytes = uint64_t{24} << 30,
                                           .multiply_flops_per_s = 5e13,
                                           .memory_bytes_per_s = 7e11,
                                           .bus_round_trip_ns = 40'000,
                                           .bus_bytes_per_s = 1.2e10}};
  sample.nodes[1].status->slices[0].gpu_layers = 12;
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text, HasSubstr(", 24.0 GiB, 50.00 TFLOP/s, 700 GB/s, bus 12.0 GB/s\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("layers 21 to 35 and the head (12 on a GPU), "));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  EXPECT_EQ(json["nodes"][1]["devices"][0]["bus_round_trip_ns"], 40'000);
  EXPECT_EQ(json["nodes"][1]["slices"][0]["gpu_layers"], 12);
  EXPECT_TRUE(json["nodes"][0]["devices"].empty());
}

TEST(ClusterStatus, AnUnusedLinkIsNotDown) {
  ClusterSample sample = TwoNodes();
  std::vector<cluster::LinkStatus>& links = sample.nodes[0].status->links;
  links[0].is_up = false;
  links.emplace_back().peer = Node(3);  // suspect
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text, HasSubstr("  attic  → 屋根裏     210 µs   1.20 GB/s  idle\n"));
  EXPECT_THAT(text, HasSubstr("  attic  → cellar  down\n"));
  links[0].round_trip_ns = 0;
  links[0].bytes_per_s = 0;
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200), HasSubstr("  attic  → 屋根裏  idle\n"));
}

TEST(ClusterStatus, RatesAreOfTheTimeBetweenTwoLooks) {
  const ClusterSample earlier = TwoNodes();
  ClusterSample sample = TwoNodes();
  sample.taken_ns += 2'000'000'000;
  cluster::SliceStatus& slice = sample.nodes[0].status->slices[0];
  slice.tokens += 900;
  slice.compute_ns += 1'500'000'000;
  sample.nodes[0].status->links[0].sent_bytes += 8'000'000;
  const std::string text = ClusterStatusText(sample, &earlier, 200);
  EXPECT_THAT(text, HasSubstr("450 tokens/s, computing 75 %"));
  EXPECT_THAT(text, HasSubstr("sending 4.00 MB/s"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, &earlier));
  EXPECT_EQ(json["nodes"][0]["slices"][0]["tokens_per_s"], 450.0);
  EXPECT_EQ(json["nodes"][0]["slices"][0]["busy"], 0.75);
  EXPECT_EQ(json["nodes"][0]["links"][0]["sent_bytes_per_s"], 4e6);
  // A restarted node counts from zero.
  sample.nodes[0].status->slices[0].tokens = 3;
  ClusterSample later = sample;
  sample.nodes[0].status->slices[0].tokens = 900;
  later.taken_ns += 1'000'000'000;
  EXPECT_THAT(ClusterStatusText(later, &sample, 200), HasSubstr("attic   ██"));
  EXPECT_TRUE(nlohmann::json::parse(
                  ClusterStatusJson(later, &sample))["nodes"][0]["slices"][0]["tokens_per_s"]
                  .is_null());
  // The same for one without earlier data.
  EXPECT_THAT(ClusterStatusText(sample, &sample, 200), Not(HasSubstr("tokens/s")));
}

TEST(ClusterStatus, LoadingIsShownAsSuch) {
  ClusterSample sample = TwoNodes();
  cluster::SliceStatus& slice = sample.nodes[0].status->slices[0];
  slice.is_ready = false;
  slice.done_bytes = 1 << 20;
  slice.total_bytes = 4 << 20;
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text,
              HasSubstr("▒▒▒▒▒▒▒▒▒▒▒▒▒▒··········  layers 0 to 20, loading: 25 % of 4.00 MiB"));
}

TEST(ClusterStatus, EveryLineFitsWhateverTheWidth) {
  ClusterSample sample = TwoNodes();
  sample.nodes.push_back(Seen(4, "Dachstübchen-über-der-Küche-🦊🦊🦊"));
  sample.nodes.back().status->slices = {Slice(5, 6, false), Slice(7, 7, false)};
  for (size_t width = 0; width < 220; ++width) {
    std::string_view text;
    const std::string all = ClusterStatusText(sample, &sample, width);
    ASSERT_TRUE(IsValidUtf8(all));
    for (text = all; !text.empty();) {
      const size_t end = text.find('\n');
      ASSERT_NE(end, std::string_view::npos);
      EXPECT_LE(ColumnsOf(text.substr(0, end)), width);
      text.remove_prefix(end + 1);
    }
  }
}

TEST(ClusterStatus, ControlCharactersOfPeersAreNotPrinted) {
  ClusterSample sample = TwoNodes();
  const std::string evil = "\x1b[2J\r\n\xff\u202e";
  sample.nodes[0].description->name = evil;
  sample.nodes[0].description->instruction_set = evil;
  sample.nodes[0].status->slices[0].model = evil;
  sample.nodes[2].why = evil;
  sample.nodes[2].member.name = evil;
  const std::string text = ClusterStatusText(sample, nullptr, 300);
  for (const char* bad : {"\x1b", "\r", "\u202e"}) EXPECT_THAT(text, Not(HasSubstr(bad)));
  EXPECT_TRUE(nlohmann::json::accept(ClusterStatusJson(sample, nullptr)));
}

TEST(ClusterStatus, AbsurdNumbersAreShown) {
  ClusterSample sample = TwoNodes();
  cluster::SliceStatus& slice = sample.nodes[0].status->slices[0];
  slice.layers = {UINT32_MAX - 1, UINT32_MAX};
  slice.is_ready = false;
  slice.done_bytes = UINT64_MAX;
  slice.total_bytes = 1;
  sample.nodes[0].status->uptime_ms = UINT64_MAX;
  sample.nodes[0].status->links[0].round_trip_ns = UINT64_MAX;
  sample.nodes[0].description->multiply_flops_per_s = 1e300;
  sample.nodes[0].description->memory_bytes_per_s = -1;
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200), HasSubstr("loading: 100 %"));
  sample.nodes[1].status->slices[0].layers = {7, 3};
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200), HasSubstr("no layers"));
  EXPECT_THAT(ClusterStatusText({}, nullptr, 80), HasSubstr("0 nodes"));
  EXPECT_TRUE(nlohmann::json::accept(ClusterStatusJson({}, nullptr)));
}

TEST(ClusterStatus, JsonSaysWhichRolesANodeCanTake) {
  ClusterSample sample;
  sample.nodes = {Seen(1, "attic"), Seen(2, "cellar")};
  cluster::Description& attic = *sample.nodes[0].description;
  attic.models[0].layers = {{0, 36}};
  attic.models[0].embedding = attic.models[0].head = true;
  cluster::DrafterDescription& lookup = attic.drafters.emplace_back();
  lookup.model = "llama-1b";
  lookup.drafter = "ngram";
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  const auto roles_of = [&](size_t node) {
    std::vector<std::string> roles;
    for (const auto& role : json["nodes"][node]["roles"]) roles.push_back(role["role"]);
    return roles;
  };
  EXPECT_THAT(roles_of(0),
              testing::ElementsAre("prefill", "decode", "group", "ensemble_member", "drafter"));
  EXPECT_EQ(json["nodes"][0]["roles"][0]["multiply_flops_per_s"], 1.8e12);
  EXPECT_EQ(json["nodes"][0]["roles"][4]["tokens_per_s"], nullptr);
  // It has no whole model.
  EXPECT_THAT(roles_of(1), testing::ElementsAre("prefill", "decode", "group"));
}

TEST(ClusterStatus, ShowsLoadAndBattery) {
  ClusterSample sample = TwoNodes();
  EXPECT_THAT(ClusterStatusText(sample, nullptr, 200), testing::Not(HasSubstr("load")));
  sample.nodes[0].status->load = 3.25;
  sample.nodes[0].status->battery = {.charge = 0.63, .discharges = true};
  sample.nodes[1].status->battery = {.charge = 1};
  const std::string text = ClusterStatusText(sample, nullptr, 200);
  EXPECT_THAT(text, HasSubstr("  load 3.25  on battery, 63 %\n"));
  EXPECT_THAT(text, HasSubstr("  battery 100 %\n"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  EXPECT_EQ(json["nodes"][0]["load"], 3.25);
  EXPECT_EQ(json["nodes"][0]["battery"], nlohmann::json({{"charge", 0.63}, {"discharges", true}}));
  EXPECT_EQ(json["nodes"][2]["name"], "cellar");
  EXPECT_FALSE(json["nodes"][2].contains("load"));
}

TEST(ClusterStatus, ShowsRolesAndDrainedNodes) {
  ClusterSample sample = TwoNodes();
  cluster::Description& attic = *sample.nodes[0].description;
  attic.models[0].layers = {{0, 36}};
  attic.models[0].embedding = attic.models[0].head = true;
  attic.drafters.emplace_back().model = "llama-1b";
  const auto text = [&] { return ClusterStatusText(sample, nullptr, 200); };
  EXPECT_THAT(text(), HasSubstr("roles\n"
                                "  prefill, decode, group  attic, 屋根裏\n"
                                "  ensemble member         attic\n"
                                "  drafter                 attic\n"
                                "\nmodels\n"));
  sample.nodes.pop_back();
  EXPECT_THAT(text(), HasSubstr("  prefill, decode, group  all nodes\n"));

  // A drained node computes nothing, and still sends KV rows from its disk.
  sample.nodes[0].status->is_drained = true;
  sample.nodes[0].status->leaving = 2;
  sample.nodes[0].status->disk_cache = {.bytes_limit = 9, .files = 0};
  sample.nodes[0].status->rates = {{.model = "llama-1b",
                                    .fingerprint = {7, 8},
                                    .layers = {0, 21},
                                    .decode = {.ns = 20'000'000, .rows = 1, .context = 90},
                                    .prefill = {}}};
  EXPECT_THAT(text(), HasSubstr("  attic   drained    8 cores"));
  EXPECT_THAT(text(), HasSubstr("          2 front ends still have layers or KV rows here\n"));
  EXPECT_THAT(text(), HasSubstr("roles\n"
                                "  prefill, decode, group  屋根裏\n"
                                "  KV cache                attic\n"
                                "\nmodels\n"));
  sample.nodes[0].status->leaving = 0;
  EXPECT_THAT(text(),
              HasSubstr("          nothing is computed here, and it may be switched off\n"));
  const auto json = nlohmann::json::parse(ClusterStatusJson(sample, nullptr));
  EXPECT_EQ(json["nodes"][0]["roles"],
            nlohmann::json::parse(R"([{"role": "kv_cache", "bytes_limit": 9}])"));
}

TEST(ClusterStatus, JsonNamesEverything) {
  const auto json = nlohmann::json::parse(ClusterStatusJson(TwoNodes(), nullptr));
  const auto& node = json["nodes"][1];
  EXPECT_EQ(node["name"], "屋根裏");
  EXPECT_EQ(node["state"], "alive");
  EXPECT_EQ(node["models"][0]["layer_count"], 36);
  EXPECT_EQ(node["slices"][0]["layer_begin"], 21);
  EXPECT_EQ(node["slices"][0]["route"], std::to_string(UINT64_MAX - 5));
  EXPECT_TRUE(node["slices"][0]["busy"].is_null());
  EXPECT_FALSE(json["nodes"][2]["answered"]);
  EXPECT_FALSE(json["nodes"][2].contains("slices"));
}

// Once, 1,200 of them gave 2,052 lines.
TEST(ClusterStatusView, NodesThatAreGoneAreCounted) {
  ClusterSample sample{.taken_ns = 0, .nodes = {Seen(1, "desk")}};
  for (uint64_t i = 2; i < 1202; ++i) {
    node::NodeView gone;
    gone.member.node = Node(i);
    gone.member.name = "gone-" + std::to_string(i);
    gone.member.state = cluster::MemberState::kDead;
    sample.nodes.push_back(gone);
    sample.nodes.front().status->links.push_back({.peer = Node(i)});
  }
  const std::string text = ClusterStatusText(sample, nullptr, 100);
  EXPECT_THAT(text, HasSubstr("and 1184 more that did not answer"));
  EXPECT_THAT(text, HasSubstr("and 1184 more that are down"));
  EXPECT_LT(std::ranges::count(text, '\n'), 60);
}

}  // namespace
}  // namespace aster::cli
