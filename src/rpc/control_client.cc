// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/control_client.h"

#include <aster/cluster/v1/control.grpc.pb.h>
#include <fmt/format.h>
#include <grpcpp/channel.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/mutex.h"
#include "rpc/call_stream.h"
#include "rpc/client_channel.h"
#include "rpc/from_message.h"
#include "rpc/grpc_support.h"
#include "rpc/limits.h"
#include "rpc/to_message.h"

namespace aster::rpc {
namespace {

using Calls = v1::Cluster::StubInterface;

// If a stream of bytes takes longer, another call continues it.
constexpr int64_t kStreamNs = 60 * kNsPerSecond;
// The number of round trips per measurement.
constexpr int kRoundTrips = 4;

// Calls in flight. Safe for concurrent use.
class OpenCalls {
 public:
  void Cancel() EXCLUDES(mu_) {
    const MutexLock lock(mu_);
    is_cancelled_ = true;
    for (grpc::ClientContext* context : contexts_) context->TryCancel();
  }

  // Marks a call as in flight.
  class Entry {
   public:
    Entry(OpenCalls& calls, grpc::ClientContext& context) : calls_(calls), context_(context) {
      const MutexLock lock(calls_.mu_);
      calls_.contexts_.insert(&context_);
      if (calls_.is_cancelled_) context_.TryCancel();
    }
    ~Entry() {
      const MutexLock lock(calls_.mu_);
      calls_.contexts_.erase(&context_);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    OpenCalls& calls_;
    grpc::ClientContext& context_;
  };

 private:
  Mutex mu_;
  std::set<grpc::ClientContext*> contexts_ GUARDED_BY(mu_);
  bool is_cancelled_ GUARDED_BY(mu_) = false;
};

class GrpcClient final : public ControlClient {
 public:
  explicit GrpcClient(std::unique_ptr<ClientChannel> channel) : channel_(std::move(channel)) {}

  void Cancel() override { calls_.Cancel(); }

  Result<SessionReceipt> PutSession(const SessionPart& part, int64_t timeout_ns) override {
    v1::SessionPart message;
    ToMessage(part, &message);
    return Call<v1::SessionReceipt>(&Calls::PutSession, message, timeout_ns);
  }

  Status OfferWeights(const WeightsOffer& offer, int64_t timeout_ns) override {
    v1::WeightsOffer message;
    ToMessage(offer, &message);
    return Call<v1::WeightsOfferReply>(&Calls::OfferWeights, message, timeout_ns);
  }

  Status Drain(const DrainRequest& request, int64_t timeout_ns) override {
    v1::DrainRequest message;
    ToMessage(request, &message);
    return Call<v1::DrainReply>(&Calls::Drain, message, timeout_ns);
  }

  Result<cluster::JoinReply> Join(const cluster::JoinRequest& request,
                                  int64_t timeout_ns) override {
    v1::JoinRequest message;
    ToMessage(request, &message);
    return Call<v1::JoinReply>(&Calls::Join, message, timeout_ns);
  }

  Result<Gossip> Exchange(const Gossip& gossip, int64_t timeout_ns) override {
    v1::Gossip message;
    ToMessage(gossip, &message);
    return Call<v1::Gossip>(&Calls::Exchange, message, timeout_ns);
  }

  Result<cluster::Description> Describe(int64_t timeout_ns) override {
    return Call<v1::Description>(&Calls::Describe, v1::DescribeRequest(), timeout_ns);
  }

  Result<cluster::NodeStatus> GetStatus(int64_t timeout_ns) override {
    return Call<v1::NodeStatus>(&Calls::GetStatus, v1::GetStatusRequest(), timeout_ns);
  }

  Result<LinkMeasurement> Measure(uint64_t bytes, int64_t timeout_ns) override;
  Status TellSlowLink(int64_t timeout_ns) override;
  Result<ModelManifest> FetchManifest(const Hash128& fingerprint) override;
  Status FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                     const ByteSink& sink) override;

