// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/revocations.h"

#include <fmt/format.h>

#include <algorithm>

#include "cluster/signature.h"
#include "cluster/word_lines.h"

namespace aster::cluster {
namespace {

constexpr std::string_view kHeading = "asterism revoked nodes 1";
constexpr std::string_view kSignature = "signature";
constexpr uint64_t kSerialSteps = uint64_t{1} << 20;

}  // namespace

std::string Revocations::Body() const {
  std::string body = fmt::format("{}\nserial {}\n", kHeading, serial_);
  for (const auto& [node, wall_s] : nodes_)
    body += fmt::format("node {} {}\n", node.value.ToHex(), wall_s);
  return body;
}

Result<Revocations> Revocations::Parse(std::string_view text, std::string_view ca_certificate) {
  Revocations list;
  if (text.empty()) return list;
  const std::vector<Words> lines = TRY(ParseWordLines(text, kHeading).In("revoked nodes"));
  if (lines.size() < 2 || lines.size() > kMaxNodes + 2)
    return DataLoss("revoked nodes: not as many lines as there can be");
  for (size_t i = 0; i < lines.size(); ++i) {
    const Words& words = lines[i];
    if (i == 0 && words.size() == 2 && words[0] == "serial") {
      list.serial_ = TRY(ParseNumber(words[1]));
    } else if (i > 0 && i + 1 < lines.size() && words.size() == 3 && words[0] == "node") {
      const NodeId node{TRY(ParseHash(words[1]))};
      list.nodes_[node] = static_cast<int64_t>(TRY(ParseNumber(words[2])));
    } else if (i + 1 < lines.size() || words.size() != 2 || words[0] != kSignature) {
      return DataLoss(fmt::format("revoked nodes: line {} is damaged", i + 2));
    }
  }
  // A list has a unique encoding, so the signature covers every byte before it.
  const std::string body = list.Body();
  const std::vector<uint8_t> signature = TRY(ParseHex(lines.back()[1]));
  if (!text.starts_with(body) || list.serial_ == 0)
    return DataLoss("revoked nodes: not written as it should be");
  TRY(CheckSignature(ca_certificate, AsBytes(body), signature).In("revoked nodes"));
  list.text_ = text;
  return list;
}

Result<Revocations> Revocations::With(const NodeId& node, int64_t wall_s,
                                      std::string_view ca_key) const {
  if (nodes_.size() >= kMaxNodes)
    return ResourceExhausted(
        fmt::format("{} nodes are revoked already; make a new cluster", nodes_.size()));
  Revocations list;
  list.serial_ = serial_ + 1 + node.value.low % kSerialSteps;
  list.nodes_ = nodes_;
  list.nodes_.emplace(node, std::max<int64_t>(wall_s, 0));
  TRY(list.SignWith(ca_key));
  return list;
}

Result<Revocations> Revocations::MergedWith(const Revocations& other,
                                            std::string_view ca_key) const {
  Revocations list;
  list.serial_ = std::max(serial_, other.serial_) + 1;
  list.nodes_ = nodes_;
  for (const auto& [node, wall_s] : other.nodes_) {
    // Both holders get the same list.
    int64_t& first_s = list.nodes_.emplace(node, wall_s).first->second;
    first_s = std::min(first_s, wall_s);
  }
  if (list.nodes_.size() > kMaxNodes)
    return ResourceExhausted("more nodes are revoked than a list can hold; make a new cluster");
  TRY(list.SignWith(ca_key));
  return list;
}

bool Revocations::Covers(const Revocations& other) const {
  return std::ranges::all_of(other.nodes_, [&](const auto& each) { return Contains(each.first); });
}

Status Revocations::SignWith(std::string_view ca_key) {
  const std::string body = Body();
  const std::vector<uint8_t> signature = TRY(Sign(ca_key, AsBytes(body)));
  text_ = fmt::format("{}{} {}\n", body, kSignature, ToHex(signature));
  return Ok();
}

}  // namespace aster::cluster
