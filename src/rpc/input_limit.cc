// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "rpc/input_limit.h"

#include <linux/filter.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace aster::rpc {
namespace {

constexpr uint32_t kSequenceOffset = 4;  // in a TCP header

// The sequence number in the segment that began a connection: an IP header, then a TCP header.
std::optional<uint32_t> SequenceOf(std::span<const uint8_t> segment) {
  constexpr size_t kV6HeaderBytes = 40;
  constexpr size_t kV6NextOffset = 6;
  if (segment.empty()) return std::nullopt;
  size_t tcp_at = size_t{segment[0] & 0xfu} * 4;
  if (segment[0] >> 4 == 6) {
    if (segment.size() <= kV6NextOffset || segment[kV6NextOffset] != IPPROTO_TCP)
      return std::nullopt;
    tcp_at = kV6HeaderBytes;
  }
  if (segment.size() < tcp_at + kSequenceOffset + sizeof(uint32_t)) return std::nullopt;
  uint32_t sequence = 0;
  for (const uint8_t byte : segment.subspan(tcp_at + kSequenceOffset, sizeof(uint32_t)))
    sequence = sequence << 8 | byte;
  return sequence;
}

}  // namespace

void KeepStarts(const net::Socket& listener) {
  const int on = 1;
  setsockopt(listener.descriptor(), IPPROTO_TCP, TCP_SAVE_SYN, &on, sizeof(on));
}

bool LimitInput(const net::Socket& connection, uint32_t max_bytes) {
  std::array<uint8_t, 512> start{};
  socklen_t size = start.size();
  if (getsockopt(connection.descriptor(), IPPROTO_TCP, TCP_SAVED_SYN, start.data(), &size) != 0)
    return false;
  const auto sequence = SequenceOf(std::span(start).first(size));
  if (!sequence) return false;
  // Drops each segment that begins later than max_bytes after the connection's first byte.
  std::array<sock_filter, 5> program = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kSequenceOffset),
      BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, *sequence + 1),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, max_bytes, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  }};
  const sock_fprog filter{.len = program.size(), .filter = program.data()};
  return setsockopt(connection.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter,
                    sizeof(filter)) == 0;
}

void EndInputLimit(const net::Socket& connection) {
  const int unused = 0;  // but the system wants one
  setsockopt(connection.descriptor(), SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused));
}

}  // namespace aster::rpc
