// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A new home with a cluster in it, for tests. Must not know how they use it.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "cluster/home.h"
#include "cluster/identity.h"

namespace aster::cluster {

inline constexpr int64_t kTestWallS = 1'800'000'000;  // in 2027

// An authority, and nodes that it certifies.
struct TestAuthority {
  Authority authority = MakeClusterAuthority("attic", kTestWallS).value();

  Identity NodeCalled(const std::string& name) const {
    const std::string key = net::MakePrivateKey().value();
    const std::string request = net::MakeRequest(key, name).value();
    return MakeIdentity(authority.certificate,
                        CertifyNode(authority, request, name, kTestWallS).value(), key, kTestWallS)
        .value();
  }
};

// The machine that made the cluster.
struct TestHome {
  TemporaryDirectory directory = TemporaryDirectory::Create().value();
  Home home{directory.File("config/cluster")};
  TestAuthority made;
  Identity identity = made.NodeCalled("ann");

  TestHome() { CHECK(home.Create(identity, made.authority, "", false, kTestWallS).ok()); }
};

}  // namespace aster::cluster
