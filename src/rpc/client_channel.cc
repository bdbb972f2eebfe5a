// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/client_channel.h"

#include <fmt/format.h>
#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <poll.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "net/certificate.h"
#include "net/resolution.h"
#include "rpc/closing_channels.h"
#include "rpc/grpc_support.h"
#include "rpc/limits.h"

namespace aster::rpc {
namespace {

namespace tls = grpc::experimental;

// TLS proves that the peer has its certificate's key; this checks whose certificate it is.
class Verifier final : public tls::ExternalCertificateVerifier {
 public:
  explicit Verifier(std::shared_ptr<PeerCheck> check) : check_(std::move(check)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)> /*callback*/, grpc::Status* answer) override {
    const grpc::string_ref shown = request->peer_cert();
    *answer = ToGrpc(check_->Check(std::string_view(shown.data(), shown.size()),
                                   SystemClock().WallNs() / kNsPerSecond));
    return true;  // synchronous
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest* /*request*/) override {}

 private:
  const std::shared_ptr<PeerCheck> check_;
};

std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(
    const std::optional<cluster::Identity>& identity, const std::shared_ptr<PeerCheck>& check) {
  tls::TlsChannelCredentialsOptions options;
  // The verifier checks, and reports the error.
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(tls::ExternalCertificateVerifier::Create<Verifier>(check));
  if (identity.has_value()) {
    options.set_certificate_provider(std::make_shared<tls::StaticDataCertificateProvider>(
        identity->ca_certificate,
        std::vector<tls::IdentityKeyCertPair>{
            {.private_key = identity->key, .certificate_chain = identity->certificate}}));
    options.watch_root_certs();
    options.watch_identity_key_cert_pairs();
  }
  return tls::TlsCredentials(options);
}

// Addresses in gRPC's form without a lookup, all of one family.
std::vector<std::string> TargetsOf(const std::vector<net::Endpoint>& endpoints) {
  std::vector<std::pair<std::string_view, std::string>> targets;
  for (const net::Endpoint& endpoint : endpoints) {
    const std::string_view scheme = endpoint.address.ss_family == AF_INET ? "ipv4" : "ipv6";
    std::string text;
    for (const char c : endpoint.ToText()) {
      if (c == '[' || c == ']' || c == '%') {
        text += fmt::format("%{:02X}", c);
      } else {
        text += c;
      }
    }
    const auto same = std::ranges::find(targets, scheme, &decltype(targets)::value_type::first);
    if (same == targets.end()) {
      targets.emplace_back(scheme, fmt::format("{}:{}", scheme, text));
    } else {
      same->second += "," + text;
    }
  }
  std::vector<std::string> result;
  for (auto& target : targets) result.push_back(std::move(target.second));
  return result;
}

bool BecomesReady(grpc::Channel& channel, gpr_timespec deadline) {
  for (;;) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, deadline)) return false;
  }
}

}  // namespace

Status PeerCheck::Check(std::string_view certificate_pem, int64_t wall_s) {
  Status judged = Judge(certificate_pem, wall_s);
  const MutexLock lock(mu_);
  refusal_.reset();
  if (!judged.ok()) refusal_ = judged.error();
  return judged;
}

std::optional<Error> PeerCheck::refusal() const {
  const MutexLock lock(mu_);
  return refusal_;
}

Status PeerCheck::Judge(std::string_view certificate_pem, int64_t wall_s) const {
  if (!authority_.empty()) TRY(net::CheckCertificate(authority_, certificate_pem, wall_s));
  if (!expect_.has_value()) return Ok();
  const net::CertificateInfo info = TRY(net::DescribeCertificate(certificate_pem));
  if (info.node == *expect_) return Ok();
  return Error(Code::kUnauthenticated,
               fmt::format("node {} was expected there, but {} ({}) answers", expect_->ToText(),
                           info.node.ToText(), info.name));
}

Result<std::unique_ptr<ClientChannel>> ClientChannel::Make(ControlClientOptions options) {
  SendForeignLogsToOurs();
  TRY(cluster::ParseHostPort(options.address));
  net::HostPort host_port = TRY(net::ParseHostPort(options.address));
  return std::unique_ptr<ClientChannel>(
      // tidy: allow(ownership) the constructor is private
      new ClientChannel(std::move(options), std::move(host_port)));
}

ClientChannel::ClientChannel(ControlClientOptions options, net::HostPort host_port)
    : address_(options.address),
      host_port_(std::move(host_port)),
      check_(std::make_shared<PeerCheck>(
          options.identity.has_value() ? options.identity->ca_certificate : "", options.expect)),
      credentials_(MakeCredentials(options.identity, check_)) {}

ClientChannel::~ClientChannel() {
  const MutexLock lock(mu_);
  CloseOwn();
}

