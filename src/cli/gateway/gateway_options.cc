// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/gateway/gateway_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/units.h"
#include "cli/terminal/console.h"
#include "net/socket.h"

namespace aster::cli {
namespace {

constexpr size_t kMaxServersBytes = 1 << 20;
constexpr size_t kMaxServers = 1000;
constexpr size_t kMaxServerName = 64;
constexpr size_t kMaxPathBytes = 1024;
constexpr uint64_t kLeastRead = 4 << 10;
constexpr uint64_t kMostRead = 4 << 20;
constexpr uint64_t kMostBody = uint64_t{1} << 31;
constexpr std::string_view kHttps = "https://";
constexpr std::string_view kHttp = "http://";

bool IsWord(std::string_view text, std::string_view marks) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

// A typed word for an error: on one line, without control characters.
std::string Shown(std::string_view text) {
  std::string shown = Harmless(text.substr(0, 200));
  std::ranges::replace(shown, '\n', ' ');
  return shown;
}

// In HAProxy's form: [::1]:8080, and * for listening on all addresses.
Result<std::string> AddressOf(std::string_view text, bool may_be_any, bool& is_numeric) {
  std::string written(text);
  if (may_be_any && written.starts_with(':')) written = "*" + written;
  const net::HostPort parsed = TRY(net::ParseHostPort(written));
  const bool is_any = may_be_any && parsed.host == "*";
  if (parsed.port.find_first_not_of('0') == std::string::npos)
    return InvalidArgument(fmt::format("{}: give a port from 1 to 65535", Shown(text)));
  is_numeric = !is_any && parsed.is_numeric();
  const bool is_v6 = parsed.host.find(':') != std::string::npos;
  const bool is_host = is_v6 ? is_numeric : IsWord(parsed.host, "._-");
  if (!is_any && !is_host) {
    return InvalidArgument(fmt::format("{}: '{}' is no name of a host and no address", Shown(text),
                                       Shown(parsed.host)));
  }
  return is_v6 ? fmt::format("[{}]:{}", parsed.host, parsed.port)
               : fmt::format("{}:{}", parsed.host, parsed.port);
}

Status CheckPath(std::string_view path, const char* option) {
  const bool has_control =
      std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
  if (!has_control && path.size() <= kMaxPathBytes) return Ok();
  return InvalidArgument(
      fmt::format("{}: give a path of at most {} bytes without control "
                  "characters",
                  option, kMaxPathBytes));
}

Result<GatewayServer> ServerOf(std::string_view text, const GatewayOptions& options) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return InvalidArgument(
        fmt::format("{}: give NAME=HOST:PORT, for example desk=192.168.0.7:8080", Shown(text)));
  GatewayServer server;
  server.name = text.substr(0, equals);
  if (!IsWord(server.name, "._-") || server.name.size() > kMaxServerName) {
    return InvalidArgument(
        fmt::format("{}: a server's name has letters, digits, '.', '_' and '-', at most {}",
                    Shown(text), kMaxServerName));
  }
  std::string_view where = text.substr(equals + 1);
  const bool is_protected = where.starts_with(kHttps);
  if (is_protected) {
    where.remove_prefix(kHttps.size());
  } else if (where.starts_with(kHttp)) {
    where.remove_prefix(kHttp.size());
  }
  if (where.ends_with('/')) where.remove_suffix(1);
  bool is_numeric = false;
  server.address = TRY(AddressOf(where, /*may_be_any=*/false, is_numeric).In(server.name));
  if (!is_protected) return server;
  server.certificate_name = options.certificate_name;
  if (server.certificate_name.empty()) {
    if (is_numeric) {
      return InvalidArgument(
          fmt::format("{}: an address has no certificate that could be checked; give the host's "
                      "name, or --cert-name with the name in the servers' certificates",
                      Shown(text)));
    }
    server.certificate_name = server.address.substr(0, server.address.rfind(':'));
  }
  return server;
}

// One per line; empty lines, and text after a #, are ignored.
Status AddFromFile(const GatewayOptions& options, std::vector<GatewayServer>& servers) {
  const std::string text = TRY(ReadFile(options.servers_path, kMaxServersBytes));
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    line = line.substr(0, line.find('#'));
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) continue;
    line = line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
    servers.push_back(
        TRY(ServerOf(line, options).In(fmt::format("{}:{}", options.servers_path, number))));
  }
  return Ok();
}

Result<std::vector<GatewayServer>> AllServers(const GatewayOptions& options) {
  std::vector<GatewayServer> servers;
  for (const std::string& text : options.servers)
    servers.push_back(TRY(ServerOf(text, options).In("--server")));
  if (!options.servers_path.empty()) TRY(AddFromFile(options, servers));
  if (servers.empty())
    return InvalidArgument("no servers: give --server NAME=HOST:PORT for each, or --servers FILE");
  if (servers.size() > kMaxServers)
    return InvalidArgument(
        fmt::format("{} servers: a gateway has at most {}", servers.size(), kMaxServers));
  for (size_t i = 0; i < servers.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (servers[i].name == servers[j].name) {
        return InvalidArgument(
            fmt::format("two servers are called {}: give each a name of its own", servers[i].name));
      }
      if (servers[i].address == servers[j].address) {
        return InvalidArgument(fmt::format("{} and {} are the same server, {}", servers[j].name,
                                           servers[i].name, servers[i].address));
      }
    }
  }
  return servers;
}

