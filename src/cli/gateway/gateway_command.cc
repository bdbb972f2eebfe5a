// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster gateway: several servers behind one address.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/bytes.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/gateway/gateway_options.h"
#include "cli/gateway/haproxy_config.h"
#include "cli/terminal/console.h"

namespace aster::cli {
namespace {

Result<ExitStatus> WriteConfig(const GatewayOptions& options, Console& console) {
  const std::string text = HaproxyConfig(TRY(options.Plan()));
  if (options.to.empty()) {
    console.Write(text);
    return kExitOk;
  }
  TRY(WriteFileAtomically(options.to, AsBytes(text)));
  console.Note("check it with: haproxy -c -f " + Harmless(options.to));
  return kExitOk;
}

Run DeclareGatewayConfig(CLI::App& app) {
  auto options = std::make_shared<GatewayOptions>();
  options->Declare(app);
  app.footer(
      "Turns of a conversation go to the server that has it in its KV cache. Servers are asked for "
      "/ready every second.\n"
      "docs/gateway.md describes what HAProxy does with it.\n"
      "  aster gateway config --server a=10.0.0.1:8080 --server b=10.0.0.2:8080 --to aster.cfg\n"
      "  haproxy -c -f aster.cfg && haproxy -f aster.cfg");
  return [options](Console& console) { return WriteConfig(*options, console); };
}

}  // namespace

Run DeclareGateway(CLI::App& app) {
  app.require_subcommand(1);
  app.footer("  aster gateway config --servers servers.txt --listen '*:443' --tls-cert llm.pem");
  CLI::App* const config =
      app.add_subcommand("config", "Write a configuration of HAProxy for several servers");
  return DeclareGatewayConfig(*config);
}

}  // namespace aster::cli
