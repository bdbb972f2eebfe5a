// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Converts our values to protobuf messages. Must not know how messages are sent.
#pragma once

#include <functional>
#include <string_view>

#include "base/result.h"
#include "rpc/control_service.h"

namespace aster::cluster::v1 {
class Description;
class DrainReply;
class DrainRequest;
class Gossip;
class Hash;
class JoinReply;
class JoinRequest;
class ManifestPart;
class NodeStatus;
class SessionPart;
class SessionReceipt;
class WeightsOffer;
class WeightsOfferReply;
}  // namespace aster::cluster::v1

namespace aster::rpc {

namespace v1 = cluster::v1;

// Each fills an empty message. Names for users are made safe to show, and short.
void ToMessage(const Hash128& hash, v1::Hash* message);
void ToMessage(const cluster::JoinRequest& request, v1::JoinRequest* message);
void ToMessage(const cluster::JoinReply& reply, v1::JoinReply* message);
void ToMessage(const Gossip& gossip, v1::Gossip* message);
void ToMessage(const cluster::Description& description, v1::Description* message);
void ToMessage(const cluster::NodeStatus& status, v1::NodeStatus* message);
void ToMessage(const SessionPart& part, v1::SessionPart* message);
void ToMessage(const SessionReceipt& receipt, v1::SessionReceipt* message);
void ToMessage(const WeightsOffer& offer, v1::WeightsOffer* message);
void ToMessage(const DrainRequest& request, v1::DrainRequest* message);

// Passes the manifest on in parts of at most kPieceBytes and a little.
Status ToParts(const ModelManifest& manifest,
               const std::function<Status(const v1::ManifestPart& part)>& send);

}  // namespace aster::rpc
