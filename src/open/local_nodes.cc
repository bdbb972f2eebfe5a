// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "open/local_nodes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/machine.h"
#include "base/units.h"
#include "crypto/secrets.h"
#include "net/certificate.h"
#include "open/kv_cache.h"

namespace aster::open {
namespace {

using nlohmann::ordered_json;

constexpr int64_t kStartNs = 20'000'000'000;
constexpr size_t kPasswordBytes = 32;

Result<wire::NodeId> RandomNode() {
  const std::vector<uint8_t> bytes = TRY(crypto::RandomSecret(sizeof(Hash128)));
  wire::NodeId node;
  std::memcpy(&node.value.low, bytes.data(), sizeof(node.value.low));
  std::memcpy(&node.value.high, bytes.data() + sizeof(node.value.low), sizeof(node.value.high));
  return node;
}

// The path of this program.
Result<std::string> OwnPath() {
  std::array<char, 4096> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0 || static_cast<size_t>(size) == path.size()) {
    return SystemError(errno, "/proc/self/exe");
  }
  return std::string(path.data(), static_cast<size_t>(size));
}

Error BadLine() {
  return InvalidArgument("not the input that a command with --local-nodes writes to its nodes");
}

}  // namespace

net::Credentials LocalInvitation::ForNetwork() const {
  net::Credentials credentials;
  credentials.password = password;
  credentials.node = node;
  return credentials;
}

std::string LocalInvitation::ToLine() const {
  return ordered_json{
             {"name", name}, {"node", {node.value.low, node.value.high}}, {"password", password}}
             .dump() +
         "\n";
}

Result<LocalInvitation> LocalInvitation::Parse(std::string_view line) {
  const auto json = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  const auto is_byte = [](const ordered_json& value) {
    return value.is_number_unsigned() && value.get<uint64_t>() < 256;
  };
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      !json.contains("node") || !json["node"].is_array() || json["node"].size() != 2 ||
      !json["node"][0].is_number_unsigned() || !json["node"][1].is_number_unsigned() ||
      !json.contains("password") || json["password"].size() != kPasswordBytes ||
      !std::ranges::all_of(json["password"], is_byte)) {
    return BadLine();
  }
  LocalInvitation invitation{
      .name = json["name"].get<std::string>(),
      .node = {{.low = json["node"][0].get<uint64_t>(), .high = json["node"][1].get<uint64_t>()}},
      .password = {}};
  for (const ordered_json& byte : json["password"]) {
    invitation.password.push_back(byte.get<uint8_t>());
  }
  return invitation;
}

std::string LocalReply(const std::string& address) {
  return ordered_json{{"address", address}}.dump() + "\n";
}

Result<std::string> ParseLocalReply(std::string_view line) {
  const auto json = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("address") || !json["address"].is_string()) {
    return BadLine();
  }
  return json["address"].get<std::string>();
}

Result<net::LinkOptions> ParseLink(std::string_view text) {
  constexpr std::string_view kBit = "bit";
  const size_t comma = text.find(',');
  net::LinkOptions link{.delay_ns = TRY(ParseDuration(text.substr(0, comma)))};
  if (comma == std::string_view::npos) return link;
  const std::string_view rate = text.substr(comma + 1);
  if (!rate.ends_with(kBit)) {
    return InvalidArgument(
        fmt::format("\"{}\" is no rate of a link; one reads 1Gbit or 100Mbit", rate));
  }
  const std::string_view number = rate.substr(0, rate.size() - kBit.size());
  link.rate_bytes_per_s = TRY(ParseBytes(std::string(number) + "B")) / 8;
  if (link.rate_bytes_per_s == 0) return InvalidArgument("a link needs a rate above 0");
  return link;
}

Status LocalNodes::Kill(const wire::NodeId& node) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].id != node) continue;
    return kill(processes_[i].pid(), SIGKILL) == 0 ? Ok() : SystemError(errno, nodes_[i].name);
  }
  return NotFound("no such node was started");
}

std::vector<std::string> LocalNodes::KvCacheLines() {
  constexpr int64_t kPatienceNs = 15'000'000'000;  // it may still be writing
  std::vector<std::string> lines;
  for (ChildProcess& process : processes_) {
    if (process.Ended() || !process.WriteInput(kKvCacheQuestion).ok()) continue;
    if (auto line = process.ReadLine(kPatienceNs); line.ok()) lines.push_back(*std::move(line));
  }
  return lines;
}

Result<LocalNodes> LocalNodes::Start(const LocalNodesOptions& options) {
  LocalNodes local;
  local.credentials_.password = TRY(crypto::RandomSecret(kPasswordBytes));
  local.credentials_.node = TRY(RandomNode());
  const std::string program = TRY(OwnPath());
  const std::vector<int> cpus = UsableCpus();
  // Starts all processes, so that they initialise at the same time.
  for (size_t i = 0; i < options.count; ++i) {
    ChildOptions child;
    child.command = {program, "node", "--local"};
    child.command.insert(child.command.end(), options.node_arguments.begin(),
                         options.node_arguments.end());
    if (options.pinned) child.cpus = {cpus[i % cpus.size()]};
    local.processes_.push_back(TRY(ChildProcess::Start(child)));
    const LocalInvitation invitation{.name = fmt::format("node-{}", i + 1),
                                     .node = TRY(RandomNode()),
                                     .password = local.credentials_.password};
    TRY(local.processes_.back().WriteInput(invitation.ToLine()));
    local.nodes_.push_back({.id = invitation.node, .name = invitation.name, .addresses = {}});
  }
  // Waits for the address of each, and puts the simulated link in front of it.
  for (size_t i = 0; i < options.count; ++i) {
    const auto line = local.processes_[i].ReadLine(kStartNs);
    if (!line.ok()) {
      const auto ended = local.processes_[i].Ended();
      return Error(Code::kUnavailable,
                   fmt::format("{} did not start ({}); its output is above", local.nodes_[i].name,
                               ended ? *ended : line.error().message()));
    }
    std::string address = TRY(ParseLocalReply(*line));
    if (options.link) {
      local.links_.push_back(TRY(net::DelayingProxy::Start(address, *options.link)));
      address = local.links_.back()->address();
    }
    local.nodes_[i].addresses = {std::move(address)};
  }
  return local;
}

}  // namespace aster::open
