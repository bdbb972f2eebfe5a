// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Nodes of one cluster on loopback, with certificates or a password, for tests. Must not know what
// they send.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/check.h"
#include "base/random.h"
#include "crypto/secrets.h"
#include "net/certificate.h"
#include "net/tcp_network.h"

namespace aster::net {

// The next event; nullopt if none comes in time.
inline std::optional<Event> NextWithin(Network& network, int64_t duration_ns) {
  return network.Receive(network.clock().NowNs() + duration_ns);
}

// The next event, which must come. It has a minute, for very busy machines.
inline Event Next(Network& network) {
  std::optional<Event> event = NextWithin(network, 60 * kNsPerSecond);
  CHECK_NOTE(event.has_value(), "nothing happens");
  return std::move(*event);
}

inline uint64_t RouteOf(const Event& event) {
  const auto* close = std::get_if<wire::CloseRoute>(&event.message);
  return event.kind == Event::Kind::kMessage && close != nullptr ? close->route : UINT64_MAX;
}

class TestCluster {
 public:
  explicit TestCluster(bool has_certificates) : has_certificates_(has_certificates) {
    if (!has_certificates_) return;
    authority_key_ = MakePrivateKey().value();
    authority_ = MakeAuthority(authority_key_, "test", validity_).value();
  }

  // The same name always has the same identity.
  const Credentials& CredentialsOf(const std::string& name) {
    const auto [place, is_new] = credentials_.try_emplace(name);
    Credentials& credentials = place->second;
    if (!is_new) return credentials;
    if (has_certificates_) {
      credentials.key = MakePrivateKey().value();
      credentials.authority = authority_;
      credentials.certificate = Certify(authority_, authority_key_,
                                        MakeRequest(credentials.key, name).value(), name, validity_)
                                    .value();
    } else {
      credentials.password = password_;
      credentials.node = {Hash128Of(AsBytes(name))};
    }
    return credentials;
  }

  // A certificate for a given key.
  std::string CertifyKey(const std::string& key, const std::string& name,
                         const Validity& validity) const {
    return Certify(authority_, authority_key_, MakeRequest(key, name).value(), name, validity)
        .value();
  }

  Result<std::unique_ptr<TcpNetwork>> TryStart(
      const std::string& name, const std::function<void(TcpOptions&)>& change = {}) {
    TcpOptions options;
    options.credentials = CredentialsOf(name);
    options.listen = {"127.0.0.1:0"};
    options.name = name;
    options.arithmetic = 1;
    // Busy machines that run other tests must not cause timeouts.
    options.silence_ns = 60 * kNsPerSecond;
    options.handshake_ns = 60 * kNsPerSecond;
    if (change) change(options);
    return TcpNetwork::Start(std::move(options));
  }
  std::unique_ptr<TcpNetwork> Start(const std::string& name,
                                    const std::function<void(TcpOptions&)>& change = {}) {
    return TryStart(name, change).value();
  }

 private:
  const bool has_certificates_;
  const Validity validity_{SystemClock().WallNs() / kNsPerSecond - 3600,
                           SystemClock().WallNs() / kNsPerSecond + 3600};
  std::string authority_key_;
  std::string authority_;
  const std::vector<uint8_t> password_ = crypto::RandomSecret(32).value();
  std::map<std::string, Credentials> credentials_;
};

}  // namespace aster::net
