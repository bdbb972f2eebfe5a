// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_status_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/cluster/cluster_rates.h"
#include "cli/cluster/node_roles.h"
#include "cli/terminal/columns.h"

namespace aster::cli {
namespace {

constexpr size_t kMostNameColumns = 20;
constexpr size_t kBarColumns = 24;

std::string Plural(uint64_t count, std::string_view one, std::string_view more) {
  return fmt::format("{} {}", count, count == 1 ? one : more);
}

// Peers choose their names: these must not move the cursor.
std::string NameOf(const node::NodeView& node) {
  const std::string& name = node.description && !node.description->name.empty()
                                ? node.description->name
                                : node.member.name;
  return name.empty() ? node.member.node.ToText() : ForDisplay(name);
}

// Inclusive, for users.
std::string LayersText(const cluster::LayerRange& layers, bool head) {
  const auto [begin, end] = layers;
  return (end <= begin       ? std::string("no layers")
          : end - begin == 1 ? fmt::format("layer {}", begin)
                             : fmt::format("layers {} to {}", begin, end - 1)) +
         (head ? " and the head" : "");
}

std::string LayersText(const cluster::SliceStatus& slice) {
  std::string text = LayersText(slice.layers, slice.head);
  if (slice.gpu_layers > 0) text += fmt::format(" ({} on a GPU)", slice.gpu_layers);
  return text;
}

// In the usual units: "643 GFLOP/s", "1.80 TFLOP/s".
std::string FlopRate(double flops_per_s) {
  constexpr double kGiga = 1e9, kTera = 1e12, kMost = 1e18;
  const double bounded = std::min(flops_per_s, kMost);
  return bounded >= kTera ? fmt::format("{:.2f} TFLOP/s", bounded / kTera)
                          : fmt::format("{:.0f} GFLOP/s", bounded / kGiga);
}

// A slice of a model on a node, with the values to show.
struct ShownSlice {
  const node::NodeView* node = nullptr;
  const cluster::SliceStatus* slice = nullptr;
};

class Text {
 public:
  Text(const ClusterSample& sample, const ClusterSample* earlier, size_t width)
      : sample_(sample), earlier_(earlier), width_(width) {
    for (const node::NodeView& node : sample.nodes) {
      name_columns_ = std::max(name_columns_, ColumnsOf(NameOf(node)));
    }
    name_columns_ = std::min(name_columns_, kMostNameColumns);
  }

  std::string Write() && {
    Summary();
    Versions();
    Nodes();
    Roles();
    Models();
    Links();
    return std::move(text_);
  }

 private:
  void Line(std::string_view line) { text_ += CutToColumns(line, width_) + "\n"; }
  std::string Name(const node::NodeView& node) const {
    return FitToColumns(NameOf(node), name_columns_);
  }

  void Summary() {
    size_t up = 0;
    uint64_t cores = 0, bytes = 0;
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.status) continue;
      ++up;
      if (!node.description) continue;
      cores += node.description->core_count;
      bytes += node.description->memory_bytes;
    }
    Line(fmt::format("{}, {} of them up; {}, {} for models",
                     Plural(sample_.nodes.size(), "node", "nodes"), up,
                     Plural(cores, "core", "cores"), FormatBytes(bytes)));
  }

  static std::string VersionOf(const cluster::Description& what) {
    std::string text = fmt::format("version {}", ForDisplay(what.version));
    if (what.protocol > 0) text += fmt::format(", protocol {}", what.protocol);
    return text + fmt::format(", arithmetic {}", what.arithmetic);
  }

