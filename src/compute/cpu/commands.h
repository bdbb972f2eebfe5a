// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The operations on the processor: each is computed on all threads before its call returns, so a
// batch is done when it is submitted. Every other back end has to give the same results.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute/blocks.h"
#include "compute/commands.h"
#include "compute/context.h"
#include "compute/cpu/compression.h"
#include "compute/cpu/delta_net.h"
#include "compute/cpu/experts.h"
#include "compute/cpu/head_attention.h"
#include "compute/cpu/ngrams.h"
#include "compute/cpu/product.h"
#include "compute/cpu/row_attention.h"
#include "compute/cpu/row_ranking.h"

namespace aster::compute {

// The context outlives it.
class CpuCommands : public Commands {
 public:
  explicit CpuCommands(Context& context)
      : context_(context),
        head_attention_(context),
        experts_(context),
        compression_(context),
        ranking_(context),
        row_attention_(context),
        delta_net_(context) {}

  std::unique_ptr<Operand> NewOperand() override { return std::make_unique<CpuOperand>(); }

  Status Begin() override {
    blocks_.Clear();
    return Ok();
  }
  Status Submit() override { return Ok(); }
  Result<bool> Poll() override { return true; }
  Status Wait() override { return Ok(); }

  Status Upload(std::span<const float> rows, const Tensor& to) override;
  Status Download(const Tensor& from, std::span<const float>* rows) override;
  Status DownloadBlocks(kernels::ActivationFormat format, const Tensor& rows,
                        Bytes* blocks) override;
  Status SetInParts(Operand& to, kernels::ActivationFormat format, size_t rows,
                    size_t columns) override {
    return static_cast<CpuOperand&>(to).SetInParts(format, rows, columns);
  }
  Status UploadBlocks(Bytes blocks, Operand& to, const BlockColumns& columns) override {
    static_cast<CpuOperand&>(to).AddPart(blocks, columns, context_);
    return Ok();
  }
  Status Embed(const gguf::Tensor& embedding, std::span<const int32_t> tokens, size_t copies,
               const Tensor& out) override;
  Status MakeAngles(const AnglesOf& of, const Angles& out) override;

  Status Gather(const Tensor& from, std::span<const RowRange> ranges, const Tensor& to) override;
  Status Normalise(const Normalisation& norm) override;
  Status Add(const Tensor& rows, const Tensor& more, size_t repeat) override;
  Status Gate(const Tensor& gate, const Tensor& up, GateKind kind, float limit) override;
  Status Scale(const Tensor& rows, float factor) override;
  Status Softcap(const Tensor& rows, float cap) override;
  Status Multiply(std::span<const Product> products) override;
  Status FinishHeads(std::span<const Heads> heads) override;

  Status Attend(const HeadAttention& attention) override { return head_attention_.Run(attention); }

  Status Choose(const ExpertChoice& choice) override;
  Status SumExperts(const ExpertSum& sum) override { return experts_.Sum(sum); }
  Status ExpandExperts(const ExpertSum& sum, const Tensor& wide) override {
    return experts_.Expand(sum, wide);
  }
  Status ContractExperts(const ExpertSum& sum, Operand& chosen, Operand& shared) override {
    return experts_.Contract(sum, static_cast<CpuOperand&>(chosen),
                             static_cast<CpuOperand&>(shared));
  }
  Status ReadChoice(const Tensor& ids, std::span<const int32_t>* choice) override;
  Status SumOwnExperts(const ExpertSum& sum, const OwnExperts& own) override {
    return experts_.SumOwn(sum, own);
  }
  Status FinishSums(std::span<const int64_t> sums, const Tensor& out) override {
    experts_.FinishSums(sums, out);
    return Ok();
  }

  Status MakeStreamWeights(const StreamWeights& weights) override;
  Status SumStreams(const Tensor& streams, const Tensor& numbers, const Tensor& out) override;
  Status SpreadStreams(const Tensor& from, const Tensor& numbers, const Tensor& streams) override;

  Status WriteRows(const LatentRows& rows) override;
  Status Compress(const Compression& compression) override;
  Status FinishIndexQueries(const IndexQueries& queries) override;
  Status Rank(const RowRanking& ranking) override { return ranking_.Run(ranking); }
  Status AttendRows(const RowAttention& attention) override {
    return row_attention_.Run(attention);
  }
  Status Pool(const RowPooling& pooling) override;

  Status HashNgrams(const NgramHash& hash) override {
    CpuHashNgrams(context_, hash);
    return Ok();
  }
  Status AddGatedValue(const GatedValue& value) override {
    CpuAddGatedValue(context_, value);
    return Ok();
  }

  Status RunDeltaNet(const DeltaNet& net) override { return delta_net_.Run(net); }
  Status GateBySigmoid(const Tensor& rows, const Tensor& gates) override;

 private:
  Context& context_;
  CpuHeadAttention head_attention_;
  CpuExperts experts_;
  CpuCompression compression_;
  CpuRowRanking ranking_;
  CpuRowAttention row_attention_;
  CpuDeltaNet delta_net_;
  std::vector<CpuProduct> products_;
  CpuOperand cut_;      // rows to be downloaded in blocks
  BlockMemory blocks_;  // for these
};

}  // namespace aster::compute