Result<std::shared_ptr<grpc::Channel>> ClientChannel::Get(int64_t deadline_ns) {
  {
    const MutexLock lock(mu_);
    if (channel_ != nullptr) return channel_;
  }
  std::shared_ptr<grpc::Channel> channel =
      Connect(TRY(Lookup(deadline_ns).In(address_)), deadline_ns);
  const MutexLock lock(mu_);
  if (channel_ == nullptr) {
    channel_ = std::move(channel);
    made_ns_ = clock_.NowNs();
  }
  return channel_;
}

Result<std::vector<net::Endpoint>> ClientChannel::Lookup(int64_t deadline_ns) const {
  if (host_port_.is_numeric()) return net::Resolve(host_port_);
  const auto waker = std::make_shared<net::Waker>();
  net::Resolution resolution({address_}, waker);
  for (;;) {
    waker->Reset();
    auto found = resolution.Take();
    if (found.has_value()) return std::move(*found);
    const int64_t left_ms = (deadline_ns - clock_.NowNs()) / kNsPerMs;
    if (left_ms <= 0) {
      return Error(Code::kDeadlineExceeded,
                   "looking up this name takes too long: give the machine's number instead");
    }
    pollfd waiting{.fd = waker->descriptor(), .events = POLLIN, .revents = 0};
    poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left_ms, 60'000)));
  }
}

std::shared_ptr<grpc::Channel> ClientChannel::Connect(const std::vector<net::Endpoint>& endpoints,
                                                      int64_t deadline_ns) {
  const std::vector<std::string> targets = TargetsOf(endpoints);
  // A name may have addresses of both families, and the node may listen on one of them only.
  for (size_t i = 0; i + 1 < targets.size(); ++i) {
    std::shared_ptr<grpc::Channel> channel = NewChannel(targets[i]);
    const int64_t share_ns =
        (deadline_ns - clock_.NowNs()) / static_cast<int64_t>(targets.size() - i);
    const int64_t begin_ns = clock_.NowNs();
    if (BecomesReady(*channel, DeadlineIn(std::max<int64_t>(share_ns, 0)))) return channel;
    CloseChannel(std::move(channel), begin_ns + kMostConnectingNs);
  }
  return NewChannel(targets.back());
}

std::shared_ptr<grpc::Channel> ClientChannel::NewChannel(const std::string& target) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxAnswerBytes));
  // Connections between nodes use no proxy, and no service configuration from name servers.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // A failed channel is replaced, so it needs no waiting and no shared connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);  // limit for connecting
  // With its bandwidth probe, gRPC 1.51 sometimes fails to ask for more bytes: a stream stalls
  // until the next ping. This window keeps 10 Gbit/s over 3 ms busy.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 4 << 20);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  return grpc::CreateCustomChannel(target, credentials_, arguments);
}

void ClientChannel::CloseOwn() {
  if (channel_ == nullptr) return;
  CloseChannel(std::exchange(channel_, nullptr), made_ns_ + kMostConnectingNs);
}

Error ClientChannel::Explain(const std::shared_ptr<grpc::Channel>& channel,
                             const grpc::Status& status) {
  const Error error = FromGrpc(status);
  if (error.code() == Code::kUnavailable || error.code() == Code::kDeadlineExceeded) {
    // The next call makes a new one at once.
    const MutexLock lock(mu_);
    if (channel_ == channel) CloseOwn();
  }
  const auto explained = [&](std::string_view text) {
    return Error(error.code(), fmt::format("{}: {}", address_, text));
  };
  switch (error.code()) {
    case Code::kUnavailable:
      return ExplainUnavailable(error);
    case Code::kDeadlineExceeded:
      return explained("no answer in time: is the machine on, and reachable from here?");
    case Code::kUnimplemented:
      if (error.message().empty())
        return explained("the aster there does not know this call: is it an older version?");
      break;
    default:
      break;
  }
  return explained(error.message().empty() ? CodeName(error.code()) : error.message());
}

Error ClientChannel::ExplainUnavailable(const Error& error) const {
  const auto says = [&](std::string_view text) {
    return error.message().find(text) != std::string::npos;
  };
  std::string_view advice;
  if (says("Connection refused")) {
    advice = "no program listens there: is aster node running on that machine?";
  } else if (const std::optional<Error> refusal = check_->refusal()) {
    return Error(*refusal).In(address_);
  } else if (says("handshake")) {
    advice = "the program there is no node: is it the control plane's port?";
  }
  if (!advice.empty()) return {error.code(), fmt::format("{}: {}", address_, advice)};
  return {error.code(), fmt::format("{}: {}", address_, error.message())};
}

}  // namespace aster::rpc