  // One line if all have the same.
  void Versions() {
    std::map<std::string, std::string> nodes;
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.description) continue;
      std::string& names = nodes[VersionOf(*node.description)];
      names += (names.empty() ? "" : ", ") + NameOf(node);
    }
    if (nodes.size() == 1) return Line(nodes.begin()->first);
    for (const auto& [version, names] : nodes) Line(fmt::format("{}: {}", version, names));
    if (nodes.size() > 1) Line("note: give all nodes the same version of the program");
  }

  void Nodes() {
    Line("");
    Line("nodes");
    size_t silent = 0;
    for (const node::NodeView& node : sample_.nodes) {
      const bool is_drained = node.status && node.status->is_drained;
      std::string line =
          fmt::format("  {}  {:<7}", Name(node),
                      is_drained ? "drained" : cluster::MemberStateName(node.member.state));
      if (!node.status) {
        if (++silent > kMostSilent) continue;
        Line(line + "  " + (node.why.empty() ? "did not answer" : ForDisplay(node.why)));
        continue;
      }
      if (node.description) line += DescribeMachine(*node.description, *node.status);
      line += "  up " + FormatDuration(static_cast<int64_t>(
                            std::min<uint64_t>(node.status->uptime_ms, kMostMs) * 1'000'000));
      if (node.status->load > 0)
        line += fmt::format("  load {:.2f}", std::min(node.status->load, 1e6));
      if (node.status->battery) line += "  " + DescribeBattery(*node.status->battery);
      Line(line);
      if (is_drained)
        Line(fmt::format("  {}  {}", FitToColumns("", name_columns_), DescribeDrain(*node.status)));
      if (!node.description) continue;
      for (const cluster::DeviceDescription& device : node.description->devices)
        Line(fmt::format("  {}  {}", FitToColumns("", name_columns_), DescribeDevice(device)));
      for (const cluster::DrafterDescription& drafter : node.description->drafters)
        Line(fmt::format("  {}  {}", FitToColumns("", name_columns_), DescribeDrafter(drafter)));
      // Only those of the longest frames of each slice; the others are for plans.
      const cluster::WorkRate* before = nullptr;
      for (const cluster::WorkRate& rate : node.status->rates) {
        const bool is_same = before != nullptr && IsOfSameSlice(rate, *before);
        before = &rate;
        if (!is_same)
          Line(fmt::format("  {}  {}", FitToColumns("", name_columns_), DescribeRate(rate)));
      }
      if (const auto& cache = node.status->disk_cache)
        Line(fmt::format("  {}  {}", FitToColumns("", name_columns_), DescribeDiskCache(*cache)));
    }
    MoreThanShown(silent, "did not answer");
  }

  void MoreThanShown(size_t count, std::string_view what) {
    if (count > kMostSilent) Line(fmt::format("  and {} more that {}", count - kMostSilent, what));
  }

  static std::string DescribeBattery(const cluster::Battery& battery) {
    return fmt::format("{} {:.0f} %", battery.discharges ? "on battery," : "battery",
                       100 * battery.charge);
  }

  static std::string DescribeDrain(const cluster::NodeStatus& status) {
    if (status.leaving == 0) return "nothing is computed here, and it may be switched off";
    return Plural(status.leaving, "front end still has", "front ends still have") +
           " layers or KV rows here";
  }

  // What plans can use the nodes for, one line per role.
  void Roles() {
    Line("");
    Line("roles");
    RoleLine("prefill, decode, group", &NodeRoles::computes);
    RoleLine("ensemble member", &NodeRoles::answers);
    RoleLine("drafter", &NodeRoles::drafts);
    RoleLine("KV cache", &NodeRoles::has_kv_rows);
  }

  void RoleLine(std::string_view role, bool NodeRoles::* has) {
    std::string names;
    size_t count = 0;
    for (const node::NodeView& node : sample_.nodes) {
      if (!(RolesOf(node).*has)) continue;
      names += (count++ == 0 ? "" : ", ") + NameOf(node);
    }
    const bool is_all = count > 1 && count == sample_.nodes.size();
    if (count > 0) Line(fmt::format("  {:<22}  {}", role, is_all ? "all nodes" : names));
  }

  static std::string DescribeMachine(const cluster::Description& machine,
                                     const cluster::NodeStatus& status) {
    std::string text =
        fmt::format("  {:>9} {:<8}  {:>8} of {:<8}", Plural(machine.core_count, "core", "cores"),
                    ForDisplay(machine.instruction_set), FormatBytes(status.memory_used_bytes),
                    FormatBytes(machine.memory_bytes));
    if (machine.multiply_flops_per_s > 0) {
      text += fmt::format("  {:>12}", FlopRate(machine.multiply_flops_per_s));
    }
    if (machine.memory_bytes_per_s > 0) {
      text += fmt::format("  {:>9}", FormatByteRate(std::min(machine.memory_bytes_per_s, 1e18)));
    }
    return text;
  }

  static std::string DescribeDrafter(const cluster::DrafterDescription& drafter) {
    std::string text = fmt::format("drafts for {} with {}", ForDisplay(drafter.model),
                                   ForDisplay(drafter.drafter));
    if (drafter.tokens_per_s > 0)
      text += fmt::format(", {:.0f} tokens/s", std::min(drafter.tokens_per_s, 1e9));
    return text;
  }

  static bool IsOfSameSlice(const cluster::WorkRate& a, const cluster::WorkRate& b) {
    return a.fingerprint == b.fingerprint && a.layers == b.layers && a.head == b.head &&
           a.part == b.part;
  }

  static std::string DescribeRate(const cluster::WorkRate& rate) {
    std::string text = fmt::format(
        "{}, {}{}",
        rate.model.empty() ? rate.fingerprint.ToHex().substr(0, 8) : ForDisplay(rate.model),
        rate.part < 1 ? fmt::format("{:.0f} % of ", 100 * rate.part) : "",
        LayersText(rate.layers, rate.head));
    const auto add = [&](std::string_view role, const cluster::WorkRate::Times& times) {
      if (times.ns > 0)
        text += fmt::format(", {} {}", role, FormatRate(times.tokens_per_s(), "tokens"));
    };
    add("prefill", rate.prefill);
    add("decode", rate.decode);
    return text;
  }

  static std::string DescribeDiskCache(const cluster::DiskCacheStatus& cache) {
    return fmt::format("KV cache on disk {} of {}, {} loaded", FormatBytes(cache.bytes),
                       FormatBytes(cache.bytes_limit),
                       Plural(cache.loaded_tokens, "token", "tokens"));
  }

  static std::string DescribeDevice(const cluster::DeviceDescription& device) {
    std::string text =
        fmt::format("GPU {}, {}{}", ForDisplay(device.name), FormatBytes(device.memory_bytes),
                    device.shares_memory ? " of main memory" : "");
    if (device.multiply_flops_per_s > 0) text += ", " + FlopRate(device.multiply_flops_per_s);
    if (device.memory_bytes_per_s > 0)
      text += ", " + FormatByteRate(std::min(device.memory_bytes_per_s, 1e18));
    if (device.bus_bytes_per_s > 0)
      text += ", bus " + FormatByteRate(std::min(device.bus_bytes_per_s, 1e18));
    return text;
  }

  // By route, in the order of layers.
  std::map<uint64_t, std::vector<ShownSlice>> Routes() const {
    std::map<uint64_t, std::vector<ShownSlice>> routes;
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.status) continue;
      for (const cluster::SliceStatus& slice : node.status->slices) {
        routes[slice.route].push_back({&node, &slice});
      }
    }
    for (auto& [route, slices] : routes) {
      std::ranges::stable_sort(slices, {},
                               [](const ShownSlice& shown) { return shown.slice->layers.begin; });
    }
    return routes;
  }

  // The model's if any node knows it, otherwise the number of held layers.
  uint32_t LayerCount(const std::vector<ShownSlice>& slices) const {
    uint32_t count = 1;
    for (const ShownSlice& shown : slices) count = std::max(count, shown.slice->layers.end);
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.description) continue;
      for (const cluster::HeldModel& model : node.description->models) {
        if (model.fingerprint != slices.front().slice->fingerprint) continue;
        count = std::max(count, model.layer_count);
      }
    }
    return count;
  }

  std::string ModelName(const cluster::SliceStatus& slice) const {
    if (!slice.model.empty()) return ForDisplay(slice.model);
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.description) continue;
      for (const cluster::HeldModel& model : node.description->models) {
        if (model.fingerprint == slice.fingerprint && !model.name.empty()) {
          return ForDisplay(model.name);
        }
      }
    }
    return slice.fingerprint.ToHex().substr(0, 8);
  }

  // Shows which of the model's layers these are.
  static std::string Bar(const cluster::SliceStatus& slice, uint32_t layer_count) {
    std::string bar;
    const size_t cells = std::min<size_t>(kBarColumns, layer_count);
    for (size_t i = 0; i < cells; ++i) {
      // A cell stands for several layers, and shows the first.
      const auto layer = static_cast<uint32_t>(uint64_t{i} * layer_count / cells);
      const auto next = static_cast<uint32_t>((uint64_t{i} + 1) * layer_count / cells);
      const bool is_held = slice.layers.begin < next && slice.layers.end > layer;
      bar += !is_held ? "·" : slice.is_ready ? "█" : "▒";
    }
    return bar;
  }

  void Models() {
    const auto routes = Routes();
    if (routes.empty()) return;
    Line("");
    Line("models");
    for (const auto& [route, slices] : routes) {
      const uint32_t layer_count = LayerCount(slices);
      uint32_t sequences = 0;
      for (const ShownSlice& shown : slices)
        sequences = std::max(sequences, shown.slice->sequences);
      Line(fmt::format("  {}, {}; {}", ModelName(*slices.front().slice),
                       Plural(layer_count, "layer", "layers"),
                       Plural(sequences, "sequence", "sequences")));
      for (const ShownSlice& shown : slices) {
        Line(fmt::format("    {}  {}  {}", Name(*shown.node), Bar(*shown.slice, layer_count),
                         DescribeSlice(shown)));
      }
    }
  }

  std::string DescribeSlice(const ShownSlice& shown) const {
    const cluster::SliceStatus& slice = *shown.slice;
    std::string text = LayersText(slice);
    if (!slice.is_ready) {
      const double part = slice.total_bytes == 0 ? 0
                                                 : static_cast<double>(slice.done_bytes) /
                                                       static_cast<double>(slice.total_bytes);
      return text + fmt::format(", loading: {:.0f} % of {}", 100 * std::min(part, 1.0),
                                FormatBytes(slice.total_bytes));
    }
    text += fmt::format(", {}", FormatBytes(slice.weight_bytes));
    const SliceRates rates = RatesOf(sample_, earlier_, *shown.node, slice);
    if (rates.tokens_per_s) text += ", " + FormatRate(*rates.tokens_per_s, "tokens");
    if (rates.busy) text += fmt::format(", computing {:.0f} %", 100 * *rates.busy);
    if (slice.queued_frames > 0) {
      text += fmt::format(", {} waiting", Plural(slice.queued_frames, "frame", "frames"));
    }
    return text + fmt::format(", KV cache {} of {}", FormatBytes(slice.kv_held_bytes),
                              FormatBytes(slice.kv_budget_bytes));
  }

  std::string PeerName(const cluster::NodeId& peer) const {
    for (const node::NodeView& node : sample_.nodes) {
      if (node.member.node == peer) return NameOf(node);
    }
    return peer.ToText();
  }

  bool IsAlive(const cluster::NodeId& peer) const {
    return std::ranges::any_of(sample_.nodes, [&](const node::NodeView& node) {
      return node.member.node == peer && node.member.state == cluster::MemberState::kAlive;
    });
  }

  // Nodes connect when there is something to compute: a link without a connection is idle, and down
  // only if there is no node at its end.
  void Links() {
    bool has_any = false;
    size_t down = 0, idle = 0;
    for (const node::NodeView& node : sample_.nodes) {
      if (!node.status) continue;
      for (const cluster::LinkStatus& link : node.status->links) {
        if (!std::exchange(has_any, true)) {
          Line("");
          Line("links");
        }
        if (!link.is_up && !IsAlive(link.peer)) {
          if (++down > kMostSilent) continue;
        } else if (!link.is_up && ++idle > kMostIdle) {
          continue;
        }
        Line(fmt::format("  {} → {}{}", Name(node),
                         FitToColumns(PeerName(link.peer), name_columns_),
                         DescribeLink(node, link)));
      }
    }
    if (idle > kMostIdle) Line(fmt::format("  and {} more that are idle", idle - kMostIdle));
    MoreThanShown(down, "are down");
  }

  // Nodes measure what they receive: the receiver knows the rate of this direction.
  double RateOf(const node::NodeView& node, const cluster::LinkStatus& link) const {
    for (const node::NodeView& other : sample_.nodes) {
      if (other.member.node != link.peer || !other.status) continue;
      for (const cluster::LinkStatus& back : other.status->links) {
        if (back.peer == node.member.node && back.bytes_per_s > 0) return back.bytes_per_s;
      }
    }
    return link.bytes_per_s;
  }

  std::string DescribeLink(const node::NodeView& node, const cluster::LinkStatus& link) const {
    if (!link.is_up && !IsAlive(link.peer)) return "  down";
    if (!link.is_up && link.round_trip_ns == 0 && link.bytes_per_s <= 0) return "  idle";
    const auto round_trip_ns =
        static_cast<int64_t>(std::min<uint64_t>(link.round_trip_ns, INT64_MAX));
    const double bytes_per_s = RateOf(node, link);
    std::string text = fmt::format(
        "  {:>9}  {:>10}", round_trip_ns == 0 ? std::string("-") : FormatDuration(round_trip_ns),
        bytes_per_s > 0 ? FormatByteRate(std::min(bytes_per_s, 1e18)) : "-");
    if (!link.is_up) return text + "  idle";
    const auto sent = SentBytesPerSecond(sample_, earlier_, node, link);
    return sent ? text + "  sending " + FormatByteRate(*sent) : text;
  }

  // Limit for nodes that do not answer and links to them, of which there may be many.
  static constexpr size_t kMostSilent = 16;
  // Limit for links that a user can read one by one; --json has all.
  static constexpr size_t kMostIdle = 56;
  // No real time is longer: nanoseconds still fit into 63 bits.
  static constexpr uint64_t kMostMs = INT64_MAX / 1'000'000;

  const ClusterSample& sample_;
  const ClusterSample* const earlier_;
  const size_t width_;
  size_t name_columns_ = 0;
  std::string text_;
};

}  // namespace

std::string ClusterStatusText(const ClusterSample& sample, const ClusterSample* earlier,
                              size_t width) {
  return Text(sample, earlier, width).Write();
}

}  // namespace aster::cli
