// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "cli/gateway/haproxy_config.h"

#include <fmt/format.h>

#include <algorithm>

namespace aster::cli {
namespace {

// The part of HAProxy's buffers that is reserved for headers.
constexpr uint64_t kHeaderBytes = 16384;

constexpr std::string_view kDefaults = R"(
defaults
    mode http
    log global
    option httplog
    timeout connect 2s
    timeout queue 30s
    timeout http-request 30s
    timeout http-keep-alive 60s
    timeout check 2s
    # A request goes to another server where this one has not begun to answer, never later.
    retries 2
    option redispatch 1
    retry-on conn-failure empty-response response-timeout 503
    # A name that is not found leaves out its server, and not all of them.
    default-server init-addr last,libc,none
    # If the client disconnects, its answer stops.
    option abortonclose
    # A machine that drops off the network.
    option srvtcpka
    srvtcpka-idle 10s
    srvtcpka-intvl 5s
    srvtcpka-cnt 3
)";

// Replies without a server, and the known paths.
constexpr std::string_view kFront = R"(    acl is_post method POST
    acl of_ollama path_beg /api/
    acl of_anthropic path_beg /v1/messages
    acl of_page path / /page.css /page.js /icon.svg /licences.txt /v1/status /v1/cluster
    acl has_server req.cook(aster-server) -m found
    acl of_answers path /v1/chat/completions /v1/completions /v1/messages /v1/responses
    acl of_answers path /api/chat /api/generate /completion /infill
    acl of_answers path_beg /v1/responses/
    acl of_others path /v1/messages/count_tokens /v1/embeddings /embedding /embeddings
    acl of_others path /api/embed /api/embeddings
    acl of_others path /v1/rerank /v1/reranking /v2/rerank /rerank /reranking
    acl of_others path /tokenize /detokenize /apply-template /props
    acl of_others path /v1/models /api/version /api/tags /api/ps /api/show
    acl of_others path_beg /v1/models/
    acl is_alive path /live /health
    acl is_ready path /ready
    acl has_ready_server nbsrv(answers) gt 0

    # Errors begin, go on and end in the form of the request's API.
    http-request set-var-fmt(txn.open) '{"error":{"type":"'
    http-request set-var-fmt(txn.then) '","message":"'
    http-request set-var-fmt(txn.close) '","param":null,"code":null}}'
    http-request set-var-fmt(txn.open) '{"type":"error","error":{"type":"' if of_anthropic
    http-request set-var-fmt(txn.close) '"}}' if of_anthropic
    http-request set-var-fmt(txn.open) '{"type":"' if of_ollama
    http-request set-var-fmt(txn.then) '","error":"' if of_ollama
    http-request set-var-fmt(txn.close) '"}' if of_ollama

)";

// A key is never stored or logged, only its hash.
constexpr std::string_view kClients = R"(
    # A client is its key, or its address where it gives none.
    http-request set-var-fmt(txn.client) '%[src]'
    http-request set-var(txn.client) req.hdr(x-api-key) if { req.hdr(x-api-key) -m found }
    http-request set-var(txn.client) http_auth_bearer if { http_auth_bearer -m found }
    http-request track-sc0 var(txn.client),sha2(256) table clients if is_post
)";

constexpr std::string_view kClientTable = R"(
backend clients
    stick-table type binary len 32 size 100k expire 10m store conn_cur,gpc0,gpc0_rate(60s)
)";

constexpr std::string_view kBackends = R"(
    http-response set-header X-Asterism-Server %s
    use_backend page if of_page or has_server
    use_backend answers if of_answers
    default_backend others
)";

// The beginning of a conversation selects its server: its system message and its first message.
constexpr std::string_view kConversation = R"(    acl is_post method POST
    acl of_chat path /v1/chat/completions /v1/messages /api/chat
    acl of_responses path /v1/responses
    acl has_key var(txn.key) -m found
    acl has_first var(txn.first) -m found
    acl has_second var(txn.second) -m found
    acl has_system var(txn.role) -m str system developer
    http-request wait-for-body time 30s if is_post

    # A conversation is computed where its beginning is in the KV cache.
)";

// A value of the body that becomes a variable.
struct BodyValue {
  const char* variable;
  const char* value;
  const char* condition;
};

