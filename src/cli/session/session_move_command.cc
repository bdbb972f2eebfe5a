// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster session move: moves a session to another machine of the cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/hash.h"
#include "base/random.h"
#include "base/units.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/session/session_commands.h"
#include "cli/session/session_keeper.h"
#include "cli/terminal/console.h"
#include "cli/terminal/progress.h"
#include "disk/input_file.h"
#include "node/call_member.h"
#include "open/node_pool.h"
#include "rpc/limits.h"

namespace aster::cli {
namespace {

constexpr size_t kHashedAtOnce = size_t{1} << 20;
// Successive parts that may fail before the command gives up; given again, it resumes.
constexpr int kMaxFailures = 5;
// How often it may begin again because the other machine has discarded its part.
constexpr int kMaxRestarts = 2;
constexpr int64_t kPauseNs = 500 * kNsPerMs;
constexpr int64_t kPartNs = 30 * kNsPerSecond;

struct SessionMoveFlags {
  std::string name;
  std::string node;
  std::string as;
  bool keep = false;
  std::vector<std::string> via;
};

// One file with the whole session, as long as it is needed.
class Packed {
 public:
  static Result<std::unique_ptr<Packed>> Make(const disk::SessionFolder& folder,
                                              const std::string& name, const std::string& path) {
    auto packed = std::make_unique<Packed>();
    TRY(folder.Export(name, path));
    packed->file_ = std::make_unique<disk::InputFile>(TRY(disk::InputFile::Open(path)));
    // However the command ends, the file is removed.
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
    const disk::ReadSession read = TRY(disk::ReadSessionFile(*packed->file_));
    if (read.damage) return *read.damage;
    Hasher hasher;
    std::vector<uint8_t> buffer;
    for (uint64_t offset = 0; offset < packed->size_bytes(); offset += buffer.size()) {
      buffer = TRY(packed->Read(offset, kHashedAtOnce));
      hasher.Add(buffer);
    }
    packed->hash_ = hasher.Digest();
    return packed;
  }

  uint64_t size_bytes() const { return file_->size_bytes(); }
  const Hash128& hash() const { return hash_; }
  // The same for all addresses of the node.
  const Hash128& transfer() const { return transfer_; }
  Result<std::vector<uint8_t>> Read(uint64_t offset, uint64_t at_most) const {
    std::vector<uint8_t> bytes(std::min(at_most, size_bytes() - offset));
    TRY(file_->ReadAt(offset, bytes.size(), bytes.data()));
    return bytes;
  }

