// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Messages from any machine: each gives a value or an error, and a value converts back unchanged.
// The first byte chooses the type; a manifest comes in parts that begin with their size.

#include "rpc/from_message.h"

#include <aster/cluster/v1/control.pb.h>

#include "base/bytes.h"
#include "base/check.h"
#include "rpc/grpc_support.h"

namespace aster::rpc {
namespace {

bool Same(const cluster::Description& a, const cluster::Description& b) { return a == b; }
bool Same(const cluster::NodeStatus& a, const cluster::NodeStatus& b) { return a == b; }
bool Same(const Gossip& a, const Gossip& b) {
  return a.members == b.members && a.revocations_serial == b.revocations_serial &&
         a.revocations == b.revocations && a.certificates == b.certificates &&
         a.buckets == b.buckets && a.wanted == b.wanted;
}
bool Same(const cluster::JoinRequest& a, const cluster::JoinRequest& b) {
  return a.invitation == b.invitation && a.name == b.name &&
         a.certificate_request == b.certificate_request && a.proof == b.proof;
}
bool Same(const cluster::JoinReply& a, const cluster::JoinReply& b) {
  return a.cluster_name == b.cluster_name && a.ca_certificate == b.ca_certificate &&
         a.certificate == b.certificate && a.revocations == b.revocations && a.proof == b.proof;
}
bool Same(const SessionPart& a, const SessionPart& b) {
  return a.content == b.content && a.name == b.name && a.total_bytes == b.total_bytes &&
         a.offset == b.offset && a.data == b.data && a.is_last == b.is_last &&
         a.transfer == b.transfer;
}
bool Same(const SessionReceipt& a, const SessionReceipt& b) {
  return a.received_bytes == b.received_bytes && a.is_kept == b.is_kept && a.transfer == b.transfer;
}
bool Same(const WeightsOffer& a, const WeightsOffer& b) {
  return a.fingerprint == b.fingerprint && a.addresses == b.addresses;
}
bool Same(const DrainRequest& a, const DrainRequest& b) {
  return a.is_drained == b.is_drained && a.signature == b.signature;
}
bool Same(const ModelManifest& a, const ModelManifest& b) {
  if (a.fingerprint != b.fingerprint || a.files.size() != b.files.size()) return false;
  for (size_t i = 0; i < a.files.size(); ++i) {
    if (a.files[i].name != b.files[i].name || a.files[i].file_bytes != b.files[i].file_bytes ||
        a.files[i].header != b.files[i].header || a.files[i].contents != b.files[i].contents) {
      return false;
    }
  }
  return true;
}

template <typename Message>
void TryMessage(Bytes bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  const auto value = FromMessage(message);
  if (!value.ok()) {
    CHECK(!value.error().message().empty());
    return;
  }
  Message again;
  ToMessage(*value, &again);
  Message arrived;
  CHECK(arrived.ParseFromString(again.SerializeAsString()));
  CHECK(Same(*value, FromMessage(arrived).value()));
}

void TryManifest(Bytes bytes) {
  ByteReader reader(bytes);
  ManifestReader manifest({.low = 1, .high = 2});
  while (!reader.at_end()) {
    const auto size = reader.ReadCount<uint16_t>(1);
    if (!size.ok()) return;
    const Bytes part = reader.ReadBytes(*size).value();
    v1::ManifestPart message;
    if (!message.ParseFromArray(part.data(), static_cast<int>(part.size()))) return;
    if (!manifest.Add(message).ok()) return;
  }
  const Result<ModelManifest> value = manifest.Finish();
  if (!value.ok()) return;
  ManifestReader again(value->fingerprint);
  CHECK(ToParts(*value, [&](const v1::ManifestPart& part) { return again.Add(part); }).ok());
  CHECK(Same(*value, again.Finish().value()));
}

}  // namespace
}  // namespace aster::rpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aster::rpc;  // tidy: allow(using-namespace) the only function outside of it
  if (size == 0) return 0;
  SendForeignLogsToOurs();
  const aster::Bytes bytes(data + 1, size - 1);
  switch (data[0] % 10) {
    case 0:
      TryMessage<v1::Gossip>(bytes);
      break;
    case 1:
      TryMessage<v1::Description>(bytes);
      break;
    case 2:
      TryMessage<v1::NodeStatus>(bytes);
      break;
    case 3:
      TryMessage<v1::JoinRequest>(bytes);
      break;
    case 4:
      TryMessage<v1::JoinReply>(bytes);
      break;
    case 5:
      TryMessage<v1::SessionPart>(bytes);
      break;
    case 6:
      TryMessage<v1::SessionReceipt>(bytes);
      break;
    case 8:
      TryMessage<v1::WeightsOffer>(bytes);
      break;
    case 9:
      TryMessage<v1::DrainRequest>(bytes);
      break;
    default:
      TryManifest(bytes);
  }
  return 0;
}
