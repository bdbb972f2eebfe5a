// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The folder with this user's part of a cluster, readable by no other user: this node's identity,
// on some machines the authority, open invitations, revoked nodes, and the last addresses of other
// nodes. Must not know how any of it is used. docs/cluster.md lists the files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "cluster/identity.h"
#include "cluster/invite_code.h"
#include "cluster/revocations.h"

namespace aster::cluster {

// A valid invitation. The code itself is not stored, only what proves it.
struct Invitation {
  std::string id;
  std::vector<uint8_t> secret;
  int64_t end_wall_s = 0;
  uint64_t attempts_left = 0;
};

// A node of the cluster with its last addresses; empty: none yet.
struct KnownPeer {
  NodeId node;
  std::string name;
  std::vector<std::string> addresses;
};

// Every call reads and writes files; several processes may do so at once. A file is always the old
// one or the new one, and never readable to other users. Constant after construction.
class Home {
 public:
  static constexpr uint64_t kAttempts = 5;
  static constexpr size_t kMaxInvitations = 64;
  static constexpr size_t kMaxPeers = 1024;
  static constexpr size_t kMaxSeeds = 16;

  // Below $ASTER_CONFIG if that is set, otherwise in the user's configuration folder. Makes
  // nothing.
  static Result<Home> OfUser();
  explicit Home(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  bool HasCluster() const;
  bool HasAuthority() const;

  // The error for adding a second cluster.
  Error RefuseSecondCluster() const;
  // Writes a cluster, completely or not at all. Refused if there is one, unless `replace`: then the
  // old one is kept beside it under another name.
  Status Create(const Identity& identity, const std::optional<Authority>& authority,
                const std::string& revocations, bool replace, int64_t wall_s) const;
  // Removes the cluster, keys and all.
  Status Remove() const;

  // NotFound, with a remedy, if there is no cluster.
  Result<Identity> LoadIdentity(int64_t wall_s) const;
  // NotFound if other machines have the authority's key.
  Result<Authority> LoadAuthority() const;
  // Makes this machine of the cluster a holder of the authority's key.
  Status AddAuthority(const Authority& authority) const;

  // The valid invitations.
  Result<std::vector<Invitation>> LoadInvitations(int64_t wall_s) const;
  Result<size_t> CountInvitations(int64_t wall_s) const;
  Status AddInvitation(const InviteCode& code, int64_t end_wall_s, int64_t wall_s) const;
  // NotFound if there is no valid one with this id.
  Result<Invitation> FindInvitation(std::string_view id, int64_t wall_s) const;
  // The same, for a machine that proves that it knows the secret, as `is_proven` checks. Otherwise
  // PermissionDenied, and after kAttempts failures the invitation is void, also with concurrent
  // requests.
  Result<Invitation> ProveInvitation(
      std::string_view id, int64_t wall_s,
      const std::function<bool(const std::vector<uint8_t>& secret)>& is_proven) const;
  // Returns true to one caller only, which may use it. False if it was used already.
  Result<bool> TakeInvitation(std::string_view id, int64_t wall_s) const;

  Result<Revocations> LoadRevocations(std::string_view ca_certificate) const;
  // Adds a node to the list. AlreadyExists if it was revoked before.
  Result<Revocations> Revoke(const NodeId& node, int64_t wall_s) const;
  // Stores and returns the later one of this list and the stored one. A list never replaces one
  // with nodes that it lacks: two such lists were made by two holders of the authority's key; a
  // holder unites them, and other nodes keep theirs until then.
  Result<Revocations> StoreRevocations(const Revocations& list,
                                       std::string_view ca_certificate) const;

  Result<std::vector<KnownPeer>> LoadPeers() const;
  // Updates these peers. Others stay as stored, except revoked nodes.
  Status StorePeers(const std::vector<KnownPeer>& peers) const;

  // HOST:PORT of the cluster as users gave them; the latest first.
  Result<std::vector<std::string>> LoadSeeds() const;
  Status AddSeed(const std::string& address) const;
  // All addresses where the cluster may be: the nodes' last ones, then the seeds.
  Result<std::vector<std::string>> LoadAddresses() const;

 private:
  Status Fill(const std::string& folder, const Identity& identity,
              const std::optional<Authority>& authority, const std::string& revocations) const;
  Status StoreInvitations(const std::vector<Invitation>& invitations) const;
  Result<FileLock> Lock() const;
  std::string File(std::string_view name) const { return folder_ + "/" + std::string(name); }

  const std::string folder_;
};

// The parsers of files, for tests.
namespace home_internal {

Result<std::vector<Invitation>> ParseInvitations(std::string_view text);
std::string FormatInvitations(const std::vector<Invitation>& invitations);
Result<std::vector<KnownPeer>> ParsePeers(std::string_view text);
std::string FormatPeers(const std::vector<KnownPeer>& peers);
Result<std::vector<std::string>> ParseSeeds(std::string_view text);
std::string FormatSeeds(const std::vector<std::string>& seeds);

}  // namespace home_internal

}  // namespace aster::cluster