 private:
  std::unique_ptr<disk::InputFile> file_;  // already unlinked
  Hash128 hash_;
  const Hash128 transfer_{SystemSeed(), SystemSeed()};
};

// By name, or by the beginning of an id.
Result<node::NodeView> FindNode(node::ClusterView& cluster, const std::string& text) {
  std::vector<node::NodeView> found;
  std::string names;
  for (node::NodeView& view : TRY(cluster.Look())) {
    const cluster::Member& member = view.member;
    if (!IsMeant(text, member.name, member.node)) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", member.name);
      continue;
    }
    found.push_back(std::move(view));
  }
  if (found.empty()) {
    return NotFound(
        fmt::format("{}: no node of the cluster has that name; there are: {}; `aster "
                    "cluster status` tells more",
                    text, names.empty() ? "none" : names));
  }
  if (found.size() > 1) {
    return InvalidArgument(fmt::format(
        "{}: there are several; name one by its id, as `aster cluster status` shows it", text));
  }
  if (found[0].member.node == cluster.identity().node) {
    return InvalidArgument(fmt::format("{} is this machine: the session is there", text));
  }
  if (!found[0].status) {
    return Error(Code::kUnavailable,
                 fmt::format("{} does not answer: {}; is `aster node` running there?", text,
                             found[0].why.empty() ? "it is down" : found[0].why));
  }
  return std::move(found[0]);
}

// Sends part by part; each reply says where the next begins, until the session is kept: this
// command's own copy, and not an existing one, which may be the session to move.
Status Send(const Packed& packed, const std::string& name, rpc::ControlClient& client,
            Progress& progress) {
  uint64_t offset = 0;
  int failures = 0, restarts = 0;
  for (;;) {
    rpc::SessionPart part{.content = packed.hash(),
                          .name = name,
                          .total_bytes = packed.size_bytes(),
                          .offset = offset,
                          .data = TRY(packed.Read(offset, rpc::kPieceBytes)),
                          .is_last = false,
                          .transfer = packed.transfer()};
    part.is_last = offset + part.data.size() == part.total_bytes;
    const auto receipt = client.PutSession(part, part.is_last ? rpc::kMaxCallNs : kPartNs);
    if (!receipt.ok()) {
      const Code code = receipt.error().code();
      const bool may_help = code == Code::kUnavailable || code == Code::kDeadlineExceeded;
      if (!may_help || ++failures >= kMaxFailures) return receipt.error();
      SystemClock().SleepFor(kPauseNs);
      continue;
    }
    if (receipt->is_kept && receipt->transfer == packed.transfer()) return Ok();
    if (receipt->is_kept) {
      return Error(Code::kFailedPrecondition,
                   "it has a session of that name, and does not confirm that this command brought "
                   "it; nothing was removed here (check with `aster session show` there, and bring "
                   "both machines to the same version of the program)");
    }
    const bool begins_anew = receipt->received_bytes < offset;
    if (receipt->received_bytes > part.total_bytes ||
        (receipt->received_bytes <= offset && ++failures >= kMaxFailures) ||
        (begins_anew && ++restarts > kMaxRestarts)) {
      return DataLoss("the node refuses the next part: move the session again");
    }
    if (receipt->received_bytes > offset) failures = 0;
    offset = receipt->received_bytes;
    progress.Update(offset, part.total_bytes);
  }
}

Result<ExitStatus> Move(const SessionMoveFlags& options, Console& console) {
  if (options.name.find('/') != std::string::npos) {
    return InvalidArgument(
        "a session's name is needed: copy a file as any file, and import it there with `aster "
        "session import`");
  }
  SystemClock clock;
  disk::SessionFolder folder = TRY(UserSessions(clock));
  const std::string path = TRY(folder.PathOf(options.name));
  const std::string as = options.as.empty() ? options.name : options.as;
  if (as.find('/') != std::string::npos) {
    return InvalidArgument("--as: give a name without a slash");
  }
  TRY(folder.PathOf(as).In("--as"));
  const disk::OpenSession source = TRY(folder.Open(options.name));
  const auto cluster = TRY(open::ViewOfCluster(options.via));
  const node::NodeView view = TRY(FindNode(*cluster, options.node));
  const auto packed =
      TRY(Packed::Make(folder, options.name,
                       // With the name of temporary files that are removed in time, in case this
                       // process is killed first.
                       fmt::format("{}/.asterism-outgoing-{}.new", path.substr(0, path.rfind('/')),
                                   clock.WallNs())));
  {
    Progress progress(console, clock, "moving");
    TRY(node::CallMember(cluster->identity(), view.member, [&](rpc::ControlClient& client) {
          return Send(*packed, as, client, progress);
        }).In(view.member.name));
  }
  // Removes the session only now: it is complete there, in a file that is newer than the opening of
  // this one, so it is another file, whatever folders are shared. If it was saved again here
  // meanwhile, it stays.
  if (!options.keep) {
    const auto removed = folder.Remove(options.name, &source);
    if (!removed.ok()) {
      return Error(removed.error())
          .In(fmt::format("{} is on {} now, as it was when it was packed", as, view.member.name));
    }
  }
  console.Print("{} is on {} now{}, {}\n", as, view.member.name, options.keep ? ", too" : "",
                FormatBytes(packed->size_bytes()));
  return kExitOk;
}

}  // namespace

Run DeclareSessionMove(CLI::App& app) {
  auto options = std::make_shared<SessionMoveFlags>();
  app.add_option("name", options->name, "Name of the session")->required()->type_name("NAME");
  app.add_option("node", options->node, "Name of the node, or eight digits of its id")
      ->required()
      ->type_name("NODE");
  app.add_option("--as", options->as, "Name of the session there")->type_name("NAME");
  app.add_flag("--keep", options->keep, "Keep it here, too");
  app.add_option("--via", options->via, "Address of a node that knows the others")
      ->type_name("HOST:PORT");
  app.footer(
      "The session is removed here once the other machine has all of it. An interrupted move "
      "continues where it stopped.\n"
      "  aster session move rules attic");
  return [options](Console& console) { return Move(*options, console); };
}

}  // namespace aster::cli
