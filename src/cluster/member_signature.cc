// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/member_signature.h"

#include <fmt/format.h>

#include <utility>

#include "base/bytes.h"
#include "cluster/signature.h"
#include "net/certificate.h"

namespace aster::cluster {
namespace {

constexpr std::string_view kPurpose = "asterism member 1";

// All that a node says of itself, in a unique encoding. Its state counts only as left or not.
std::vector<uint8_t> SignedBytes(const Member& member) {
  ByteWriter writer;
  const auto add_text = [&](std::string_view text) {
    writer.Write<uint64_t>(text.size());
    writer.WriteBytes(AsBytes(text));
  };
  const auto add_all = [&](const std::vector<std::string>& texts) {
    writer.Write<uint64_t>(texts.size());
    for (const std::string& text : texts) add_text(text);
  };
  add_text(kPurpose);
  writer.Write<uint64_t>(member.node.value.low);
  writer.Write<uint64_t>(member.node.value.high);
  add_text(member.name);
  add_all(member.control_addresses);
  add_all(member.data_addresses);
  writer.Write<uint64_t>(member.incarnation);
  writer.Write<uint64_t>(member.heartbeat);
  writer.Write<uint8_t>(member.state == MemberState::kLeft ? 1 : 0);
  writer.Write<uint64_t>(member.description_version);
  const Bytes bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

Result<std::string> SignMember(const Member& member, std::string_view key_pem) {
  return std::string(AsText(TRY(Sign(key_pem, SignedBytes(member)))));
}

Status MemberCertificates::Add(std::string_view certificate_pem, int64_t wall_s) {
  const net::CertificateInfo info = TRY(net::DescribeCertificate(certificate_pem));
  if (Has(info.node)) return Ok();
  TRY(net::CheckCertificate(authority_, certificate_pem, wall_s));
  known_[info.node] = {.certificate = std::string(certificate_pem), .name = info.name};
  return Ok();
}

std::string_view MemberCertificates::Find(const NodeId& node) const {
  const auto found = known_.find(node);
  return found == known_.end() ? std::string_view() : found->second.certificate;
}

std::string_view MemberCertificates::NameOf(const NodeId& node) const {
  const auto found = known_.find(node);
  return found == known_.end() ? std::string_view() : found->second.name;
}

void MemberCertificates::KeepOnly(const std::function<bool(const NodeId&)>& is_kept) {
  std::erase_if(known_, [&](const auto& item) { return !is_kept(item.first); });
}

Status MemberCertificates::Check(const Member& member) const {
  const auto refused = [&](std::string_view why) {
    return Error(Code::kPermissionDenied,
                 fmt::format("node {} ({}): {}", member.name, member.node.ToText(), why));
  };
  const auto found = known_.find(member.node);
  if (found == known_.end()) return refused("its certificate is not known yet");
  if (member.name != found->second.name) return refused("its certificate has another name");
  const Status checked =
      CheckSignature(found->second.certificate, SignedBytes(member), AsBytes(member.signature));
  if (!checked.ok() && checked.error().code() == Code::kPermissionDenied)
    return refused("the signature is not by this node");
  return checked;
}

}  // namespace aster::cluster
