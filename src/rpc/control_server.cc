// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/control_server.h"

#include <aster/cluster/v1/control.grpc.pb.h>
#include <fmt/format.h>
#include <grpc/grpc_security.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <utility>

#include "net/certificate.h"
#include "net/socket.h"
#include "rpc/acceptor.h"
#include "rpc/call_slots.h"
#include "rpc/from_message.h"
#include "rpc/grpc_support.h"
#include "rpc/grpc_threads.h"
#include "rpc/limits.h"
#include "rpc/to_message.h"

namespace aster::rpc {
namespace {

constexpr std::string_view kJoinPath = "/aster.cluster.v1.Cluster/Join";

// The node of the connection's certificate, which TLS has checked; nullopt: none was shown.
Result<std::optional<NodeId>> CallerOf(const grpc::AuthContext& context) {
  const auto shown = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (shown.empty()) return std::optional<NodeId>();
  return std::optional(
      TRY(net::NodeIdOfCertificate(std::string_view(shown.front().data(), shown.front().size()))));
}

Error Unauthenticated() {
  return {Code::kUnauthenticated,
          "no certificate of this cluster: join it first, with aster cluster join"};
}

// Checks each call when only its name has been read: callers without a certificate may call only
// Join.
class Gatekeeper final : public grpc::AuthMetadataProcessor {
 public:
  explicit Gatekeeper(ControlService& service) : service_(service) {}

  bool IsBlocking() const override { return false; }

  grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext* context,
                       OutputMetadata* /*consumed*/, OutputMetadata* /*response*/) override {
    const auto path = metadata.find(":path");
    if (path != metadata.end() &&
        std::string_view(path->second.data(), path->second.size()) == kJoinPath) {
      return grpc::Status::OK;
    }
    return ToGrpc(CheckCaller(*context));
  }

 private:
  Status CheckCaller(const grpc::AuthContext& context) {
    const std::optional<NodeId> caller = TRY(CallerOf(context));
    if (caller.has_value()) return service_.Admit(*caller);
    return Unauthenticated();
  }

  ControlService& service_;
};

// Calls must have a deadline that is not too far away, and are limited in number.
class ClusterCalls final : public v1::Cluster::Service {
 public:
  ClusterCalls(ControlService& service, Acceptor& acceptor)
      : service_(service), acceptor_(acceptor) {}

  grpc::Status Join(grpc::ServerContext* context, const v1::JoinRequest* request,
                    v1::JoinReply* reply) override {
    return AnswerAnyNode(*context, [&](const NodeId& /*from*/) -> Status {
      ToMessage(TRY(service_.Join(TRY(FromMessage(*request)))), reply);
      return Ok();
    });
  }

  grpc::Status Exchange(grpc::ServerContext* context, const v1::Gossip* request,
                        v1::Gossip* reply) override {
    return Answer(*context, [&](const NodeId& from) -> Status {
      ToMessage(TRY(service_.Exchange(from, TRY(FromMessage(*request)))), reply);
      return Ok();
    });
  }

  grpc::Status Describe(grpc::ServerContext* context, const v1::DescribeRequest* /*request*/,
                        v1::Description* reply) override {
    return Answer(*context, [&](const NodeId& /*from*/) -> Status {
      ToMessage(TRY(service_.Describe()), reply);
      return Ok();
    });
  }

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest* /*request*/,
                         v1::NodeStatus* reply) override {
    return Answer(*context, [&](const NodeId& /*from*/) -> Status {
      ToMessage(TRY(service_.GetStatus()), reply);
      return Ok();
    });
  }

  grpc::Status Measure(grpc::ServerContext* context, const v1::MeasureRequest* request,
                       grpc::ServerWriter<v1::Piece>* writer) override {
    return Answer(*context, [&](const NodeId& from) -> Status {
      if (request->has_become_slow()) service_.OnSlowLink(from);
      if (request->bytes() > kMaxMeasuredBytes) {
        return InvalidArgument(fmt::format("{} bytes to measure with: at most {} are possible",
                                           request->bytes(), kMaxMeasuredBytes));
      }
      v1::Piece piece;
      for (uint64_t left = request->bytes(); left > 0; left -= piece.data().size()) {
        piece.mutable_data()->resize(std::min<uint64_t>(left, kPieceBytes));
        TRY(Write(*writer, piece));
      }
      return Ok();
    });
  }