// Contents in parts may have marks beside the text that change from turn to turn, so the first
// part's text counts. A prompt grows from turn to turn: its first bytes count; and if the body
// cannot be read, its own first bytes.
constexpr BodyValue kBodyValues[] = {
    {"key", "json_query('$.prompt_cache_key')", ""},
    {"role", "json_query('$.messages[0].role')", "of_chat !has_key"},
    {"first", "json_query('$.messages[0].content[0].text')", "of_chat !has_key"},
    {"first", "json_query('$.messages[0].content')", "of_chat !has_key !has_first"},
    {"second", "json_query('$.messages[1].content[0].text')", "of_chat has_system"},
    {"second", "json_query('$.messages[1].content')", "of_chat has_system !has_second"},
    {"role", "json_query('$.input[0].role')", "of_responses !has_key"},
    {"first", "json_query('$.input[0].content[0].text')", "of_responses !has_key"},
    {"first", "json_query('$.input[0].content')", "of_responses !has_key !has_first"},
    {"first", "json_query('$.input')", "of_responses !has_key !has_first"},
    {"second", "json_query('$.input[1].content[0].text')", "of_responses has_system"},
    {"second", "json_query('$.input[1].content')", "of_responses has_system !has_second"},
    {"first", "json_query('$.prompt'),bytes(0,512)", "!has_key !has_first"},
    {"first", "bytes(0,1024)", "!has_key !has_first"},
    {"response", "json_query('$.previous_response_id')", "of_responses"},
    {"streams", "json_query('$.stream')", ""},
};

constexpr std::string_view kChoice = R"(
    # A stream says something every five seconds.
    http-request set-timeout server 60s if { var(txn.streams) -m bool }

    # Stored responses are where they were made.
    http-request set-var(txn.response) path,field(4,/) if { path_beg /v1/responses/ }
    stick-table type string len 64 size 100k expire 24h
    stick match var(txn.response)
    stick store-response res.hdr(x-response-id)

    balance hash var(txn.key)
    hash-type consistent sdbm avalanche
)";

constexpr std::string_view kHealth = R"(    option httpchk
    http-check send meth GET uri /ready
    http-check expect status 200
    default-server inter 1s fastinter 500ms downinter 1s fall 2 rise 1
    default-server observe layer4 error-limit 1 on-error mark-down
)";

bool NeedsNoQuotes(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') ||
         std::string_view("_./:*@-").find(c) != std::string_view::npos;
}

// The gateway's own reply, in single quotes.
std::string Message(std::string_view kind, std::string_view text) {
  return fmt::format("'%[var(txn.open)]{}%[var(txn.then)]{}%[var(txn.close)]'", kind, text);
}

// If the API is not known yet: a form that most clients understand.
std::string PlainMessage(std::string_view text) {
  return fmt::format(
      "'{{\"type\":\"error\",\"error\":{{\"type\":\"invalid_request_error\",\"message\":\"{}\"}}}}"
      "'",
      text);
}

std::string ErrorsOfHaproxy() {
  const auto line = [](int status, const char* form, const std::string& body, const char* more) {
    return fmt::format("    http-error status {} content-type application/json {} {}{}\n", status,
                       form, body, more);
  };
  return line(400, "string", PlainMessage("the request is not HTTP, or its head is too long"), "") +
         line(408, "string", PlainMessage("the request did not come in time"), "") +
         line(502, "lf-string", Message("api_error", "the server ended before it answered"),
              " hdr Retry-After 1") +
         line(503, "lf-string", Message("overloaded_error", "no server is ready; try again later"),
              " hdr Retry-After 5") +
         line(504, "lf-string", Message("api_error", "the server did not answer in time"), "");
}

// `wait_s`: of Retry-After; 0: none.
std::string Return(int status, std::string_view form, std::string_view body, uint32_t wait_s,
                   std::string_view condition) {
  const std::string wait = wait_s == 0 ? "" : fmt::format(" hdr Retry-After {}", wait_s);
  return fmt::format("    http-request return status {} content-type application/json {} {}{} {}\n",
                     status, form, body, wait, condition);
}

std::string RefuseClient(std::string_view why, uint32_t wait_s, std::string_view condition) {
  return Return(429, "lf-string", Message("rate_limit_error", why), wait_s,
                fmt::format("if is_post {}", condition));
}

// Operators' requests to a single server (metrics, sessions, pulls, changes of its cluster) are not
// passed on.
std::string OwnReplies(const GatewayPlan& plan) {
  return Return(200, "string", R"('{"status":"ok"}')", 0, "if is_alive") +
         Return(200, "string", R"('{"status":"ready"}')", 0, "if is_ready has_ready_server") +
         Return(503, "string", R"('{"status":"no server is ready"}')", 1, "if is_ready") +
         Return(404, "lf-string",
                Message("not_found_error", "this path is not served by the gateway"), 0,
                "unless of_page or of_answers or of_others") +
         Return(413, "lf-string",
                Message("invalid_request_error",
                        fmt::format("the body is longer than {} bytes", plan.body_bytes)),
                0, fmt::format("if {{ req.hdr_val(content-length) gt {} }}", plan.body_bytes));
}