Result<uint64_t> SizeOf(const std::string& text, const char* option, uint64_t least,
                        uint64_t most) {
  const uint64_t bytes = TRY(ParseBytes(text).In(option));
  if (bytes >= least && bytes <= most) return bytes;
  return InvalidArgument(
      fmt::format("{} {}: give {} to {}", option, text, FormatBytes(least), FormatBytes(most)));
}

}  // namespace

void GatewayOptions::Declare(CLI::App& app) {
  app.add_option("--server", servers,
                 "A server: its name, and its address (https://HOST:PORT for TLS). Repeatable")
      ->allow_extra_args(false)
      ->type_name("NAME=HOST:PORT");
  app.add_option("--servers", servers_path, "File of servers, one on each line; #: a comment")
      ->type_name("FILE");
  app.add_option("--listen", listen, "Address of the gateway; *: all of this machine's")
      ->type_name("HOST:PORT");
  app.add_option("--tls-cert", certificate,
                 "Certificate of the gateway for HTTPS (PEM, with its chain; the private key there "
                 "or in FILE.key)")
      ->type_name("FILE");
  app.add_option("--ca", authorities,
                 "Authorities of the servers' certificates (PEM; default: those of the system)")
      ->type_name("FILE");
  app.add_option("--cert-name", certificate_name,
                 "Name in the servers' certificates (default: the host of each)")
      ->type_name("NAME");
  app.add_option("--limit-rate", requests_a_minute,
                 "Requests of a key (or, without one, an address) in a minute; 0: no limit")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  app.add_option("--limit-at-once", requests_at_once,
                 "Requests of a key (or, without one, an address) at once; 0: no limit")
      ->check(CLI::Range(0, 1000000))
      ->type_name("N");
  app.add_option("--max-body", max_body, "Size limit of a request body")->type_name("SIZE");
  app.add_option("--read", read,
                 "Bytes of a body that are read to choose its server, and kept to send it again")
      ->type_name("SIZE");
  app.add_option("--max-load", load_percent,
                 "Limit of a server's requests, in percent of the average; a request above it goes "
                 "to the next server")
      ->check(CLI::Range(101, 100000))
      ->type_name("PERCENT");
  app.add_option("--timeout", timeout_s, "Time limit of an answer that is not streamed")
      ->check(CLI::Range(1, 86400))
      ->type_name("SECONDS");
  app.add_option("--socket", socket, "HAProxy's socket for commands; empty: none")
      ->type_name("FILE");
  app.add_option("--user", user, "User and group that HAProxy runs as; empty: its own")
      ->type_name("NAME");
  app.add_option("--to", to, "File to write (default: standard output)")->type_name("FILE");
}

Result<GatewayPlan> GatewayOptions::Plan() const {
  if (!certificate_name.empty() && !IsWord(certificate_name, "._-"))
    return InvalidArgument(
        fmt::format("--cert-name {}: give a name as certificates have it, such as llm.example.org",
                    Shown(certificate_name)));
  if (!user.empty() && (!IsWord(user, "_-") || user.starts_with('-')))
    return InvalidArgument(fmt::format("--user {}: give the name of a user", Shown(user)));
  TRY(CheckPath(certificate, "--tls-cert"));
  TRY(CheckPath(authorities, "--ca"));
  TRY(CheckPath(socket, "--socket"));
  GatewayPlan plan;
  plan.servers = TRY(AllServers(*this));
  const bool is_protected = std::ranges::any_of(
      plan.servers, [](const auto& server) { return !server.certificate_name.empty(); });
  if (!is_protected && !(authorities.empty() && certificate_name.empty())) {
    return InvalidArgument(
        "--ca and --cert-name are for servers with TLS: give those as NAME=https://HOST:PORT");
  }
  bool is_numeric = false;
  plan.listen = TRY(AddressOf(listen, /*may_be_any=*/true, is_numeric).In("--listen"));
  plan.certificate = certificate;
  plan.authorities = authorities.empty() ? "@system-ca" : authorities;
  plan.socket = socket;
  plan.user = user;
  plan.body_bytes = TRY(SizeOf(max_body, "--max-body", 1, kMostBody));
  plan.read_bytes = TRY(SizeOf(read, "--read", kLeastRead, kMostRead));
  plan.load_percent = load_percent;
  plan.timeout_s = timeout_s;
  plan.requests_a_minute = requests_a_minute;
  plan.requests_at_once = requests_at_once;
  return plan;
}

}  // namespace aster::cli