 private:
  int64_t DeadlineNs(int64_t timeout_ns) const {
    return channel_->clock().NowNs() + std::clamp<int64_t>(timeout_ns, 0, kMaxCallNs);
  }
  int64_t LeftNs(int64_t deadline_ns) const { return deadline_ns - channel_->clock().NowNs(); }

  template <typename Reply, typename Request>
  auto Call(grpc::Status (Calls::*method)(grpc::ClientContext*, const Request&, Reply*),
            const Request& request, int64_t timeout_ns)
      -> decltype(FromMessage(std::declval<Reply>())) {
    const int64_t deadline_ns = DeadlineNs(timeout_ns);
    const std::shared_ptr<grpc::Channel> channel = TRY(channel_->Get(deadline_ns));
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(LeftNs(deadline_ns)));
    const OpenCalls::Entry entry(calls_, context);
    Reply reply;
    const grpc::Status status = (*v1::Cluster::NewStub(channel).*method)(&context, request, &reply);
    if (!status.ok()) return channel_->Explain(channel, status);
    return FromMessage(reply).In(channel_->address());
  }

  // Calls take(message) for each; its error ends the call. Returns gRPC's final status.
  template <typename Message, typename Request, typename Take>
  Result<grpc::Status> Stream(const std::shared_ptr<grpc::Channel>& channel,
                              std::unique_ptr<grpc::ClientAsyncReaderInterface<Message>> (
                                  Calls::*method)(grpc::ClientContext*, const Request&,
                                                  grpc::CompletionQueue*),
                              const Request& request, int64_t timeout_ns, const Take& take) {
    const auto calls = v1::Cluster::NewStub(channel);
    grpc::ClientContext context;
    const OpenCalls::Entry entry(calls_, context);
    CallStream<Message> stream(context, timeout_ns, kSilenceNs, [&](grpc::CompletionQueue* queue) {
      return (*calls.*method)(&context, request, queue);
    });
    Message message;
    while (stream.Next(&message)) TRY(take(message));
    const grpc::Status& status = stream.Finish();
    if (!stream.has_timed_out()) return status;
    return Error(Code::kDeadlineExceeded,
                 fmt::format("{}: nothing came for {} seconds: is the machine on, and reachable "
                             "from here?",
                             channel_->address(), kSilenceNs / kNsPerSecond));
  }

  struct Took {
    int64_t ns = 0;
    int64_t behind_first_ns = 0;      // from the first piece to the end
    uint64_t behind_first_bytes = 0;  // received in that time
  };
  // Fetches as many bytes as requested.
  Result<Took> MeasureOnce(const v1::MeasureRequest& request, int64_t deadline_ns);