  grpc::Status PutSession(grpc::ServerContext* context, const v1::SessionPart* request,
                          v1::SessionReceipt* reply) override {
    return Answer(*context, [&](const NodeId& from) -> Status {
      ToMessage(TRY(service_.PutSession(from, TRY(FromMessage(*request)))), reply);
      return Ok();
    });
  }

  grpc::Status OfferWeights(grpc::ServerContext* context, const v1::WeightsOffer* request,
                            v1::WeightsOfferReply* /*reply*/) override {
    return Answer(*context, [&](const NodeId& from) -> Status {
      return service_.OfferWeights(from, TRY(FromMessage(*request)));
    });
  }

  grpc::Status Drain(grpc::ServerContext* context, const v1::DrainRequest* request,
                     v1::DrainReply* /*reply*/) override {
    return Answer(*context, [&](const NodeId& from) -> Status {
      return service_.Drain(from, TRY(FromMessage(*request)));
    });
  }

  grpc::Status FetchManifest(grpc::ServerContext* context, const v1::FetchManifestRequest* request,
                             grpc::ServerWriter<v1::ManifestPart>* writer) override {
    return Answer(*context, [&](const NodeId& /*from*/) -> Status {
      return ToParts(TRY(service_.FetchManifest(FromMessage(request->fingerprint()))),
                     [&](const v1::ManifestPart& part) { return Write(*writer, part); });
    });
  }

  grpc::Status FetchTensor(grpc::ServerContext* context, const v1::FetchTensorRequest* request,
                           grpc::ServerWriter<v1::Piece>* writer) override {
    return Answer(*context, [&](const NodeId& /*from*/) -> Status {
      if (request->tensor().size() > kMaxTensorNameBytes)
        return InvalidArgument("a tensor's name that is longer than one can be");
      v1::Piece piece;
      return service_.FetchTensor(FromMessage(request->fingerprint()), request->tensor(),
                                  request->offset(), [&](Bytes bytes) -> Status {
                                    while (!bytes.empty()) {
                                      const Bytes next =
                                          bytes.first(std::min(bytes.size(), kPieceBytes));
                                      piece.set_data(next.data(), next.size());
                                      TRY(Write(*writer, piece));
                                      bytes = bytes.subspan(next.size());
                                    }
                                    return Ok();
                                  });
    });
  }

 private:
  template <typename Message>
  static Status Write(grpc::ServerWriter<Message>& writer, const Message& message) {
    // Waits until the caller accepts it, at most until the call's deadline.
    if (writer.Write(message)) return Ok();
    return Error(Code::kCancelled, "the caller has disconnected, or its deadline has passed");
  }

  template <typename Do>
  grpc::Status Answer(grpc::ServerContext& context, const Do& answer) {
    return AnswerAnyNode(context, [&](const NodeId& from) -> Status {
      // The gatekeeper has checked this; the check here does not rely on it.
      if (from == NodeId()) return Unauthenticated();
      return answer(from);
    });
  }

  template <typename Do>
  grpc::Status AnswerAnyNode(grpc::ServerContext& context, const Do& answer) {
    return ToGrpc([&]() -> Status {
      const int64_t left_ns = LeftUntil(context.raw_deadline());
      if (left_ns > kMaxDeadlineNs) {
        return InvalidArgument(fmt::format("a call needs a deadline, at most {} seconds away",
                                           kMaxCallNs / kNsPerSecond));
      }
      const NodeId from = TRY(CallerOf(*context.auth_context())).value_or(NodeId());
      if (from != NodeId()) AdmitConnection(context);
      const CallSlots::Slot slot = TRY(slots_.Take(from));
      return answer(from);
    }());
  }

