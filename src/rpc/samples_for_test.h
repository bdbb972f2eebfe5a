// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Values with something in every field. Must not know how they are sent.
#pragma once

#include <string>
#include <vector>

#include "rpc/control_service.h"

namespace aster::rpc {

inline cluster::Member SampleMember(uint64_t number = 1) {
  return {.node = {{.low = number, .high = 7}},
          .name = "desk-" + std::to_string(number),
          .control_addresses = {"192.168.1.2:7424", "[fe80::1]:7424"},
          .data_addresses = {"192.168.1.2:7425"},
          .incarnation = 3,
          .heartbeat = 99,
          .state = cluster::MemberState::kSuspect,
          .description_version = 5,
          .signature = std::string("\x30\x00\xff", 3)};
}

inline Gossip SampleGossip() {
  return {.members = {SampleMember(1), SampleMember(2)},
          .revocations_serial = 4,
          .revocations = "a list\nof lines\n",
          .certificates = {"pem 1", "pem 2"},
          .buckets = {7, 0, UINT32_MAX},
          .wanted = {{{.low = 1, .high = 7}}}};
}

inline cluster::Description SampleDescription() {
  cluster::HeldModel model{.fingerprint = {.low = 1, .high = 2},
                           .name = "Gute Wörter 7B",
                           .architecture = "llama",
                           .layer_count = 32,
                           .layers = {{.begin = 0, .end = 8}, {.begin = 16, .end = 32}},
                           .embedding = true,
                           .head = false,
                           .tensor_bytes = 1234567890123};
  return {.node = {{.low = 5, .high = 6}},
          .name = "desk",
          .version = "0.1.0",
          .protocol = 6,
          .arithmetic = 3,
          .core_count = 16,
          .instruction_set = "avx512",
          .memory_bytes = 60 << 20,
          .memory_total_bytes = 64 << 20,
          .multiply_flops_per_s = 1.5e12,
          .memory_bytes_per_s = 2.5e10,
          .models = {model, cluster::HeldModel()},
          .devices = {{.name = "Radeon",
                       .memory_bytes = uint64_t{24} << 30,
                       .multiply_flops_per_s = 5e13,
                       .memory_bytes_per_s = 7e11,
                       .bus_round_trip_ns = 40'000,
                       .bus_bytes_per_s = 1.2e10,
                       .shares_memory = true},
                      cluster::DeviceDescription()},
          .gpu_layers = 12,
          .drafters = {{.model = "nova",
                        .drafter = "comet",
                        .fingerprint = {1, 2},
                        .vocabulary = {3, 4},
                        .tokens_per_s = 810},
                       cluster::DrafterDescription()}};
}

inline cluster::NodeStatus SampleStatus() {
  cluster::SliceStatus slice{.route = 1,
                             .model = "m",
                             .fingerprint = {.low = 3, .high = 4},
                             .layers = {.begin = 2, .end = 9},
                             .embedding = true,
                             .head = true,
                             .is_ready = true,
                             .done_bytes = 5,
                             .total_bytes = 6,
                             .weight_bytes = 7,
                             .kv_held_bytes = 8,
                             .kv_budget_bytes = 9,
                             .sequences = 10,
                             .queued_frames = 11,
                             .frames = 12,
                             .tokens = 13,
                             .queue_ns = 14,
                             .compute_ns = 15,
                             .bytes_out = 16,
                             .gpu_layers = 17};
  cluster::LinkStatus link{.peer = {{.low = 1, .high = 0}},
                           .is_up = true,
                           .round_trip_ns = 70'000,
                           .bytes_per_s = 1e9,
                           .sent_bytes = 1,
                           .received_bytes = 2};
  return {.node = {{.low = 5, .high = 6}},
          .name = "desk",
          .uptime_ms = 77,
          .memory_used_bytes = 78,
          .slices = {slice},
          .links = {link},
          .members = {SampleMember(5), SampleMember(6)},
          .disk_cache = {{.bytes = 21,
                          .bytes_limit = 22,
                          .files = 23,
                          .loaded_tokens = 24,
                          .loaded_bytes = 25,
                          .looked_for_pages = 27,
                          .found_pages = 26}},
          .rates = {{.model = "nova",
                     .fingerprint = {7, 8},
                     .layers = {2, 5},
                     .head = true,
                     .part = 0.25,
                     .decode = {.ns = 31, .rows = 1, .context = 32},
                     .prefill = {.ns = 33, .rows = 256, .context = 34, .waited_ns = 35}}},
          .is_drained = true,
          .leaving = 3,
          .load = 1.5,
          .battery = {{.charge = 0.25, .discharges = true}}};
}

inline cluster::JoinRequest SampleJoinRequest() {
  return {.invitation = "K7QMP",
          .name = "laptop",
          .certificate_request = "-----BEGIN",
          .proof = std::string("\xff\x00 any bytes", 12),
          .wall_s = 1'800'000'000};
}

inline cluster::JoinReply SampleJoinReply() {
  return {.cluster_name = "home",
          .ca_certificate = "pem 1",
          .certificate = "pem 2",
          .revocations = "serial 0\n",
          .proof = "\xfe\xff"};
}

inline SessionPart SampleSessionPart() {
  return {.content = {.low = 1, .high = 2},
          .name = "talk",
          .total_bytes = 1000,
          .offset = 990,
          .data = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
          .is_last = true,
          .transfer = {.low = 3, .high = 4}};
}

}  // namespace aster::rpc
