// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/from_message.h"

#include <aster/cluster/v1/control.pb.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/utf8.h"
#include "cluster/membership_state.h"
#include "rpc/limits.h"

namespace aster::rpc {
namespace {

Status CheckSize(uint64_t size, uint64_t limit, std::string_view what) {
  if (size <= limit) return Ok();
  return InvalidArgument(fmt::format("{} {}: at most {} are possible", size, what, limit));
}

// A text that users will see.
Result<std::string> Shown(const std::string& text, std::string_view what) {
  TRY(CheckSize(text.size(), kMaxTextBytes, "bytes").In(what));
  if (ForDisplay(text) != text)
    return InvalidArgument(fmt::format("{}: a character that cannot be printed", what));
  return text;
}

Result<double> Rate(double rate, std::string_view what) {
  if (std::isfinite(rate) && rate >= 0) return rate;
  return InvalidArgument(fmt::format("{}: {} is no rate", what, rate));
}

Result<NodeId> Node(const v1::Hash& message) {
  const NodeId node{FromMessage(message)};
  if (node == NodeId()) return InvalidArgument("a node's id is missing");
  return node;
}

Result<std::string> NodeName(const std::string& name) {
  TRY(cluster::CheckNodeName(name));
  return name;
}

Result<cluster::Member> FromMember(const v1::Member& message) {
  TRY(CheckSize(message.control_addresses_size(), cluster::kMaxAddresses, "addresses"));
  TRY(CheckSize(message.data_addresses_size(), cluster::kMaxAddresses, "addresses"));
  if (message.state() < v1::Member::ALIVE || message.state() > v1::Member::LEFT)
    return InvalidArgument(fmt::format("{} is no state of a member", int{message.state()}));
  cluster::Member member;
  member.node = {FromMessage(message.node())};
  member.name = message.name();
  member.control_addresses = {message.control_addresses().begin(),
                              message.control_addresses().end()};
  member.data_addresses = {message.data_addresses().begin(), message.data_addresses().end()};
  member.incarnation = message.incarnation();
  member.heartbeat = message.heartbeat();
  member.state = static_cast<cluster::MemberState>(message.state());
  member.description_version = message.description_version();
  member.signature = message.signature();
  TRY(cluster::CheckMember(member));
  return member;
}

template <typename Messages>
Result<std::vector<cluster::Member>> FromMembers(const Messages& messages) {
  TRY(CheckSize(messages.size(), kMaxMembers, "members"));
  std::vector<cluster::Member> members;
  for (const v1::Member& message : messages)
    members.push_back(TRY(FromMember(message).In("a member's record")));
  return members;
}

Result<cluster::HeldModel> FromModel(const v1::HeldModel& message) {
  TRY(CheckSize(message.layers_size(), kMaxLayerRanges, "ranges of layers"));
  cluster::HeldModel model;
  model.fingerprint = FromMessage(message.fingerprint());
  model.name = TRY(Shown(message.name(), "a model's name"));
  model.architecture = TRY(Shown(message.architecture(), "a model's architecture"));
  model.layer_count = message.layer_count();
  uint32_t end = 0;  // of the range before
  for (const v1::LayerRange& range : message.layers()) {
    if (range.begin() < end || range.end() <= range.begin() || range.end() > model.layer_count) {
      return InvalidArgument(fmt::format("layers {} to {} of {}, after {}", range.begin(),
                                         range.end(), model.layer_count, end));
    }
    end = range.end();
    model.layers.push_back({.begin = range.begin(), .end = range.end()});
  }
  model.embedding = message.embedding();
  model.head = message.head();
  model.tensor_bytes = message.tensor_bytes();
  return model;
}

Result<cluster::SliceStatus> FromSlice(const v1::SliceStatus& message) {
  cluster::SliceStatus slice;
  slice.route = message.route();
  slice.model = TRY(Shown(message.model(), "a model's name"));
  slice.fingerprint = FromMessage(message.fingerprint());
  slice.layers = {.begin = message.layers().begin(), .end = message.layers().end()};
  if (slice.layers.begin > slice.layers.end)
    return InvalidArgument("a slice that ends before it begins");
  slice.embedding = message.embedding();
  slice.head = message.head();
  slice.is_ready = message.is_ready();
  slice.done_bytes = message.done_bytes();
  slice.total_bytes = message.total_bytes();
  slice.weight_bytes = message.weight_bytes();
  slice.kv_held_bytes = message.kv_held_bytes();
  slice.kv_budget_bytes = message.kv_budget_bytes();
  slice.sequences = message.sequences();
  slice.queued_frames = message.queued_frames();
  slice.frames = message.frames();
  slice.tokens = message.tokens();
  slice.queue_ns = message.queue_ns();
  slice.compute_ns = message.compute_ns();
  slice.bytes_out = message.bytes_out();
  slice.gpu_layers = message.gpu_layers();
  return slice;
}

Result<cluster::DeviceDescription> FromDevice(const v1::Device& message) {
  cluster::DeviceDescription device;
  device.name = TRY(Shown(message.name(), "its name"));
  device.memory_bytes = message.memory_bytes();
  device.multiply_flops_per_s = TRY(Rate(message.multiply_flops_per_s(), "the rate of products"));
  device.memory_bytes_per_s = TRY(Rate(message.memory_bytes_per_s(), "the rate of memory"));
  device.bus_round_trip_ns = message.bus_round_trip_ns();
  device.bus_bytes_per_s = TRY(Rate(message.bus_bytes_per_s(), "the rate of its bus"));
  device.shares_memory = message.shares_memory();
  return device;
}

Result<cluster::DrafterDescription> FromDrafter(const v1::Drafter& message) {
  cluster::DrafterDescription drafter;
  drafter.model = TRY(Shown(message.model(), "the model"));
  drafter.drafter = TRY(Shown(message.drafter(), "its name"));
  drafter.fingerprint = FromMessage(message.fingerprint());
  drafter.vocabulary = FromMessage(message.vocabulary());
  drafter.tokens_per_s = TRY(Rate(message.tokens_per_s(), "its rate"));
  return drafter;
}

cluster::DiskCacheStatus FromDiskCache(const v1::DiskCacheStatus& message) {
  return {.bytes = message.bytes(),
          .bytes_limit = message.bytes_limit(),
          .files = message.files(),
          .loaded_tokens = message.loaded_tokens(),
          .loaded_bytes = message.loaded_bytes(),
          .looked_for_pages = message.looked_for_pages(),
          .found_pages = message.found_pages()};
}

cluster::WorkRate::Times FromTimes(const v1::WorkRate::Times& message) {
  return {.ns = message.ns(),
          .rows = message.rows(),
          .context = message.context(),
          .waited_ns = message.waited_ns()};
}

Result<cluster::WorkRate> FromRate(const v1::WorkRate& message) {
  cluster::WorkRate rate;
  rate.model = TRY(Shown(message.model(), "a model's name"));
  rate.fingerprint = FromMessage(message.fingerprint());
  rate.layers = {.begin = message.layers().begin(), .end = message.layers().end()};
  if (rate.layers.begin > rate.layers.end)
    return InvalidArgument("a rate of layers that end before they begin");
  rate.head = message.head();
  rate.part = TRY(Rate(message.part(), "a part of a group"));
  if (rate.part <= 0 || rate.part > 1)
    return InvalidArgument(fmt::format("{} is no part of a group", rate.part));
  rate.decode = FromTimes(message.decode());
  rate.prefill = FromTimes(message.prefill());
  return rate;
}

Result<cluster::LinkStatus> FromLink(const v1::LinkStatus& message) {
  cluster::LinkStatus link;
  link.peer = TRY(Node(message.peer()));
  link.is_up = message.is_up();
  link.round_trip_ns = message.round_trip_ns();
  link.bytes_per_s = TRY(Rate(message.bytes_per_s(), "a link's rate"));
  link.sent_bytes = message.sent_bytes();
  link.received_bytes = message.received_bytes();
  return link;
}

Status CheckFileName(const std::string& name) {
  const bool is_plain = name.size() <= kMaxTextBytes && name != "." && name != ".." &&
                        name.find_first_of("/\\") == std::string::npos && ForDisplay(name) == name;
  if (is_plain) return Ok();
  return InvalidArgument(fmt::format("\"{}\" is no name of a file without folders",
                                     ForDisplay(std::string_view(name).substr(0, kMaxTextBytes))));
}

}  // namespace

Hash128 FromMessage(const v1::Hash& message) {
  return {.low = message.low(), .high = message.high()};
}

Result<cluster::JoinRequest> FromMessage(const v1::JoinRequest& message) {
  TRY(CheckSize(message.invitation().size(), kMaxInvitationBytes, "bytes of an invitation's id"));
  TRY(CheckSize(message.certificate_request().size(), kMaxPemBytes, "bytes of a request"));
  TRY(CheckSize(message.proof().size(), kMaxProofBytes, "bytes of proof"));
  cluster::JoinRequest request;
  request.invitation = message.invitation();
  request.name = TRY(NodeName(message.name()));
  request.certificate_request = message.certificate_request();
  request.proof = message.proof();
  // No clock is beyond the year 9999.
  constexpr uint64_t kMaxWallS = 253'402'300'799;
  request.wall_s = static_cast<int64_t>(std::min(message.wall_s(), kMaxWallS));
  return request;
}

Result<cluster::JoinReply> FromMessage(const v1::JoinReply& message) {
  TRY(CheckSize(message.ca_certificate().size(), kMaxPemBytes, "bytes of a certificate"));
  TRY(CheckSize(message.certificate().size(), kMaxPemBytes, "bytes of a certificate"));
  TRY(CheckSize(message.revocations().size(), kMaxRevocationsBytes, "bytes of revocations"));
  TRY(CheckSize(message.proof().size(), kMaxProofBytes, "bytes of proof"));
  cluster::JoinReply reply;
  reply.cluster_name = TRY(NodeName(message.cluster_name()).In("the cluster's name"));
  reply.ca_certificate = message.ca_certificate();
  reply.certificate = message.certificate();
  reply.revocations = message.revocations();
  reply.proof = message.proof();
  return reply;
}

Result<Gossip> FromMessage(const v1::Gossip& message) {
  TRY(CheckSize(message.revocations().size(), kMaxRevocationsBytes, "bytes of revocations"));
  Gossip gossip;
  gossip.members = TRY(FromMembers(message.members()));
  gossip.revocations_serial = message.revocations_serial();
  gossip.revocations = message.revocations();
  TRY(CheckSize(message.certificates_size(), kMaxCertificates, "certificates"));
  for (const std::string& certificate : message.certificates()) {
    TRY(CheckSize(certificate.size(), kMaxPemBytes, "bytes of a certificate"));
    gossip.certificates.push_back(certificate);
  }
  TRY(CheckSize(message.buckets_size(), cluster::kMemberBuckets, "sums over records"));
  gossip.buckets.assign(message.buckets().begin(), message.buckets().end());
  TRY(CheckSize(message.wanted_size(), kMaxCertificates, "certificates that are wanted"));
  for (const v1::Hash& node : message.wanted()) gossip.wanted.push_back(TRY(Node(node)));
  return gossip;
}

Result<cluster::Description> FromMessage(const v1::Description& message) {
  TRY(CheckSize(message.models_size(), kMaxModels, "models"));
  TRY(CheckSize(message.devices_size(), kMaxDevices, "GPUs"));
  TRY(CheckSize(message.drafters_size(), kMaxDrafters, "drafters"));
  cluster::Description description;
  description.node = TRY(Node(message.node()));
  description.name = TRY(NodeName(message.name()));
  description.version = TRY(Shown(message.version(), "the program's version"));
  description.arithmetic = message.arithmetic();
  description.protocol = message.protocol();
  description.core_count = message.core_count();
  description.instruction_set = TRY(Shown(message.instruction_set(), "the instruction set"));
  description.memory_bytes = message.memory_bytes();
  description.memory_total_bytes = message.memory_total_bytes();
  description.multiply_flops_per_s =
      TRY(Rate(message.multiply_flops_per_s(), "the rate of products"));
  description.memory_bytes_per_s = TRY(Rate(message.memory_bytes_per_s(), "the rate of memory"));
  for (const v1::HeldModel& model : message.models())
    description.models.push_back(TRY(FromModel(model).In("a model")));
  for (const v1::Device& device : message.devices())
    description.devices.push_back(TRY(FromDevice(device).In("a GPU")));
  description.gpu_layers = message.gpu_layers();
  for (const v1::Drafter& drafter : message.drafters())
    description.drafters.push_back(TRY(FromDrafter(drafter).In("a drafter")));
  return description;
}

Result<cluster::NodeStatus> FromMessage(const v1::NodeStatus& message) {
  TRY(CheckSize(message.slices_size(), kMaxSlices, "slices"));
  TRY(CheckSize(message.links_size(), kMaxLinks, "links"));
  TRY(CheckSize(message.rates_size(), kMaxSlices, "rates"));
  cluster::NodeStatus status;
  status.node = TRY(Node(message.node()));
  status.name = TRY(NodeName(message.name()));
  status.uptime_ms = message.uptime_ms();
  status.memory_used_bytes = message.memory_used_bytes();
  for (const v1::SliceStatus& slice : message.slices())
    status.slices.push_back(TRY(FromSlice(slice).In("a slice")));
  for (const v1::LinkStatus& link : message.links())
    status.links.push_back(TRY(FromLink(link).In("a link")));
  status.members = TRY(FromMembers(message.members()));
  if (message.has_disk_cache()) status.disk_cache = FromDiskCache(message.disk_cache());
  for (const v1::WorkRate& rate : message.rates())
    status.rates.push_back(TRY(FromRate(rate).In("a rate")));
  status.is_drained = message.is_drained();
  status.leaving = message.leaving();
  status.load = TRY(Rate(message.load(), "load"));
  if (message.has_battery()) {
    const double charge = TRY(Rate(message.battery().charge(), "charge"));
    status.battery = cluster::Battery{.charge = std::min(charge, 1.0),
                                      .discharges = message.battery().discharges()};
  }
  return status;
}

Result<SessionPart> FromMessage(const v1::SessionPart& message) {
  TRY(CheckSize(message.name().size(), kMaxSessionNameBytes, "bytes").In("a session's name"));
  TRY(CheckSize(message.data().size(), kPieceBytes, "bytes").In("a part of a session"));
  const uint64_t size = message.data().size();
  if (message.total_bytes() > kMaxSessionBytes || message.offset() > message.total_bytes() ||
      size > message.total_bytes() - message.offset()) {
    return InvalidArgument(fmt::format("{} bytes at {} of a session of {}", size, message.offset(),
                                       message.total_bytes()));
  }
  const Bytes data = AsBytes(message.data());
  return SessionPart{.content = FromMessage(message.content()),
                     .name = message.name(),
                     .total_bytes = message.total_bytes(),
                     .offset = message.offset(),
                     .data = {data.begin(), data.end()},
                     .is_last = message.is_last(),
                     .transfer = FromMessage(message.transfer())};
}

Result<SessionReceipt> FromMessage(const v1::SessionReceipt& message) {
  return SessionReceipt{.received_bytes = message.received_bytes(),
                        .is_kept = message.is_kept(),
                        .transfer = FromMessage(message.transfer())};
}

Result<WeightsOffer> FromMessage(const v1::WeightsOffer& message) {
  TRY(CheckSize(message.addresses_size(), cluster::kMaxAddresses, "addresses"));
  WeightsOffer offer{.fingerprint = FromMessage(message.fingerprint()), .addresses = {}};
  for (const std::string& address : message.addresses()) {
    TRY(CheckSize(address.size(), cluster::kMaxAddressBytes, "bytes of an address"));
    if (TRY(cluster::ParseHostPort(address)).port == 0)
      return InvalidArgument("an address without a port");
    offer.addresses.push_back(address);
  }
  if (offer.addresses.empty()) return InvalidArgument("weights without an address");
  return offer;
}

Result<DrainRequest> FromMessage(const v1::DrainRequest& message) {
  TRY(CheckSize(message.signature().size(), cluster::kMaxSignatureBytes, "bytes of a signature"));
  return DrainRequest{.is_drained = message.is_drained(), .signature = message.signature()};
}

Status ManifestReader::Add(const v1::ManifestPart& part) {
  if (!part.name().empty()) TRY(BeginFile(part));
  if (manifest_.files.empty()) return InvalidArgument("a manifest that begins within a file");
  FileManifest& file = manifest_.files.back();
  if (part.header().size() > header_bytes_ - file.header.size())
    return InvalidArgument(fmt::format("{}: a longer header than announced", file.name));
  const Bytes header = AsBytes(part.header());
  file.header.insert(file.header.end(), header.begin(), header.end());
  const size_t count = part.contents().size() / sizeof(Hash128);
  if (part.contents().size() % sizeof(Hash128) != 0 ||
      count > content_count_ - file.contents.size()) {
    return InvalidArgument(fmt::format("{}: more hashes than announced", file.name));
  }
  for (size_t i = 0; i < count; ++i) {
    file.contents.push_back(LoadUnaligned<Hash128>(part.contents().data() + i * sizeof(Hash128)));
  }
  return Ok();
}

Status ManifestReader::BeginFile(const v1::ManifestPart& part) {
  TRY(CheckFileIsWhole());
  TRY(CheckFileName(part.name()));
  if (manifest_.files.size() == kMaxFiles)
    return InvalidArgument(fmt::format("more than {} files", kMaxFiles));
  for (const FileManifest& file : manifest_.files) {
    if (file.name == part.name()) return InvalidArgument(fmt::format("{} occurs twice", file.name));
  }
  TRY(CheckSize(part.header_bytes(), std::min(header_bytes_left_, part.file_bytes()),
                "bytes of a header")
          .In(part.name()));
  TRY(CheckSize(part.content_count(), contents_left_, "hashes").In(part.name()));
  header_bytes_left_ -= part.header_bytes();
  contents_left_ -= part.content_count();
  header_bytes_ = part.header_bytes();
  content_count_ = part.content_count();
  FileManifest& file = manifest_.files.emplace_back();
  file.name = part.name();
  file.file_bytes = part.file_bytes();
  return Ok();
}

Status ManifestReader::CheckFileIsWhole() const {
  if (manifest_.files.empty()) return Ok();
  const FileManifest& file = manifest_.files.back();
  if (file.header.size() == header_bytes_ && file.contents.size() == content_count_) return Ok();
  return InvalidArgument(fmt::format("{}: {} of {} bytes of its header and {} of {} hashes came",
                                     file.name, file.header.size(), header_bytes_,
                                     file.contents.size(), content_count_));
}

Result<ModelManifest> ManifestReader::Finish() {
  if (manifest_.files.empty()) return InvalidArgument("a manifest without files");
  TRY(CheckFileIsWhole());
  return std::move(manifest_);
}

}  // namespace aster::rpc
