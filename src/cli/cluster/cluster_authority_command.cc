// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster cluster authority: the key that admits members, saved in an encrypted file, and moved to
// another machine of the cluster.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "cli/cluster/cluster_commands.h"
#include "cli/terminal/console.h"
#include "cluster/authority_file.h"
#include "cluster/invite_code.h"

namespace aster::cli {
namespace {

constexpr uint32_t kOwnerOnly = 0600;
constexpr size_t kMaxCodeBytes = 256;

struct AuthorityOptions {
  std::string path;
  bool json = false;
};

Result<ExitStatus> Export(const AuthorityOptions& options, Console& console) {
  const OwnCluster own = TRY(LoadOwnCluster());
  const cluster::Authority authority = TRY(own.home.LoadAuthority());
  std::error_code error;
  if (std::filesystem::exists(options.path, error)) {
    return Error(Code::kAlreadyExists,
                 fmt::format("{}: there is such a file; each export has a code of its own, so "
                             "name a new file or remove that one",
                             options.path));
  }
  const cluster::InviteCode code = TRY(cluster::InviteCode::Draw());
  const std::string text = TRY(cluster::FormatAuthorityFile(authority, code));
  AtomicFile file = TRY(AtomicFile::Create(options.path, kOwnerOnly));
  TRY(file.Write(AsBytes(text)));
  TRY(file.Commit());
  const std::string command = fmt::format("aster cluster authority import {}", options.path);
  if (options.json) {
    const nlohmann::ordered_json json = {
        {"file", options.path}, {"code", code.ToText()}, {"command", command}};
    console.Write(json.dump(2) + "\n");
    return kExitOk;
  }
  console.Print(
      "The key of the cluster {} is in {}, encrypted. This code, which is shown only now, decrypts "
      "it:\n"
      "\n"
      "    {}\n"
      "\n"
      "Keep the two in different places: with both, any machine can be made a member. To make\n"
      "another machine of the cluster a holder of the key, copy the file and run there:\n"
      "\n"
      "    {}\n",
      own.identity.cluster_name, options.path, console.Styled(Style::kBold, code.ToText()),
      command);
  return kExitOk;
}

// From the first line of standard input; other users of the machine could see an argument.
Result<cluster::InviteCode> ReadCode(Console& console) {
  if (console.shows_progress()) {
    fmt::print(console.err(), "Code of the file: ");
    std::fflush(console.err());
  }
  std::string line;
  for (int c = std::fgetc(stdin); c != '\n' && c != EOF; c = std::fgetc(stdin)) {
    if (line.size() >= kMaxCodeBytes) return InvalidArgument("standard input: no code is so long");
    line += static_cast<char>(c);
  }
  return cluster::InviteCode::Parse(line).In("standard input");
}

Result<ExitStatus> Import(const AuthorityOptions& options, Console& console) {
  const OwnCluster own = TRY(LoadOwnCluster());
  if (own.home.HasAuthority()) {
    return Error(Code::kAlreadyExists,
                 fmt::format("{}: this machine has the key already", own.home.folder()));
  }
  const std::string text = TRY(ReadFile(options.path, cluster::kMaxAuthorityFileBytes));
  const cluster::InviteCode code = TRY(ReadCode(console));
  const cluster::Authority authority =
      TRY(cluster::ParseAuthorityFile(text, code, own.identity.ca_certificate).In(options.path));
  TRY(own.home.AddAuthority(authority));
  console.Print("This machine, {}, now invites and revokes for the cluster {}.\n",
                own.identity.name, own.identity.cluster_name);
  return kExitOk;
}

Run DeclareExport(CLI::App& app) {
  auto options = std::make_shared<AuthorityOptions>();
  app.add_option("FILE", options->path, "File to write")->required()->type_name("");
  app.add_flag("--json", options->json, "Print one JSON document");
  app.footer(
      "Run it on a machine that has the key.\n"
      "  aster cluster authority export attic.key");
  return [options](Console& console) { return Export(*options, console); };
}

Run DeclareImport(CLI::App& app) {
  auto options = std::make_shared<AuthorityOptions>();
  app.add_option("FILE", options->path, "File that was exported")->required()->type_name("");
  app.footer(
      "Run it on another machine of the cluster. It reads the file's code from standard input.\n"
      "  aster cluster authority import attic.key");
  return [options](Console& console) { return Import(*options, console); };
}

constexpr Command kAuthorityCommands[] = {
    {"export", "Write the cluster's key to a file, encrypted", DeclareExport},
    {"import", "Make this machine a holder of the cluster's key", DeclareImport},
};

}  // namespace

Run DeclareClusterAuthority(CLI::App& app) {
  app.require_subcommand(1);
  app.footer(
      "A machine with the cluster's key can invite machines and revoke nodes. Keep a copy of the "
      "key, or give it to a second machine: docs/cluster.md says what to do when it is lost.\n"
      "  desktop$ aster cluster authority export attic.key\n"
      "  laptop$  aster cluster authority import attic.key");
  auto runs = std::make_shared<std::map<const CLI::App*, Run>>();
  for (const Command& command : kAuthorityCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    runs->emplace(sub, command.declare(*sub));
  }
  return
      [runs, &app](Console& console) { return runs->at(app.get_subcommands().front())(console); };
}

}  // namespace aster::cli
