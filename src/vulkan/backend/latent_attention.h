// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Attention of a batch over latent rows on the device: writes rows into their pages, makes rows of
// several tokens, ranks them and computes attention for every token. Must not know weights or
// operations on heads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compute/commands.h"
#include "kernels/pages.h"
#include "vulkan/backend/batch.h"
#include "vulkan/kernels/latent_attention.h"
#include "vulkan/kernels/latent_rows.h"

namespace aster::vulkan {

// Pages of a stream of a layer, which hold rows that stand for `ratio` tokens each.
struct RowStream {
  uint32_t layer;
  uint32_t stream;
  uint32_t ratio;

  uint32_t rows_of_page() const { return kernels::kPagePositions / ratio; }
};

// Belongs to the commands of its batch.
class DeviceLatentAttention {
 public:
  DeviceLatentAttention(Kernels& kernels, Batch& batch) : kernels_(kernels), batch_(batch) {}

  // Rows whose heads are finished.
  Status WriteRows(const compute::LatentRows& rows);
  Status Compress(const compute::Compression& compression);
  Status Pool(const compute::RowPooling& pooling);
  // Rounds rows to the format.
  Status RoundRows(const kernels::LatentFormat& format, const compute::Tensor& rows);
  Status Rank(const compute::RowRanking& ranking);
  Status Attend(const compute::RowAttention& attention);

 private:
  // The inputs of rows, and where they are kept.
  struct Inputs {
    compute::PagesOf pages;
    uint32_t ratio;
    bool overlaps;
    uint32_t dim;  // of a row
    compute::Tensor values;
    compute::Tensor scores;
    compute::Tensor places;

    uint32_t columns() const { return overlaps ? 2 * dim : dim; }
    // The first token that row `index` is made of.
    uint32_t First(uint32_t index) const;
  };
  // Rows between two kernels.
  struct MadeRows {
    Range range;
    uint32_t rows;
  };
  // Rows in memory of which some are to be packed and written.
  struct PackedRows {
    Range range;
    uint32_t step;  // from one that is written to the next; 0: all are complete rows, all written
  };

  Result<Range> Encode(const kernels::LatentFormat& format, Address rows, const Range& range,
                       uint32_t stride, uint32_t count);
  Status WritePacked(const kernels::LatentFormat& format, const PackedRows& packed,
                     const RowStream& stream, std::span<const compute::PageSpan> spans);
  Status WriteInputs(const Inputs& inputs);
  Status PoolInto(const Inputs& inputs, std::span<const PooledRow> rows, const Range& out,
                  uint32_t out_stride);
  static std::vector<PooledRow> CompletedRows(const Inputs& inputs, bool in_place);
  Status FinishMade(const compute::Compression& compression, const MadeRows& made);
  Status RotateCompressed(const compute::Compression& compression, const MadeRows& made);
  Status RankTasks(const compute::RowRanking& ranking, Address pages,
                   std::span<const RankTask> tasks);
  Status ChooseBlocks(const compute::RowRanking& ranking, const Range& scores,
                      std::span<const RankTask> tasks);

  Kernels& kernels_;
  Batch& batch_;
};

}  // namespace aster::vulkan
