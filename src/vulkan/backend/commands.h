// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operations of a forward pass on a device: each is recorded into one batch, with the bits of
// the CPU back end. Must not know models.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compute/blocks.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "vulkan/backend/attention.h"
#include "vulkan/backend/batch.h"
#include "vulkan/backend/experts.h"
#include "vulkan/backend/fusion.h"
#include "vulkan/backend/latent_attention.h"
#include "vulkan/backend/ngrams.h"
#include "vulkan/backend/operand.h"
#include "vulkan/backend/states.h"
#include "vulkan/kernels/elements.h"

namespace aster::vulkan {

// Kernels, pages and context outlive it.
class DeviceCommands final : public compute::Commands {
 public:
  DeviceCommands(Kernels& kernels, DevicePages& pages, compute::Context& host, bool staged)
      : kernels_(kernels),
        host_(host),
        batch_(kernels.device(), pages, staged),
        fusion_(kernels, batch_),
        attention_(kernels, batch_, fusion_),
        experts_(kernels, batch_),
        latent_(kernels, batch_),
        preparer_{kernels, batch_, fusion_},
        pages_(pages),
        states_(kernels, batch_) {}

  std::unique_ptr<compute::Operand> NewOperand() override {
    return std::make_unique<DeviceOperand>(kernels_, batch_, fusion_);
  }

  Status Begin() override;
  Status Submit() override;
  Result<bool> Poll() override;
  Status Wait() override;

  Status Upload(std::span<const float> rows, const compute::Tensor& to) override;
  Status Download(const compute::Tensor& from, std::span<const float>* rows) override;
  Status DownloadBlocks(kernels::ActivationFormat format, const compute::Tensor& rows,
                        Bytes* blocks) override;
  Status SetInParts(compute::Operand& to, kernels::ActivationFormat format, size_t rows,
                    size_t columns) override {
    return static_cast<DeviceOperand&>(to).SetInParts(format, rows, columns);
  }
  Status UploadBlocks(Bytes blocks, compute::Operand& to,
                      const compute::BlockColumns& columns) override {
    static_cast<DeviceOperand&>(to).AddPart(blocks, columns, host_);
    return Ok();
  }
  Status Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens, size_t copies,
               const compute::Tensor& out) override;
  Status MakeAngles(const compute::AnglesOf& of, const compute::Angles& out) override;

  Status Gather(const compute::Tensor& from, std::span<const compute::RowRange> ranges,
                const compute::Tensor& to) override;
  Status Normalise(const compute::Normalisation& norm) override;
  Status Add(const compute::Tensor& rows, const compute::Tensor& more, size_t repeat) override;
  Status Gate(const compute::Tensor& gate, const compute::Tensor& up, compute::GateKind kind,
              float limit) override;
  Status Scale(const compute::Tensor& rows, float factor) override;
  Status Softcap(const compute::Tensor& rows, float cap) override;
  Status Multiply(std::span<const compute::Product> products) override;
  Status FinishHeads(std::span<const compute::Heads> heads) override;

  Status Attend(const compute::HeadAttention& attention) override {
    return attention_.Record(attention);
  }

  Status Choose(const compute::ExpertChoice& choice) override { return experts_.Choose(choice); }
  Status SumExperts(const compute::ExpertSum& sum) override { return experts_.Sum(sum); }
  Status ExpandExperts(const compute::ExpertSum& sum, const compute::Tensor& wide) override {
    return experts_.Expand(sum, wide);
  }
  Status ContractExperts(const compute::ExpertSum& sum, compute::Operand& chosen,
                         compute::Operand& shared) override {
    return experts_.Contract(sum, static_cast<DeviceOperand&>(chosen),
                             static_cast<DeviceOperand&>(shared));
  }
  Status ReadChoice(const compute::Tensor& ids, std::span<const int32_t>* choice) override;
  Status SumOwnExperts(const compute::ExpertSum& sum, const compute::OwnExperts& own) override;
  Status FinishSums(std::span<const int64_t> sums, const compute::Tensor& out) override;

  Status MakeStreamWeights(const compute::StreamWeights& weights) override;
  Status SumStreams(const compute::Tensor& streams, const compute::Tensor& numbers,
                    const compute::Tensor& out) override;
  Status SpreadStreams(const compute::Tensor& from, const compute::Tensor& numbers,
                       const compute::Tensor& streams) override;

  Status WriteRows(const compute::LatentRows& rows) override;
  Status Compress(const compute::Compression& compression) override {
    TRY(CheckLatent());
    return latent_.Compress(compression);
  }
  Status Pool(const compute::RowPooling& pooling) override {
    TRY(CheckShared());
    return latent_.Pool(pooling);
  }
  Status FinishIndexQueries(const compute::IndexQueries& queries) override;
  Status Rank(const compute::RowRanking& ranking) override {
    TRY(CheckLatent());
    return latent_.Rank(ranking);
  }
  Status AttendRows(const compute::RowAttention& attention) override {
    TRY(CheckLatent());
    return latent_.Attend(attention);
  }

  Status HashNgrams(const compute::NgramHash& hash) override {
    return vulkan::HashNgrams(pages_, host_, hash);
  }
  Status AddGatedValue(const compute::GatedValue& value) override;

  Status RunDeltaNet(const compute::DeltaNet& net) override { return states_.Run(net); }
  Status GateBySigmoid(const compute::Tensor& rows, const compute::Tensor& gates) override;

 private:
  Status CheckLatent() const { return CheckIsInUse(kernels_.use().latent, "latent attention"); }
  Status CheckShared() const {
    return CheckIsInUse(kernels_.use().shared, "rows that layers share");
  }
  void FinishOnHost();
  // Copies from the host to rows with or without gaps.
  Status Send(const Piece& piece, const compute::Tensor& to);
  Status CopyRows(const Range& from, size_t from_stride, const compute::Tensor& to);
  Status Map(const compute::Tensor& rows, ElementOperation operation, float factor);
  Status AddBias(const compute::Heads& heads);
  Status NormaliseHeads(const compute::Heads& heads);
  Status RotateHeads(const compute::Heads& heads);

  Kernels& kernels_;
  compute::Context& host_;
  Batch batch_;
  Fusion fusion_;
  DeviceAttention attention_;
  DeviceExperts experts_;
  DeviceLatentAttention latent_;
  RowPreparer preparer_;
  DevicePages& pages_;
  DeviceStates states_;
  std::optional<Buffer> cut_;    // rows to be downloaded in blocks
  compute::BlockMemory blocks_;  // for these
  bool is_submitted_ = false;    // the batch, as a whole
  // The host's work on the batch's results, once it is done.
  std::vector<std::function<void()>> when_done_;
};

}  // namespace aster::vulkan
