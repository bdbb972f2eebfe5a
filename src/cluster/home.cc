// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/home.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "cluster/word_lines.h"

namespace aster::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInvitationsHeading = "asterism invitations 1";
constexpr std::string_view kPeersHeading = "asterism peers 1";
constexpr size_t kMaxPemBytes = 64 << 10;
constexpr size_t kMaxPeers = 1024;
// How long another process may hold the folder's lock; it writes a few small files.
constexpr int64_t kLockPatienceNs = 5 * kNsPerSecond;

Status MakePrivateFolder(const std::string& path) {
  TRY(MakeDirectories(path));
  if (chmod(path.c_str(), 0700) != 0) return SystemError(errno, path);
  return Ok();
}

// The folder is closed to others already; the file's own mode is for copies of it.
Status WritePrivate(const std::string& path, std::string_view content) {
  AtomicFile file = TRY(AtomicFile::Create(path));
  TRY(file.Write(AsBytes(content)));
  TRY(file.Commit());
  if (chmod(path.c_str(), 0600) != 0) return SystemError(errno, path);
  return Ok();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The file's text; empty where there is none.
Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> text = ReadFile(path, kMaxWordLinesBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) return std::string();
  return text;
}

}  // namespace

namespace home_internal {

Result<std::vector<Invitation>> ParseInvitations(std::string_view text) {
  std::vector<Invitation> invitations;
  for (const Words& words : TRY(ParseWordLines(text, kInvitationsHeading))) {
    if (words.size() != 4 || invitations.size() >= Home::kMaxInvitations)
      return DataLoss("a line is damaged");
    Invitation invitation;
    invitation.id = words[0];
    invitation.secret = TRY(ParseHex(words[1]));
    invitation.end_wall_s = static_cast<int64_t>(TRY(ParseNumber(words[2])));
    invitation.attempts_left = TRY(ParseNumber(words[3]));
    if (invitation.secret.size() != 32) return DataLoss("a secret is damaged");
    invitations.push_back(std::move(invitation));
  }
  return invitations;
}

std::string FormatInvitations(const std::vector<Invitation>& invitations) {
  std::string text = fmt::format("{}\n", kInvitationsHeading);
  for (const Invitation& i : invitations)
    text += fmt::format("{} {} {} {}\n", i.id, ToHex(i.secret), i.end_wall_s, i.attempts_left);
  return text;
}

Result<std::vector<RememberedPeer>> ParsePeers(std::string_view text) {
  std::vector<RememberedPeer> peers;
  for (const Words& words : TRY(ParseWordLines(text, kPeersHeading))) {
    if (words.size() < 2 || words.size() > 2 + kMaxAddresses || peers.size() >= kMaxPeers)
      return DataLoss("a line is damaged");
    RememberedPeer peer{NodeId{TRY(ParseHash(words[0]))}, std::string(words[1]), {}};
    TRY(CheckNodeName(peer.name));
    for (size_t i = 2; i < words.size(); ++i) {
      TRY(ParseHostPort(words[i]));
      peer.addresses.emplace_back(words[i]);
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

std::string FormatPeers(const std::vector<RememberedPeer>& peers) {
  std::string text = fmt::format("{}\n", kPeersHeading);
  for (const RememberedPeer& peer : peers) {
    text += fmt::format("{} {}", peer.node.value.ToHex(), peer.name);
    for (const std::string& address : peer.addresses) text += " " + address;
    text += "\n";
  }
  return text;
}

}  // namespace home_internal

Result<Home> Home::OfUser() {
  const char* given = std::getenv("ASTER_CONFIG");
  if (given != nullptr && *given != '\0') return Home(std::string(given) + "/cluster");
  return Home(TRY(ConfigDirectory()) + "/cluster");
}

bool Home::HasCluster() const { return Exists(File("node.pem")); }
bool Home::HasAuthority() const { return Exists(File("ca.key")); }

Result<FileLock> Home::Lock() const {
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + kLockPatienceNs;
  while (true) {
    Result<FileLock> lock = FileLock::TryAcquire(File("lock"));
    if (lock.ok() || lock.error().code() != Code::kUnavailable || clock.NowNs() >= deadline_ns)
      return lock;
    clock.SleepFor(10 * kNsPerMs);
  }
}

Status Home::Create(const Identity& identity, const std::optional<Authority>& authority,
                    const std::string& revocations, bool replace, int64_t wall_s) const {
  if (HasCluster() && !replace) {
    return Error(Code::kAlreadyExists,
                 fmt::format("{}: this machine belongs to a cluster already; `aster cluster show` "
                             "tells which, `aster cluster leave` leaves it, --force puts it aside",
                             folder_));
  }
  // Written beside and renamed: a machine belongs to a cluster or does not, whatever happens.
  const std::string fresh = fmt::format("{}.new-{}", folder_, getpid());
  TRY(MakePrivateFolder(fresh));
  const auto put = [&](std::string_view name, std::string_view content) {
    return WritePrivate(fmt::format("{}/{}", fresh, name), content);
  };
  TRY(put("ca.pem", identity.ca_certificate));
  if (authority) TRY(put("ca.key", authority->key));
  if (!revocations.empty()) TRY(put("revoked", revocations));
  TRY(put("node.key", identity.key));
  TRY(put("node.pem", identity.certificate));
  if (Exists(folder_)) {
    const std::string aside = fmt::format("{}.old-{}", folder_, wall_s);
    if (rename(folder_.c_str(), aside.c_str()) != 0) return SystemError(errno, folder_);
  }
  if (rename(fresh.c_str(), folder_.c_str()) != 0) return SystemError(errno, folder_);
  return Ok();
}

Status Home::Remove() const {
  // Without this one there is no cluster, should the rest fail.
  if (unlink(File("node.pem").c_str()) != 0 && errno != ENOENT)
    return SystemError(errno, File("node.pem"));
  std::error_code error;
  fs::remove_all(folder_, error);
  if (error) return SystemError(error.value(), folder_);
  return Ok();
}

Result<Identity> Home::LoadIdentity(int64_t wall_s) const {
  if (!HasCluster()) {
    return NotFound(
        fmt::format("{}: this machine belongs to no cluster; make one with `aster cluster init`, "
                    "or run `aster cluster invite` where it is and `aster cluster join` here",
                    folder_));
  }
  return MakeIdentity(TRY(ReadFile(File("ca.pem"), kMaxPemBytes)),
                      TRY(ReadFile(File("node.pem"), kMaxPemBytes)),
                      TRY(ReadFile(File("node.key"), kMaxPemBytes)), wall_s)
      .In(folder_);
}

Result<Authority> Home::LoadAuthority() const {
  if (!HasAuthority()) {
    return NotFound(
        "the authority of the cluster is not on this machine but on the one where the cluster was "
        "made; do this there");
  }
  return Authority{.certificate = TRY(ReadFile(File("ca.pem"), kMaxPemBytes)),
                   .key = TRY(ReadFile(File("ca.key"), kMaxPemBytes))};
}

Result<std::vector<Invitation>> Home::LoadInvitations(int64_t wall_s) const {
  const std::string text = TRY(ReadIfThere(File("invitations")));
  if (text.empty()) return std::vector<Invitation>();
  std::vector<Invitation> invitations =
      TRY(home_internal::ParseInvitations(text).In(File("invitations")));
  std::erase_if(invitations, [&](const Invitation& invitation) {
    return invitation.end_wall_s <= wall_s || invitation.attempts_left == 0;
  });
  return invitations;
}

Status Home::StoreInvitations(const std::vector<Invitation>& invitations) const {
  return WritePrivate(File("invitations"), home_internal::FormatInvitations(invitations));
}

Status Home::AddInvitation(const InviteCode& code, int64_t end_wall_s, int64_t wall_s) const {
  const FileLock lock = TRY(Lock());
  std::vector<Invitation> invitations = TRY(LoadInvitations(wall_s));
  if (invitations.size() >= kMaxInvitations) {
    return ResourceExhausted(fmt::format(
        "{} invitations are open already; wait until some have expired", invitations.size()));
  }
  invitations.push_back({code.Id(), code.Secret(), end_wall_s, kAttempts});
  return StoreInvitations(invitations);
}

Result<Invitation> Home::FindInvitation(std::string_view id, int64_t wall_s) const {
  for (Invitation& invitation : TRY(LoadInvitations(wall_s))) {
    if (invitation.id == id) return std::move(invitation);
  }
  return NotFound(
      "no such invitation is open: it was used, has expired or was made on another machine; ask "
      "for a new code");
}

Result<bool> Home::TakeInvitation(std::string_view id, int64_t wall_s) const {
  const FileLock lock = TRY(Lock());
  std::vector<Invitation> invitations = TRY(LoadInvitations(wall_s));
  if (std::erase_if(invitations, [&](const Invitation& i) { return i.id == id; }) == 0)
    return false;
  TRY(StoreInvitations(invitations));
  return true;
}

Status Home::CountFailure(std::string_view id, int64_t wall_s) const {
  const FileLock lock = TRY(Lock());
  std::vector<Invitation> invitations = TRY(LoadInvitations(wall_s));
  for (Invitation& invitation : invitations) {
    if (invitation.id == id) --invitation.attempts_left;
  }
  return StoreInvitations(invitations);
}

Result<Revocations> Home::LoadRevocations(std::string_view ca_certificate) const {
  return Revocations::Parse(TRY(ReadIfThere(File("revoked"))), ca_certificate).In(File("revoked"));
}

Result<bool> Home::StoreRevocations(const Revocations& list,
                                    std::string_view ca_certificate) const {
  const FileLock lock = TRY(Lock());
  const Revocations held = TRY(LoadRevocations(ca_certificate));
  if (held.serial() >= list.serial()) return false;
  TRY(WritePrivate(File("revoked"), list.text()));
  return true;
}

Result<std::vector<RememberedPeer>> Home::LoadPeers() const {
  const std::string text = TRY(ReadIfThere(File("peers")));
  if (text.empty()) return std::vector<RememberedPeer>();
  return home_internal::ParsePeers(text).In(File("peers"));
}

Status Home::StorePeers(const std::vector<RememberedPeer>& peers) const {
  return WritePrivate(File("peers"), home_internal::FormatPeers(peers));
}

}  // namespace aster::cluster
