// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/drain_order.h"

#include <vector>

#include "base/bytes.h"
#include "cluster/signature.h"

namespace aster::cluster {
namespace {

constexpr std::string_view kDrainPurpose = "asterism drain 1";

std::vector<uint8_t> OrderBytes(const NodeId& node, bool is_drained) {
  ByteWriter writer;
  writer.Write<uint64_t>(kDrainPurpose.size());
  writer.WriteBytes(AsBytes(kDrainPurpose));
  writer.Write<uint64_t>(node.value.low);
  writer.Write<uint64_t>(node.value.high);
  writer.Write<uint8_t>(is_drained ? 1 : 0);
  const Bytes bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<std::string> SignDrainOrder(const NodeId& node, bool is_drained, std::string_view ca_key) {
  return std::string(AsText(TRY(Sign(ca_key, OrderBytes(node, is_drained)))));
}

Status CheckDrainOrder(const NodeId& node, bool is_drained, std::string_view signature,
                       std::string_view ca_certificate) {
  return CheckSignature(ca_certificate, OrderBytes(node, is_drained), AsBytes(signature));
}

}  // namespace aster::cluster
