// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "net/credentials.h"

#include "crypto/sha256.h"
#include "net/certificate.h"

namespace aster::net {

wire::NodeId InstanceOf(const wire::NodeId& machine, Bytes instance) {
  std::vector<uint8_t> bytes;
  // In the order of the hash that the NodeId is the beginning of.
  for (const uint64_t half : {machine.value.high, machine.value.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) {
      bytes.push_back(static_cast<uint8_t>(half >> shift));
    }
  }
  bytes.insert(bytes.end(), instance.begin(), instance.end());
  return NodeIdOfDigest(crypto::Sha256Of(bytes));
}

}  // namespace aster::net
