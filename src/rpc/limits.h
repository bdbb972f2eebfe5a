// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Limits of the control plane: for nodes of the cluster, and for callers without its certificate.
// Must not know who counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace aster::rpc {

// --- Messages. A parsed message may take a hundred times its bytes (a list of empty records), so a
// request's limit is smaller than a reply's.

inline constexpr size_t kMaxRequestBytes = 256 << 10;  // some hundreds of members
inline constexpr size_t kMaxAnswerBytes = 1 << 20;
inline constexpr size_t kPieceBytes = 128 << 10;  // of data longer than one message

inline constexpr size_t kMaxMembers = 1024;
inline constexpr size_t kMaxCertificates = 64;  // per message
inline constexpr size_t kMaxModels = 4096;
inline constexpr size_t kMaxDevices = 64;
inline constexpr size_t kMaxDrafters = 64;
inline constexpr size_t kMaxLayerRanges = 1024;  // per model
inline constexpr size_t kMaxSlices = 4096;
inline constexpr size_t kMaxLinks = 4096;
inline constexpr size_t kMaxTextBytes = 255;  // names for users
inline constexpr size_t kMaxTensorNameBytes = 255;
inline constexpr size_t kMaxRevocationsBytes = 128 << 10;
inline constexpr size_t kMaxPemBytes = 16 << 10;
inline constexpr size_t kMaxProofBytes = 64;
inline constexpr size_t kMaxInvitationBytes = 64;
inline constexpr size_t kMaxSessionNameBytes = 255;
inline constexpr uint64_t kMaxSessionBytes = uint64_t{1} << 42;

// --- Manifests: all files of a model together.

inline constexpr size_t kMaxFiles = 1024;
inline constexpr uint64_t kMaxHeaderBytes = 1 << 30;
inline constexpr uint64_t kMaxContents = 1 << 20;

// --- Calls

inline constexpr uint64_t kMaxMeasuredBytes = 256 << 20;
inline constexpr int64_t kMaxCallNs = 300 * kNsPerSecond;
// Later ones are refused. gRPC rounds a deadline up in transit.
inline constexpr int64_t kMaxDeadlineNs = kMaxCallNs / 10 * 11;
inline constexpr int kMaxCallsPerNode = 24;
inline constexpr int kMaxUnauthenticatedCalls = 4;  // for all such callers together
inline constexpr int kMaxThreads = 96;
inline constexpr size_t kMaxBufferedBytes = 256 << 20;
inline constexpr size_t kMaxErrorBytes = 1024;

}  // namespace aster::rpc