std::string Affinity(const GatewayPlan& plan) {
  std::string text(kConversation);
  for (const BodyValue& one : kBodyValues) {
    const std::string_view condition = one.condition;
    text += fmt::format("    http-request set-var(txn.{}) req.body,{} if is_post{}{}\n",
                        one.variable, one.value, condition.empty() ? "" : " ", condition);
  }
  text +=
      "    http-request set-var-fmt(txn.key) '%[var(txn.first),xxh64]-%[var(txn.second),xxh64]' "
      "if is_post !has_key\n";
  return text + std::string(kChoice) +
         fmt::format("    hash-balance-factor {}\n", plan.load_percent);
}

std::string Limits(const GatewayPlan& plan) {
  if (plan.requests_a_minute == 0 && plan.requests_at_once == 0) return "";
  std::string text(kClients);
  if (plan.requests_at_once > 0) {
    text += RefuseClient(
        fmt::format("more than {} requests at once with this key", plan.requests_at_once), 1,
        fmt::format("{{ sc_conn_cur(0) gt {} }}", plan.requests_at_once));
  }
  if (plan.requests_a_minute > 0) {
    const uint32_t wait_s =
        std::max<uint32_t>(1, (59 + plan.requests_a_minute) / plan.requests_a_minute);
    text += RefuseClient(
        fmt::format("more than {} requests a minute with this key", plan.requests_a_minute), wait_s,
        fmt::format("{{ sc_gpc0_rate(0) ge {} }}", plan.requests_a_minute));
    // Refused requests do not count, so that a client that keeps asking is served again.
    text += "    http-request sc-inc-gpc0(0) if is_post\n";
  }
  return text;
}

std::string Global(const GatewayPlan& plan) {
  std::string text =
      "# For HAProxy 2.6 or newer. Written by `aster gateway config`: change its options, and "
      "write "
      "it again.\nglobal\n    log stdout format raw daemon\n    maxconn 4096\n";
  if (!plan.user.empty()) text += fmt::format("    user {0}\n    group {0}\n", plan.user);
  if (!plan.socket.empty()) {
    text += fmt::format("    stats socket {} mode 600 level admin expose-fd listeners\n",
                        HaproxyWord(plan.socket));
  }
  return text + fmt::format(
                    "    ssl-default-bind-options ssl-min-ver TLSv1.2\n"
                    "    ssl-default-server-options ssl-min-ver TLSv1.2\n"
                    "    tune.bufsize {}\n",
                    plan.read_bytes + kHeaderBytes);
}

std::string Frontend(const GatewayPlan& plan) {
  std::string text = fmt::format("\nfrontend gateway\n    bind {}", plan.listen);
  if (plan.listen.starts_with("[::]")) text += " v4v6";
  if (!plan.certificate.empty())
    text += fmt::format(" ssl crt {} alpn h2,http/1.1", HaproxyWord(plan.certificate));
  text += '\n';
  text += kFront;
  text += OwnReplies(plan);
  return text + Limits(plan) + std::string(kBackends);
}

enum class Checks { kOwn, kOfAnswers };

std::string Servers(const GatewayPlan& plan, Checks checks, bool has_cookie) {
  std::string text;
  for (const GatewayServer& server : plan.servers) {
    text += fmt::format("    server {} {}", server.name, server.address);
    if (!server.certificate_name.empty()) {
      text += fmt::format(" ssl verify required ca-file {} sni str({}) verifyhost {} alpn http/1.1",
                          HaproxyWord(plan.authorities), server.certificate_name,
                          server.certificate_name);
      if (checks == Checks::kOwn)
        text += fmt::format(" check-sni {} check-alpn http/1.1", server.certificate_name);
    }
    text += checks == Checks::kOwn ? " check" : fmt::format(" track answers/{}", server.name);
    if (has_cookie) text += " cookie " + server.name;
    text += '\n';
  }
  return text;
}

}  // namespace

std::string HaproxyWord(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, NeedsNoQuotes)) return std::string(text);
  // Between single quotes every character is literal.
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string HaproxyConfig(const GatewayPlan& plan) {
  std::string text = Global(plan);
  text += kDefaults;
  text += ErrorsOfHaproxy();
  text += fmt::format("    timeout client {0}s\n    timeout server {0}s\n", plan.timeout_s);
  text += Frontend(plan);
  if (plan.requests_a_minute > 0 || plan.requests_at_once > 0) text += kClientTable;
  text += "\nbackend answers\n";
  text += Affinity(plan);
  text += kHealth;
  text += Servers(plan, Checks::kOwn, /*has_cookie=*/false);
  text += "\nbackend others\n    balance leastconn\n";
  text += Servers(plan, Checks::kOfAnswers, /*has_cookie=*/false);
  // The page and its requests concern one server.
  text += fmt::format(
      "\nbackend page\n    balance leastconn\n    cookie aster-server insert indirect nocache "
      "httponly{} attr SameSite=Strict\n",
      plan.certificate.empty() ? "" : " secure");
  return text + Servers(plan, Checks::kOfAnswers, /*has_cookie=*/true);
}

}  // namespace aster::cli
