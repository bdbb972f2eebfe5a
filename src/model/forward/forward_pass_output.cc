// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The output of a forward pass: rows after layers, logits and states.

#include <algorithm>

#include "model/forward/forward_pass.h"

namespace aster::model {

bool ForwardPass::IsTapped(uint32_t layer) const {
  return std::ranges::find(taps_, layer) != taps_.end();
}

// The wanted rows after a layer; the mean of streams if there are several.
Status ForwardPass::RecordTap(uint32_t layer) {
  if (!IsTapped(layer) || tapped_.count == 0) return Ok();
  const bool is_last = layer + 1 == part_.layer_end;
  const auto& ranges = is_last ? tapped_last_.ranges : tapped_.ranges;
  const compute::Tensor tap = tap_.tensor();
  const auto stream = [&](size_t i) {
    return residual_.Columns(i * shape_.embedding, shape_.embedding);
  };
  TRY(commands_->Gather(stream(0), ranges, tap));
  for (size_t i = 1; i < shape_.streams.count; ++i) {
    size_t row = 0;
    for (const compute::RowRange& range : ranges) {
      if (range.count == 0) continue;
      TRY(commands_->Add(tap.Rows(row, range.count), stream(i).Rows(range.first, range.count), 1));
      row += range.count;
    }
  }
  if (shape_.streams.count > 1)
    TRY(commands_->Scale(tap, 1.0f / static_cast<float>(shape_.streams.count)));
  const auto at = static_cast<size_t>(std::ranges::find(taps_, layer) - taps_.begin());
  const compute::RowRange all[] = {{0, tap.rows}};
  return commands_->Gather(tap, all,
                           tap_rows_.tensor().Columns(at * shape_.embedding, shape_.embedding));
}

// The wanted outputs after the last layer.
Status ForwardPass::RecordEnd() {
  if (segments_.front().rows_as == RowsAs::kContext) return Ok();
  if (tapped_.count > 0 && !taps_.empty())
    TRY(commands_->Download(tap_rows_.tensor(), &output_.tapped));
  if (hidden_.count > 0) TRY(RecordHidden());
  if (part_.head && wanted_.count > 0) TRY(RecordHead());
  if (part_.head && stated_.count > 0) TRY(RecordStates());
  return Ok();
}

// Hidden states that are not wanted stay on the device: downloading may be slow.
Status ForwardPass::RecordHidden() {
  if (hidden_.count == residual_.rows) return commands_->Download(residual_, &output_.hidden);
  TRY(commands_->Gather(residual_, hidden_.ranges, hidden_.rows.tensor()));
  return commands_->Download(hidden_.rows.tensor(), &output_.hidden);
}

// The gathered rows after the last layer [count, embedding]; streams are merged into one row.
Result<compute::Tensor> ForwardPass::LastRows(const Gathered& gathered) {
  TRY(commands_->Gather(residual_, gathered.ranges, gathered.rows.tensor()));
  if (!latent_) return gathered.rows.tensor();
  const compute::Tensor merged = more_.tensor().Rows(0, gathered.count);
  TRY(mixer_.Merge(weights_.merge, gathered.rows.tensor(), merged));
  return merged;
}

Status ForwardPass::RecordHead() {
  // Logits of the wanted rows only. In a group the last step has computed them; the leading part
  // has all of them.
  if (exchange_ == nullptr) {
    TRY(Normalise(TRY(LastRows(wanted_)), weights_.output_norm));
    const compute::Product product[] = {{&shared_.head, operand_.get(), logits_.tensor()}};
    TRY(commands_->Multiply(product));
  }
  if (!group_.is_leader()) return Ok();
  if (shape_.logit_cap > 0.0f) TRY(commands_->Softcap(logits_.tensor(), shape_.logit_cap));
  TRY(AddBias(weights_.logit_bias, logits_.tensor()));
  return commands_->Download(logits_.tensor(), &output_.logits);
}

Status ForwardPass::RecordStates() {
  TRY(commands_->Normalise({.rows = TRY(LastRows(stated_)),
                            .weight = weights_.output_norm.tensor(),
                            .epsilon = shape_.norm_epsilon,
                            .out = states_.tensor()}));
  return commands_->Download(states_.tensor(), &output_.states);
}

}  // namespace aster::model