  const std::unique_ptr<ClientChannel> channel_;
  OpenCalls calls_;
};

double RatePerS(uint64_t bytes, int64_t duration_ns) {
  return static_cast<double>(bytes) * kNsPerSecond /
         static_cast<double>(std::max(duration_ns, kNsPerUs));
}

Result<GrpcClient::Took> GrpcClient::MeasureOnce(const v1::MeasureRequest& request,
                                                 int64_t deadline_ns) {
  const std::shared_ptr<grpc::Channel> channel = TRY(channel_->Get(deadline_ns));
  const int64_t begin_ns = channel_->clock().NowNs();
  uint64_t left = request.bytes();
  int64_t first_ns = 0;
  Took took;
  const grpc::Status status = TRY(Stream(channel, &Calls::PrepareAsyncMeasure, request,
                                         deadline_ns - begin_ns, [&](const v1::Piece& piece) {
                                           if (first_ns == 0) {
                                             first_ns = channel_->clock().NowNs();
                                           } else {
                                             took.behind_first_bytes += piece.data().size();
                                           }
                                           left -= std::min<uint64_t>(left, piece.data().size());
                                           return Ok();
                                         }));
  if (!status.ok()) return channel_->Explain(channel, status);
  if (left > 0)
    return DataLoss(fmt::format("{}: fewer bytes came than asked for", channel_->address()));
  const int64_t end_ns = channel_->clock().NowNs();
  took.ns = end_ns - begin_ns;
  took.behind_first_ns = end_ns - first_ns;
  return took;
}

Result<LinkMeasurement> GrpcClient::Measure(uint64_t bytes, int64_t timeout_ns) {
  const int64_t deadline_ns = DeadlineNs(timeout_ns);
  v1::MeasureRequest request;
  TRY(MeasureOnce(request, deadline_ns));  // connects
  int64_t round_trip_ns = kNeverNs;
  for (int i = 0; i < kRoundTrips; ++i)
    round_trip_ns = std::min(round_trip_ns, TRY(MeasureOnce(request, deadline_ns)).ns);
  LinkMeasurement link{.round_trip_ns = static_cast<uint64_t>(round_trip_ns), .bytes_per_s = 0};
  if (bytes == 0) return link;
  request.set_bytes(bytes);
  const Took took = TRY(MeasureOnce(request, deadline_ns));
  link.bytes_per_s = RatePerS(bytes, took.ns - round_trip_ns);
  // If the link was full during the round trips, these took longer, and subtracting them gives too
  // high a rate.
  if (took.behind_first_bytes > 0)
    link.bytes_per_s =
        std::min(link.bytes_per_s, RatePerS(took.behind_first_bytes, took.behind_first_ns));
  return link;
}

Status GrpcClient::TellSlowLink(int64_t timeout_ns) {
  v1::MeasureRequest request;
  request.set_has_become_slow(true);
  TRY(MeasureOnce(request, DeadlineNs(timeout_ns)));
  return Ok();
}

Result<ModelManifest> GrpcClient::FetchManifest(const Hash128& fingerprint) {
  const int64_t deadline_ns = DeadlineNs(kMaxCallNs);
  const std::shared_ptr<grpc::Channel> channel = TRY(channel_->Get(DeadlineNs(kCallNs)));
  v1::FetchManifestRequest request;
  ToMessage(fingerprint, request.mutable_fingerprint());
  ManifestReader reader(fingerprint);
  const grpc::Status status = TRY(Stream(
      channel, &Calls::PrepareAsyncFetchManifest, request, LeftNs(deadline_ns),
      [&](const v1::ManifestPart& part) { return reader.Add(part).In(channel_->address()); }));
  if (!status.ok()) return channel_->Explain(channel, status);
  return reader.Finish().In(channel_->address());
}

Status GrpcClient::FetchTensor(const Hash128& fingerprint, std::string_view tensor, uint64_t offset,
                               const ByteSink& sink) {
  v1::FetchTensorRequest request;
  ToMessage(fingerprint, request.mutable_fingerprint());
  request.set_tensor(std::string(tensor));
  request.set_offset(offset);
  for (;;) {
    const std::shared_ptr<grpc::Channel> channel = TRY(channel_->Get(DeadlineNs(kCallNs)));
    const uint64_t begin = request.offset();
    const grpc::Status status =
        TRY(Stream(channel, &Calls::PrepareAsyncFetchTensor, request, kStreamNs,
                   [&](const v1::Piece& piece) -> Status {
                     TRY(sink(AsBytes(piece.data())));
                     request.set_offset(request.offset() + piece.data().size());
                     return Ok();
                   }));
    if (status.ok()) return Ok();
    const bool goes_on =
        status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && request.offset() > begin;
    if (!goes_on) return channel_->Explain(channel, status);
  }
}

}  // namespace

Result<std::unique_ptr<ControlClient>> ControlClient::Make(ControlClientOptions options) {
  return std::make_unique<GrpcClient>(TRY(ClientChannel::Make(std::move(options))));
}

}  // namespace aster::rpc