  // The gatekeeper has admitted the caller's node: the connection is authenticated.
  void AdmitConnection(const grpc::ServerContext& context) {
    if (const auto peer = RemotePeer::FromText(context.peer())) acceptor_.Admit(*peer);
  }

  ControlService& service_;
  Acceptor& acceptor_;
  CallSlots slots_;
};

class GrpcServer final : public ControlServer {
 public:
  explicit GrpcServer(ControlService& service) : service_(service), calls_(service, acceptor_) {}
  ~GrpcServer() override {
    acceptor_.Stop();
    // Cancels running calls instead of waiting for them.
    if (server_ != nullptr) server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
  }

  const std::vector<std::string>& addresses() const override { return addresses_; }

  Status Begin(const ControlServerOptions& options);

 private:
  Status Listen(const std::vector<std::string>& addresses);
  Status TakeConnections();

  using Connections = grpc::experimental::ExternalConnectionAcceptor;

  const GrpcThreads threads_;  // first: ends after everything else
  ControlService& service_;
  Acceptor acceptor_;
  ClusterCalls calls_;
  std::vector<std::string> addresses_;
  std::unique_ptr<Connections> connections_;  // gRPC's side of the acceptor
  std::unique_ptr<grpc::Server> server_;      // last: uses the others
};

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const cluster::Identity& identity,
                                                         ControlService& service) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = identity.ca_certificate;
  options.pem_key_cert_pairs.push_back(
      {.private_key = identity.key, .cert_chain = identity.certificate});
  auto credentials = grpc::SslServerCredentials(options);
  credentials->SetAuthMetadataProcessor(std::make_shared<Gatekeeper>(service));
  return credentials;
}

void Bound(grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("control plane");
  quota.Resize(kMaxBufferedBytes);
  quota.SetMaxThreads(kMaxThreads);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxRequestBytes));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxThreads);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 5000);
  // Without the probe (see client_channel.cc) an unauthenticated message is buffered to 64 KiB at
  // most.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // Ends idle connections, and detects broken ones.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, 60000);
  // Ends connections with calls that never send a request; other clients reconnect unnoticed.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, 600'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                             static_cast<int>(kMaxDeadlineNs / kNsPerMs));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 10000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000);
  // For each ping too many, gRPC keeps an error until the connection has ended. Without strikes,
  // the bytes that the acceptor allows need less memory.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0);
  // No compression: small messages must not grow when unpacked.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
}

Status GrpcServer::Listen(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    // The first address of a name, as other machines use it.
    const net::HostPort host_port = TRY(net::ParseHostPort(address));
    const net::Endpoint endpoint = TRY(net::Resolve(host_port)).front();
    cluster::HostPort real = TRY(cluster::ParseHostPort(address));
    real.port = TRY(acceptor_.Listen(endpoint).In("cannot listen")).port();
    addresses_.push_back(real.ToText());
  }
  return Ok();
}

Status GrpcServer::TakeConnections() {
  return acceptor_.Start([this](int listener, int connection) {
    Connections::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection;
    connections_->HandleNewConnection(&parameters);
  });
}

Status GrpcServer::Begin(const ControlServerOptions& options) {
  TRY(Listen(options.listen));
  grpc::ServerBuilder builder;
  Bound(builder);
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      MakeCredentials(options.identity, service_));
  builder.RegisterService(&calls_);
  server_ = builder.BuildAndStart();
  if (server_ == nullptr)
    return Error(Code::kInternal, "the control plane cannot start: is the node's key damaged?");
  return TakeConnections();
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::Start(ControlServerOptions options,
                                                            ControlService& service) {
  SendForeignLogsToOurs();
  if (options.listen.empty()) return InvalidArgument("no address to listen at");
  auto server = std::make_unique<GrpcServer>(service);
  TRY(server->Begin(options));
  return std::unique_ptr<ControlServer>(std::move(server));
}

}  // namespace aster::rpc
