// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The folder in which this user's part of a cluster is kept, readable by no other user: who this
// node is, on some machines the authority, open invitations, who is revoked, and where others were
// last seen. Must not know how any of it is used. docs/cluster.md lists the files.
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

// An invitation that may still be used. The code itself is not kept, only what proves it.
struct Invitation {
  std::string id;
  std::vector<uint8_t> secret;
  int64_t end_wall_s = 0;
  uint64_t attempts_left = 0;
};

// A node that is of the cluster, and where it was last seen; no addresses: nowhere yet.
struct KnownPeer {
  NodeId node;
  std::string name;
  std::vector<std::string> addresses;
};

// Every call reads and writes files; several processes may do so at once. Each file is the old one
// or the new one, whatever happens, and unreadable to other users from the first moment on.
// Constant after construction.
class Home {
 public:
  static constexpr uint64_t kAttempts = 5;
  static constexpr size_t kMaxInvitations = 64;
  static constexpr size_t kMaxPeers = 1024;
  static constexpr size_t kMaxSeeds = 16;

  // Below $ASTER_CONFIG where that is set, else in the user's configuration folder. Makes nothing.
  static Result<Home> OfUser();
  explicit Home(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }
  bool HasCluster() const;
  bool HasAuthority() const;

  // What is said where a second cluster would be put.
  Error RefuseSecondCluster() const;
  // Puts a cluster there, complete or not at all. Refused where there is one, unless `replace`:
  // then the old one is kept beside it under another name.
  Status Create(const Identity& identity, const std::optional<Authority>& authority,
                const std::string& revocations, bool replace, int64_t wall_s) const;
  // Forgets the cluster, keys and all.
  Status Remove() const;

  // NotFound, with what to do, where there is no cluster.
  Result<Identity> LoadIdentity(int64_t wall_s) const;
  // NotFound where other machines have the authority's key.
  Result<Authority> LoadAuthority() const;
  // Makes this machine, which is of the cluster, a holder of the authority's key.
  Status AddAuthority(const Authority& authority) const;

  // Those that may still be used, and how many they are.
  Result<std::vector<Invitation>> LoadInvitations(int64_t wall_s) const;
  Result<size_t> CountInvitations(int64_t wall_s) const;
  Status AddInvitation(const InviteCode& code, int64_t end_wall_s, int64_t wall_s) const;
  // NotFound where there is none of this id that is still valid.
  Result<Invitation> FindInvitation(std::string_view id, int64_t wall_s) const;
  // The same, for a machine that shows that it knows the secret, which `is_proven` judges. Else
  // PermissionDenied, and after kAttempts times the invitation is void, however many ask at once.
  Result<Invitation> ProveInvitation(
      std::string_view id, int64_t wall_s,
      const std::function<bool(const std::vector<uint8_t>& secret)>& is_proven) const;
  // Only one caller gets true, and may use it. False where it was used already.
  Result<bool> TakeInvitation(std::string_view id, int64_t wall_s) const;

  Result<Revocations> LoadRevocations(std::string_view ca_certificate) const;
  // A list with one node more. AlreadyExists where it was revoked before.
  Result<Revocations> Revoke(const NodeId& node, int64_t wall_s) const;
  // The later one of this list and the stored one, which is stored from then on. None replaces a
  // list of which it lacks nodes: of two such lists, made by two holders of the authority's key, a
  // holder makes one, and others keep what they have until then.
  Result<Revocations> StoreRevocations(const Revocations& list,
                                       std::string_view ca_certificate) const;

  Result<std::vector<KnownPeer>> LoadPeers() const;
  // What is now known of these. Others stay as they were stored, except nodes that were revoked.
  Status StorePeers(const std::vector<KnownPeer>& peers) const;

  // HOST:PORT, where a person said that the cluster is; the latest first.
  Result<std::vector<std::string>> LoadSeeds() const;
  Status AddSeed(const std::string& address) const;
  // Everywhere the cluster may be: where its nodes were last seen, then the seeds.
  Result<std::vector<std::string>> LoadAddresses() const;

 private:
  Status Fill(const std::string& folder, const Identity& identity,
              const std::optional<Authority>& authority, const std::string& revocations) const;
  Status StoreInvitations(const std::vector<Invitation>& invitations) const;
  Result<FileLock> Lock() const;
  std::string File(std::string_view name) const { return folder_ + "/" + std::string(name); }

  const std::string folder_;
};

// The files' parsers, for tests.
namespace home_internal {

Result<std::vector<Invitation>> ParseInvitations(std::string_view text);
std::string FormatInvitations(const std::vector<Invitation>& invitations);
Result<std::vector<KnownPeer>> ParsePeers(std::string_view text);
std::string FormatPeers(const std::vector<KnownPeer>& peers);
Result<std::vector<std::string>> ParseSeeds(std::string_view text);
std::string FormatSeeds(const std::vector<std::string>& seeds);

}  // namespace home_internal

}  // namespace aster::cluster
