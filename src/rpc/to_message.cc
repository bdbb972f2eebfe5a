// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/to_message.h"

#include <aster/cluster/v1/control.pb.h>

#include <algorithm>
#include <span>

#include "base/utf8.h"
#include "rpc/limits.h"

namespace aster::rpc {
namespace {

std::string Shown(std::string_view text) {
  std::string shown = ForDisplay(text);
  if (shown.size() > kMaxTextBytes)
    shown.resize(ValidUtf8Prefix(std::string_view(shown).substr(0, kMaxTextBytes)));
  return shown;
}

void Fill(const cluster::Member& member, v1::Member* message) {
  ToMessage(member.node.value, message->mutable_node());
  message->set_name(member.name);
  for (const std::string& address : member.control_addresses)
    message->add_control_addresses(address);
  for (const std::string& address : member.data_addresses) message->add_data_addresses(address);
  message->set_incarnation(member.incarnation);
  message->set_heartbeat(member.heartbeat);
  message->set_state(static_cast<v1::Member::State>(member.state));
  message->set_description_version(member.description_version);
  message->set_signature(member.signature);
}

void Fill(const cluster::LayerRange& range, v1::LayerRange* message) {
  message->set_begin(range.begin);
  message->set_end(range.end);
}

void Fill(const cluster::HeldModel& model, v1::HeldModel* message) {
  ToMessage(model.fingerprint, message->mutable_fingerprint());
  message->set_name(Shown(model.name));
  message->set_architecture(Shown(model.architecture));
  message->set_layer_count(model.layer_count);
  for (const cluster::LayerRange& range : model.layers) Fill(range, message->add_layers());
  message->set_embedding(model.embedding);
  message->set_head(model.head);
  message->set_tensor_bytes(model.tensor_bytes);
}

void Fill(const cluster::SliceStatus& slice, v1::SliceStatus* message) {
  message->set_route(slice.route);
  message->set_model(Shown(slice.model));
  ToMessage(slice.fingerprint, message->mutable_fingerprint());
  Fill(slice.layers, message->mutable_layers());
  message->set_embedding(slice.embedding);
  message->set_head(slice.head);
  message->set_is_ready(slice.is_ready);
  message->set_done_bytes(slice.done_bytes);
  message->set_total_bytes(slice.total_bytes);
  message->set_weight_bytes(slice.weight_bytes);
  message->set_kv_held_bytes(slice.kv_held_bytes);
  message->set_kv_budget_bytes(slice.kv_budget_bytes);
  message->set_sequences(slice.sequences);
  message->set_queued_frames(slice.queued_frames);
  message->set_frames(slice.frames);
  message->set_tokens(slice.tokens);
  message->set_queue_ns(slice.queue_ns);
  message->set_compute_ns(slice.compute_ns);
  message->set_bytes_out(slice.bytes_out);
  message->set_gpu_layers(slice.gpu_layers);
}

void Fill(const cluster::DeviceDescription& device, v1::Device* message) {
  message->set_name(Shown(device.name));
  message->set_memory_bytes(device.memory_bytes);
  message->set_multiply_flops_per_s(device.multiply_flops_per_s);
  message->set_memory_bytes_per_s(device.memory_bytes_per_s);
  message->set_bus_round_trip_ns(device.bus_round_trip_ns);
  message->set_bus_bytes_per_s(device.bus_bytes_per_s);
  message->set_shares_memory(device.shares_memory);
}

void Fill(const cluster::DrafterDescription& drafter, v1::Drafter* message) {
  message->set_model(Shown(drafter.model));
  message->set_drafter(Shown(drafter.drafter));
  ToMessage(drafter.fingerprint, message->mutable_fingerprint());
  ToMessage(drafter.vocabulary, message->mutable_vocabulary());
  message->set_tokens_per_s(drafter.tokens_per_s);
}

void Fill(const cluster::DiskCacheStatus& cache, v1::DiskCacheStatus* message) {
  message->set_bytes(cache.bytes);
  message->set_bytes_limit(cache.bytes_limit);
  message->set_files(cache.files);
  message->set_loaded_tokens(cache.loaded_tokens);
  message->set_loaded_bytes(cache.loaded_bytes);
  message->set_looked_for_pages(cache.looked_for_pages);
  message->set_found_pages(cache.found_pages);
}

void Fill(const cluster::WorkRate::Times& times, v1::WorkRate::Times* message) {
  message->set_ns(times.ns);
  message->set_rows(times.rows);
  message->set_context(times.context);
  message->set_waited_ns(times.waited_ns);
}

void Fill(const cluster::WorkRate& rate, v1::WorkRate* message) {
  message->set_model(Shown(rate.model));
  ToMessage(rate.fingerprint, message->mutable_fingerprint());
  Fill(rate.layers, message->mutable_layers());
  message->set_head(rate.head);
  message->set_part(rate.part);
  Fill(rate.decode, message->mutable_decode());
  Fill(rate.prefill, message->mutable_prefill());
}

void Fill(const cluster::LinkStatus& link, v1::LinkStatus* message) {
  ToMessage(link.peer.value, message->mutable_peer());
  message->set_is_up(link.is_up);
  message->set_round_trip_ns(link.round_trip_ns);
  message->set_bytes_per_s(link.bytes_per_s);
  message->set_sent_bytes(link.sent_bytes);
  message->set_received_bytes(link.received_bytes);
}

}  // namespace

void ToMessage(const Hash128& hash, v1::Hash* message) {
  message->set_low(hash.low);
  message->set_high(hash.high);
}

void ToMessage(const cluster::JoinRequest& request, v1::JoinRequest* message) {
  message->set_invitation(request.invitation);
  message->set_name(request.name);
  message->set_certificate_request(request.certificate_request);
  message->set_proof(request.proof);
  message->set_wall_s(static_cast<uint64_t>(std::max<int64_t>(request.wall_s, 0)));
}

void ToMessage(const cluster::JoinReply& reply, v1::JoinReply* message) {
  message->set_cluster_name(reply.cluster_name);
  message->set_ca_certificate(reply.ca_certificate);
  message->set_certificate(reply.certificate);
  message->set_revocations(reply.revocations);
  message->set_proof(reply.proof);
}

void ToMessage(const Gossip& gossip, v1::Gossip* message) {
  for (const cluster::Member& member : gossip.members) Fill(member, message->add_members());
  message->set_revocations_serial(gossip.revocations_serial);
  message->set_revocations(gossip.revocations);
  for (const std::string& certificate : gossip.certificates) message->add_certificates(certificate);
  for (const uint32_t sum : gossip.buckets) message->add_buckets(sum);
  for (const NodeId& node : gossip.wanted) ToMessage(node.value, message->add_wanted());
}

void ToMessage(const cluster::Description& description, v1::Description* message) {
  ToMessage(description.node.value, message->mutable_node());
  message->set_name(description.name);
  message->set_version(Shown(description.version));
  message->set_arithmetic(description.arithmetic);
  message->set_protocol(description.protocol);
  message->set_core_count(description.core_count);
  message->set_instruction_set(Shown(description.instruction_set));
  message->set_memory_bytes(description.memory_bytes);
  message->set_memory_total_bytes(description.memory_total_bytes);
  message->set_multiply_flops_per_s(description.multiply_flops_per_s);
  message->set_memory_bytes_per_s(description.memory_bytes_per_s);
  for (const cluster::HeldModel& model : description.models) Fill(model, message->add_models());
  for (const cluster::DeviceDescription& device : description.devices)
    Fill(device, message->add_devices());
  message->set_gpu_layers(description.gpu_layers);
  for (const cluster::DrafterDescription& drafter : description.drafters)
    Fill(drafter, message->add_drafters());
}

void ToMessage(const cluster::NodeStatus& status, v1::NodeStatus* message) {
  ToMessage(status.node.value, message->mutable_node());
  message->set_name(status.name);
  message->set_uptime_ms(status.uptime_ms);
  message->set_memory_used_bytes(status.memory_used_bytes);
  for (const cluster::SliceStatus& slice : status.slices) Fill(slice, message->add_slices());
  for (const cluster::LinkStatus& link : status.links) Fill(link, message->add_links());
  for (const cluster::Member& member : status.members) Fill(member, message->add_members());
  if (status.disk_cache) Fill(*status.disk_cache, message->mutable_disk_cache());
  for (const cluster::WorkRate& rate : status.rates) Fill(rate, message->add_rates());
  message->set_is_drained(status.is_drained);
  message->set_leaving(status.leaving);
  message->set_load(status.load);
  if (status.battery) {
    message->mutable_battery()->set_charge(status.battery->charge);
    message->mutable_battery()->set_discharges(status.battery->discharges);
  }
}

void ToMessage(const SessionPart& part, v1::SessionPart* message) {
  ToMessage(part.content, message->mutable_content());
  message->set_name(part.name);
  message->set_total_bytes(part.total_bytes);
  message->set_offset(part.offset);
  message->set_data(part.data.data(), part.data.size());
  message->set_is_last(part.is_last);
  ToMessage(part.transfer, message->mutable_transfer());
}

void ToMessage(const SessionReceipt& receipt, v1::SessionReceipt* message) {
  message->set_received_bytes(receipt.received_bytes);
  message->set_is_kept(receipt.is_kept);
  ToMessage(receipt.transfer, message->mutable_transfer());
}

void ToMessage(const WeightsOffer& offer, v1::WeightsOffer* message) {
  ToMessage(offer.fingerprint, message->mutable_fingerprint());
  for (const std::string& address : offer.addresses) message->add_addresses(address);
}

void ToMessage(const DrainRequest& request, v1::DrainRequest* message) {
  message->set_is_drained(request.is_drained);
  message->set_signature(request.signature);
}

Status ToParts(const ModelManifest& manifest,
               const std::function<Status(const v1::ManifestPart& part)>& send) {
  constexpr size_t kContentsPerPart = kPieceBytes / sizeof(Hash128);
  for (const FileManifest& file : manifest.files) {
    v1::ManifestPart part;
    part.set_name(file.name);
    part.set_file_bytes(file.file_bytes);
    part.set_header_bytes(file.header.size());
    part.set_content_count(static_cast<uint32_t>(file.contents.size()));
    TRY(send(part));
    for (Bytes left = file.header; !left.empty();) {
      const Bytes piece = left.first(std::min(left.size(), kPieceBytes));
      part.Clear();
      part.set_header(piece.data(), piece.size());
      TRY(send(part));
      left = left.subspan(piece.size());
    }
    for (std::span<const Hash128> left = file.contents; !left.empty();) {
      const auto piece = left.first(std::min(left.size(), kContentsPerPart));
      part.Clear();
      part.set_contents(piece.data(), piece.size_bytes());
      TRY(send(part));
      left = left.subspan(piece.size());
    }
  }
  return Ok();
}

}  // namespace aster::rpc
