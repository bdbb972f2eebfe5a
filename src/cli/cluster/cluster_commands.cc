// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/cluster/cluster_commands.h"

#include <fmt/chrono.h>
#include <unistd.h>

#include <array>

#include "base/clock.h"
#include "rpc/control_client.h"

namespace aster::cli {

Result<OwnCluster> LoadOwnCluster() {
  cluster::Home home = TRY(cluster::Home::OfUser());
  cluster::Identity identity = TRY(home.LoadIdentity(WallSeconds()));
  return OwnCluster{std::move(home), std::move(identity)};
}

int64_t WallSeconds() { return SystemClock().WallNs() / kNsPerSecond; }

std::string DayOf(int64_t wall_s) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(static_cast<std::time_t>(wall_s)));
}

std::string HostNodeName() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return "node";
  return NodeNameOf(host.data());
}

std::string NodeNameOf(std::string_view host) {
  std::string name;
  for (const char c : host.substr(0, host.find('.'))) {
    const bool fits = cluster::CheckNodeName(name + c).ok();
    if (!fits && name.size() >= cluster::kMaxNameBytes) break;
    if (fits) name += c;
  }
  return name.empty() ? "node" : name;
}

bool IsMeant(std::string_view text, std::string_view name, cluster::NodeId node) {
  constexpr size_t kShortDigits = 8;
  return text == name || (text.size() >= kShortDigits && node.value.ToHex().starts_with(text));
}

std::vector<std::string> RunningNodeAddresses(const OwnCluster& own) {
  constexpr int64_t kPatienceNs = 3 * kNsPerSecond;  // this machine's own answer
  const auto peers = own.home.LoadPeers();
  if (!peers.ok()) return {};
  for (const cluster::KnownPeer& peer : *peers) {
    if (peer.node != own.identity.node) continue;
    for (const std::string& address : peer.addresses) {
      const auto client = rpc::ControlClient::Make(
          {.identity = own.identity, .address = address, .expect = own.identity.node});
      if (client.ok() && (*client)->Describe(kPatienceNs).ok()) return peer.addresses;
    }
  }
  return {};
}

}  // namespace aster::cli
