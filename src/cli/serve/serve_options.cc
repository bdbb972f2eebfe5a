// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/serve/serve_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "base/files.h"
#include "base/units.h"
#include "cli/options/cluster_options.h"
#include "cli/options/draft_options.h"
#include "cli/options/model_options.h"
#include "crypto/sha256.h"
#include "net/socket.h"

namespace aster::cli {
namespace {

constexpr const char* kServerGroup = "Server";
constexpr const char* kKeyVariable = "ASTER_API_KEY";
constexpr const char* kAdminKeyVariable = "ASTER_ADMIN_KEY";
constexpr size_t kMaxKeysBytes = 1 << 20;

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

std::string FromEnvironment(const char* variable) {
  const char* const value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

bool HasKey(const std::string& path, const char* variable) {
  return !path.empty() || !FromEnvironment(variable).empty();
}

// "https://example.org:8080" or "*".
bool IsOrigin(std::string_view text) {
  if (text.empty() || text == "*" || text == "null") return true;
  const size_t scheme = text.find("://");
  if (scheme == 0 || scheme == std::string_view::npos) return false;
  const std::string_view host = text.substr(scheme + 3);
  return !host.empty() && text.find_first_of(" \t\r\n,*?#@") == std::string_view::npos &&
         host.find('/') == std::string_view::npos;
}

// ASTER_SERVE_MAX_BODY for --max-body.
std::string VariableFor(std::string_view option) {
  std::string name = "ASTER_SERVE_";
  for (const char c : option) {
    name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

// 64 digits; the rest of the line is a note.
Result<crypto::Sha256Digest> ParseDigest(std::string_view line) {
  crypto::Sha256Digest digest{};
  const std::string_view digits = line.substr(0, line.find_first_of(" \t\r"));
  if (digits.size() != 2 * digest.size())
    return InvalidArgument("give the SHA-256 of a key in 64 hex digits");
  for (size_t i = 0; i < digest.size(); ++i) {
    const char* const begin = digits.data() + 2 * i;
    const auto parsed = std::from_chars(begin, begin + 2, digest[i], 16);
    if (parsed.ec != std::errc() || parsed.ptr != begin + 2)
      return InvalidArgument("a digit that is not hex");
  }
  return digest;
}

// From an environment variable and a file; either may be missing.
Result<std::vector<crypto::Sha256Digest>> ReadKeys(const char* variable, const std::string& path) {
  std::vector<crypto::Sha256Digest> keys;
  if (const std::string key = FromEnvironment(variable); !key.empty()) {
    keys.push_back(crypto::Sha256Of({reinterpret_cast<const uint8_t*>(key.data()), key.size()}));
  }
  if (path.empty()) return keys;
  const std::string text = TRY(ReadFile(path, kMaxKeysBytes));
  const size_t named = keys.size();
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    keys.push_back(TRY(ParseDigest(line).In(fmt::format("{}: line {}", path, number))));
  }
  if (keys.size() == named) return InvalidArgument(path + ": there are no keys in it");
  return keys;
}

}  // namespace

void ServeOptions::Declare(CLI::App& app) {
  DeclareModelOptions(app, model);
  DeclareKvCacheOptions(app, model.kv_cache);
  DeclareClusterOptions(app, cluster);
  const auto add = [&](const char* flag, auto& value, const char* text, const char* type) {
    return app.add_option(flag, value, text)->group(kServerGroup)->type_name(type);
  };
  add("--host", host,
      "Address to listen on; other than this machine only with a key, or with --open", "HOST");
  add("--port", port, "Port; 0: any free one", "PORT")->check(CLI::Range(0, 65535));
  add("--name", names,
      "Name of the model (default: its file's name). Repeatable, in the order of the models",
      "NAME")
      ->allow_extra_args(false);
  add("--alias", aliases,
      "Alias of the first model, or ALIAS=NAME for another one; *: all names. Repeatable", "ALIAS")
      ->allow_extra_args(false);
  add("--keys", keys_path, "File of API keys: the SHA-256 of a key in hex on each line", "FILE");
  add("--admin-keys", admin_keys_path,
      "File of the keys that may change the cluster: like that of --keys", "FILE");
  app.add_flag("--open", open, "Allow requests from other machines without a key")
      ->group(kServerGroup);
  app.add_flag("--open-metrics", open_metrics,
               "Answer /metrics without a key, as endpoint pickers of gateways ask")
      ->group(kServerGroup);
  add("--cors", cors, "Origin of web pages that may send requests; *: all. Repeatable", "ORIGIN")
      ->allow_extra_args(false);
  add("--ctx", context, "Context length in tokens, for prompt and answer (default: as trained)",
      "N");
  add("-n,--tokens", max_tokens, "Limit of an answer in tokens, unless the client gives one", "N");
  add("--parallel", parallel, "Answers computed at once", "N")->check(CLI::Range(1, 1024));
  add("--queue", queue, "Requests that may wait; more get 429", "N")->check(CLI::Range(1, 1 << 20));
  add("--store-responses", stored_responses,
      "Responses (/v1/responses) in memory, for previous_response_id; the oldest are deleted "
      "first; 0: none",
      "N")
      ->check(CLI::Range(0, 1 << 20));
  add("--deadline", deadline_s, "Time limit of a request; 0: none", "SECONDS");
  add("--grace", grace_s, "Time for running answers at shutdown", "SECONDS");
  add("--max-body", body, "Size limit of a request body", "SIZE");
  add("--tls-cert", tls_certificate, "Certificate for HTTPS (PEM, the chain behind it)", "FILE");
  add("--tls-key", tls_key, "Private key of the certificate (PEM)", "FILE");
  add("--trace-dir", trace_folder, "Folder of traces, a file for each request", "FOLDER");
  app.add_flag("--log-prompts", log_prompts, "Log prompts (with --log-level info)")
      ->group(kServerGroup);
  DeclareEnsembles(app);
  sampling.Declare(app);
  DeclareDraftOptions(app, draft);
  draft.keeps_looking = true;
  // The environment sets options that the command line does not.
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty() || option->get_lnames().front() == "help") continue;
    option->envname(VariableFor(option->get_lnames().front()));
  }
  app.add_flag("--print-config", print_config, "Print all options as a file for --config")
      ->configurable(false)
      ->group(kServerGroup);
}

void ServeOptions::DeclareEnsembles(CLI::App& app) {
  const auto add = [&](const char* flag, auto& value, const char* text, const char* type) {
    return app.add_option(flag, value, text)->group(kServerGroup)->type_name(type);
  };
  add("--ensemble", ensembles,
      "Name of an ensemble and its members: models of this server, or others, which it then "
      "serves, too; "
      "MODEL@NODE: on that node of the cluster. Repeatable",
      "NAME=MODEL,MODEL…")
      ->allow_extra_args(false);
  add("--weights", weights,
      "Weight of each member's probabilities in the ensemble of that name (default: all the same); "
      "0: not asked. Or the file of results of each (aster eval --out), which gives its weight. "
      "Repeatable",
      "NAME=N,N…")
      ->allow_extra_args(false);
  add("--policy", policies,
      "How members of the ensemble of that name give one answer: choose takes the most probable "
      "of their answers, spans writes one together sentence by sentence, bytes byte by byte, "
      "auto the best of them for the kind of question (default: choose). Repeatable",
      "NAME=POLICY")
      ->allow_extra_args(false);
  add("--ensemble-wait", ensemble_wait_s,
      "Seconds to wait for other members of an ensemble after the first has answered", "SECONDS")
      ->check(CLI::Range(0.0, 86400.0));
}

Status ServeOptions::Check() const {
  if (tls_certificate.empty() != tls_key.empty())
    return InvalidArgument("--tls-cert and --tls-key need each other: give both");
  if (TRY(BodyBytes()) == 0)
    return InvalidArgument(
        "--max-body 0: every request would be refused; give the size of the largest one");
  for (const std::string& origin : cors) {
    if (IsOrigin(origin)) continue;
    return InvalidArgument(fmt::format(
        "--cors {}: give an origin as browsers send it (https://example.org), or *", origin));
  }
  if (IsLoopback(host) || HasKey(keys_path, kKeyVariable) || open) return Ok();
  return InvalidArgument(
      fmt::format("--host {}: other machines could send requests without a key; give --keys or {}, "
                  "or --open to allow them",
                  host, kKeyVariable));
}

bool ServeOptions::IsShared() const {
  return !IsLoopback(host) || HasKey(keys_path, kKeyVariable) ||
         HasKey(admin_keys_path, kAdminKeyVariable);
}

Result<std::vector<crypto::Sha256Digest>> ServeOptions::Keys() const {
  return ReadKeys(kKeyVariable, keys_path);
}

Result<std::vector<crypto::Sha256Digest>> ServeOptions::AdminKeys() const {
  return ReadKeys(kAdminKeyVariable, admin_keys_path);
}

std::string ServeOptions::Listen() const {
  const bool is_bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return is_bare_v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

Result<size_t> ServeOptions::BodyBytes() const {
  return static_cast<size_t>(TRY(ParseBytes(body).In("--max-body")));
}

}  // namespace aster::cli
