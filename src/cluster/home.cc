// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cluster/home.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/clock.h"
#include "base/process_limits.h"
#include "cluster/word_lines.h"
#include "net/certificate.h"

namespace aster::cluster {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInvitationsHeading = "asterism invitations 1";
constexpr std::string_view kPeersHeading = "asterism peers 1";
constexpr std::string_view kSeedsHeading = "asterism seeds 1";
constexpr uint32_t kPrivateFile = 0600;
constexpr uint32_t kPrivateFolder = 0700;
constexpr size_t kMaxPemBytes = 64 << 10;
// How long to wait for the folder's lock; another process writes a few small files.
constexpr int64_t kLockPatienceNs = 5 * kNsPerSecond;

std::string ParentOf(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

// Makes a new folder that other users can never read.
Status MakePrivateFolder(const std::string& path) {
  TRY(MakeDirectories(ParentOf(path)));
  if (mkdir(path.c_str(), kPrivateFolder) != 0) return SystemError(errno, path);
  return Ok();
}

// Makes a rename in the folder durable.
void SyncFolder(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

Status WritePrivate(const std::string& path, std::string_view content) {
  AtomicFile file = TRY(AtomicFile::Create(path, kPrivateFile));
  TRY(file.Write(AsBytes(content)));
  return file.Commit();
}

Status Rename(const std::string& from, const std::string& to) {
  if (rename(from.c_str(), to.c_str()) != 0) return SystemError(errno, to);
  return Ok();
}

void RemoveQuietly(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Moves the fresh folder to its place. The old one is kept beside it, or restored if that fails.
Status PutInPlace(const std::string& fresh, const std::string& folder, int64_t wall_s) {
  if (!Exists(folder)) {
    TRY(Rename(fresh, folder));
    SyncFolder(ParentOf(folder));
    return Ok();
  }
  std::string aside = fmt::format("{}.old-{}", folder, wall_s);
  for (int i = 2; Exists(aside); ++i) aside = fmt::format("{}.old-{}-{}", folder, wall_s, i);
  TRY(Rename(folder, aside));
  const Status renamed = Rename(fresh, folder);
  if (!renamed.ok()) {
    TRY(Rename(aside, folder));
    return renamed;
  }
  SyncFolder(ParentOf(folder));
  return Ok();
}

// The error of a damaged file, with a remedy.
template <typename T>
Result<T> WithRepairAdvice(Result<T> parsed, std::string_view advice) {
  if (parsed.ok()) return parsed;
  return Error(parsed.error().code(), fmt::format("{}; {}", parsed.error().message(), advice));
}

// The file's text; empty if there is none.
Result<std::string> ReadIfThere(const std::string& path) {
  Result<std::string> text = ReadFile(path, kMaxWordLinesBytes);
  if (!text.ok() && text.error().code() == Code::kNotFound) return std::string();
  return text;
}

// Whether the file can hold it; other nodes may have sent anything.
bool CanBeStored(const KnownPeer& peer) {
  return CheckNodeName(peer.name).ok() && peer.addresses.size() <= kMaxAddresses &&
         std::ranges::all_of(peer.addresses, [](const std::string& address) {
           return address.size() <= kMaxAddressBytes && ParseHostPort(address).ok();
         });
}

Error NoSuchInvitation() {
  return NotFound(
      "no such invitation is open: it was used, has expired or was made on another machine; ask "
      "for a new code");
}

}  // namespace

namespace home_internal {

namespace {

Status CheckId(std::string_view id) {
  if (id.size() != 16 || !ParseHex(id).ok()) return DataLoss("an id is damaged");
  return Ok();
}

}  // namespace

Result<std::vector<Invitation>> ParseInvitations(std::string_view text) {
  std::vector<Invitation> invitations;
  for (const Words& words : TRY(ParseWordLines(text, kInvitationsHeading))) {
    if (words.size() != 4 || invitations.size() >= Home::kMaxInvitations)
      return DataLoss("a line is damaged");
    Invitation invitation;
    TRY(CheckId(words[0]));
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

Result<std::vector<KnownPeer>> ParsePeers(std::string_view text) {
  std::vector<KnownPeer> peers;
  for (const Words& words : TRY(ParseWordLines(text, kPeersHeading))) {
    if (words.size() < 2 || words.size() > 2 + kMaxAddresses || peers.size() >= Home::kMaxPeers)
      return DataLoss("a line is damaged");
    KnownPeer peer{NodeId{TRY(ParseHash(words[0]))}, std::string(words[1]), {}};
    TRY(CheckNodeName(peer.name));
    for (size_t i = 2; i < words.size(); ++i) {
      TRY(ParseHostPort(words[i]));
      peer.addresses.emplace_back(words[i]);
    }
    peers.push_back(std::move(peer));
  }
  return peers;
}

std::string FormatPeers(const std::vector<KnownPeer>& peers) {
  std::string text = fmt::format("{}\n", kPeersHeading);
  for (const KnownPeer& peer : peers) {
    text += fmt::format("{} {}", peer.node.value.ToHex(), peer.name);
    for (const std::string& address : peer.addresses) text += " " + address;
    text += "\n";
  }
  return text;
}

Result<std::vector<std::string>> ParseSeeds(std::string_view text) {
  std::vector<std::string> seeds;
  for (const Words& words : TRY(ParseWordLines(text, kSeedsHeading))) {
    if (words.size() != 1 || seeds.size() >= Home::kMaxSeeds) return DataLoss("a line is damaged");
    TRY(ParseHostPort(words[0]));
    seeds.emplace_back(words[0]);
  }
  return seeds;
}

std::string FormatSeeds(const std::vector<std::string>& seeds) {
  std::string text = fmt::format("{}\n", kSeedsHeading);
  for (const std::string& seed : seeds) text += seed + "\n";
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

// The lock file is beside the folder, which is replaced as a whole.
Result<FileLock> Home::Lock() const {
  const std::string path = folder_ + ".lock";
  SystemClock clock;
  const int64_t deadline_ns = clock.NowNs() + kLockPatienceNs;
  while (true) {
    Result<FileLock> lock = FileLock::TryAcquire(path, kPrivateFile);
    if (lock.ok() || lock.error().code() != Code::kUnavailable || clock.NowNs() >= deadline_ns)
      return lock;
    clock.SleepFor(10 * kNsPerMs);
  }
}

Error Home::RefuseSecondCluster() const {
  return {Code::kAlreadyExists,
          fmt::format("{}: this machine belongs to a cluster already; `aster cluster show` tells "
                      "which, `aster cluster leave` leaves it, --force puts it aside",
                      folder_)};
}

Status Home::Create(const Identity& identity, const std::optional<Authority>& authority,
                    const std::string& revocations, bool replace, int64_t wall_s) const {
  TRY(MakeDirectories(ParentOf(folder_)));
  const FileLock lock = TRY(Lock());
  if (HasCluster() && !replace) return RefuseSecondCluster();
  // Written beside the folder and renamed: a machine belongs to a cluster or does not, whatever
  // happens. Removes the rest of an earlier process that was killed there.
  const std::string fresh = folder_ + ".new";
  RemoveQuietly(fresh);
  Status status = MakePrivateFolder(fresh);
  if (status.ok()) status = Fill(fresh, identity, authority, revocations);
  if (status.ok()) status = PutInPlace(fresh, folder_, wall_s);
  if (!status.ok()) RemoveQuietly(fresh);
  return status;
}

Status Home::Fill(const std::string& folder, const Identity& identity,
                  const std::optional<Authority>& authority, const std::string& revocations) const {
  const auto put = [&](std::string_view name, std::string_view content) {
    return WritePrivate(fmt::format("{}/{}", folder, name), content);
  };
  TRY(put("ca.pem", identity.ca_certificate));
  if (authority) TRY(put("ca.key", authority->key));
  if (!revocations.empty()) TRY(put("revoked", revocations));
  TRY(put("node.key", identity.key));
  return put("node.pem", identity.certificate);
}

Status Home::Remove() const {
  TRY(MakeDirectories(ParentOf(folder_)));
  const FileLock lock = TRY(Lock());
  // First the file without which there is no cluster, in case the rest fails.
  if (unlink(File("node.pem").c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
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
  ForbidCoreDumps();
  return MakeIdentity(TRY(ReadFile(File("ca.pem"), kMaxPemBytes)),
                      TRY(ReadFile(File("node.pem"), kMaxPemBytes)),
                      TRY(ReadFile(File("node.key"), kMaxPemBytes)), wall_s)
      .In(folder_);
}

Result<Authority> Home::LoadAuthority() const {
  if (!HasAuthority()) {
    return NotFound(
        "the authority of the cluster is on the machine where the cluster was made; run the "
        "command there, or make this machine a second holder of its key with `aster cluster "
        "authority import`");
  }
  ForbidCoreDumps();
  return Authority{.certificate = TRY(ReadFile(File("ca.pem"), kMaxPemBytes)),
                   .key = TRY(ReadFile(File("ca.key"), kMaxPemBytes))};
}

Status Home::AddAuthority(const Authority& authority) const {
  const FileLock lock = TRY(Lock());
  const std::string own = TRY(ReadFile(File("ca.pem"), kMaxPemBytes));
  if (own != authority.certificate)
    return FailedPrecondition("the key is of another cluster than this machine's");
  TRY(net::CheckKeyOfCertificate(own, authority.key));
  ForbidCoreDumps();
  return WritePrivate(File("ca.key"), authority.key);
}

Result<std::vector<Invitation>> Home::LoadInvitations(int64_t wall_s) const {
  const std::string text = TRY(ReadIfThere(File("invitations")));
  if (text.empty()) return std::vector<Invitation>();
  std::vector<Invitation> invitations =
      TRY(WithRepairAdvice(home_internal::ParseInvitations(text).In(File("invitations")),
                           "delete the file and make new invitations"));
  std::erase_if(invitations, [&](const Invitation& invitation) {
    return invitation.end_wall_s <= wall_s || invitation.attempts_left == 0;
  });
  return invitations;
}

Status Home::StoreInvitations(const std::vector<Invitation>& invitations) const {
  return WritePrivate(File("invitations"), home_internal::FormatInvitations(invitations));
}

Result<size_t> Home::CountInvitations(int64_t wall_s) const {
  return TRY(LoadInvitations(wall_s)).size();
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
  return NoSuchInvitation();
}

Result<Invitation> Home::ProveInvitation(
    std::string_view id, int64_t wall_s,
    const std::function<bool(const std::vector<uint8_t>& secret)>& is_proven) const {
  // Under the lock: concurrent requests get no more attempts than sequential ones.
  const FileLock lock = TRY(Lock());
  std::vector<Invitation> invitations = TRY(LoadInvitations(wall_s));
  for (Invitation& invitation : invitations) {
    if (invitation.id != id) continue;
    if (is_proven(invitation.secret)) return std::move(invitation);
    --invitation.attempts_left;
    TRY(StoreInvitations(invitations));
    return Error(Code::kPermissionDenied,
                 "the code is not the one of this invitation; after a few wrong ones the "
                 "invitation is void");
  }
  return NoSuchInvitation();
}

Result<bool> Home::TakeInvitation(std::string_view id, int64_t wall_s) const {
  const FileLock lock = TRY(Lock());
  std::vector<Invitation> invitations = TRY(LoadInvitations(wall_s));
  if (std::erase_if(invitations, [&](const Invitation& i) { return i.id == id; }) == 0)
    return false;
  TRY(StoreInvitations(invitations));
  return true;
}

Result<Revocations> Home::LoadRevocations(std::string_view ca_certificate) const {
  return Revocations::Parse(TRY(ReadIfThere(File("revoked"))), ca_certificate).In(File("revoked"));
}

Result<Revocations> Home::Revoke(const NodeId& node, int64_t wall_s) const {
  const FileLock lock = TRY(Lock());
  const Authority authority = TRY(LoadAuthority());
  const Revocations held = TRY(LoadRevocations(authority.certificate));
  if (held.Contains(node)) {
    return Error(Code::kAlreadyExists, fmt::format("node {} was revoked before", node.ToText()));
  }
  Revocations list = TRY(held.With(node, wall_s, authority.key));
  TRY(WritePrivate(File("revoked"), list.text()));
  return list;
}

Result<Revocations> Home::StoreRevocations(const Revocations& list,
                                           std::string_view ca_certificate) const {
  const FileLock lock = TRY(Lock());
  // Any list that the authority has signed replaces a damaged one.
  Result<Revocations> held = LoadRevocations(ca_certificate);
  const bool is_later = !held.ok() || (list.serial() > held->serial() && list.Covers(*held));
  const bool has_all = held.ok() && held->Covers(list);
  if (!is_later && (has_all || !HasAuthority())) return held;
  const Revocations later = is_later ? list : TRY(held->MergedWith(list, TRY(LoadAuthority()).key));
  TRY(WritePrivate(File("revoked"), later.text()));
  return later;
}

Result<std::vector<KnownPeer>> Home::LoadPeers() const {
  const std::string text = TRY(ReadIfThere(File("peers")));
  if (text.empty()) return std::vector<KnownPeer>();
  return WithRepairAdvice(home_internal::ParsePeers(text).In(File("peers")),
                          "delete the file: it only says where nodes were");
}

Status Home::StorePeers(const std::vector<KnownPeer>& peers) const {
  const FileLock lock = TRY(Lock());
  const std::string authority = TRY(ReadFile(File("ca.pem"), kMaxPemBytes));
  const Revocations revoked = TRY(LoadRevocations(authority));
  // An unreadable file is ignored: its content will be learnt again.
  const Result<std::vector<KnownPeer>> held = LoadPeers();
  std::vector<KnownPeer> all;
  const auto add = [&](const KnownPeer& peer) {
    const auto same = std::ranges::find(all, peer.node, &KnownPeer::node);
    if (same == all.end()) {
      if (all.size() < kMaxPeers && !revoked.Contains(peer.node)) all.push_back(peer);
    } else if (same->addresses.empty()) {
      same->addresses = peer.addresses;
    }
  };
  for (const KnownPeer& peer : peers) {
    if (CanBeStored(peer)) add(peer);
  }
  if (held.ok()) std::ranges::for_each(*held, add);
  return WritePrivate(File("peers"), home_internal::FormatPeers(all));
}

Result<std::vector<std::string>> Home::LoadSeeds() const {
  const std::string text = TRY(ReadIfThere(File("seeds")));
  if (text.empty()) return std::vector<std::string>();
  return WithRepairAdvice(
      home_internal::ParseSeeds(text).In(File("seeds")),
      "delete the file: it only says where the cluster was when this machine joined");
}

Result<std::vector<std::string>> Home::LoadAddresses() const {
  std::vector<std::string> addresses;
  // The best address of every node first: those of one node mostly fail together.
  const std::vector<KnownPeer> peers = TRY(LoadPeers());
  for (size_t i = 0; i < kMaxAddresses; ++i) {
    for (const KnownPeer& peer : peers) {
      if (i < peer.addresses.size()) addresses.push_back(peer.addresses[i]);
    }
  }
  for (const std::string& seed : TRY(LoadSeeds())) {
    if (std::ranges::find(addresses, seed) == addresses.end()) addresses.push_back(seed);
  }
  return addresses;
}

Status Home::AddSeed(const std::string& address) const {
  const FileLock lock = TRY(Lock());
  const std::string seed = TRY(ParseHostPort(address)).ToText();
  std::vector<std::string> seeds =
      LoadSeeds().ok() ? LoadSeeds().value() : std::vector<std::string>();
  std::erase(seeds, seed);
  seeds.insert(seeds.begin(), seed);
  seeds.resize(std::min(seeds.size(), kMaxSeeds));
  return WritePrivate(File("seeds"), home_internal::FormatSeeds(seeds));
}

}  // namespace aster::cluster
