// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/kernels/latent_rows.h"

#include <algorithm>

#include "base/check.h"

namespace aster::vulkan {
namespace {

using kernels::LatentFormat;

constexpr uint32_t kWordInvocations = 64;      // of the shaders that write
constexpr uint32_t kElementInvocations = 256;  // of decode_latent.comp

struct ShapePush {
  uint32_t dim;
  uint32_t unrotated;
};

struct EncodePush {
  Address x;
  Address packed;
  uint32_t rows;
  uint32_t stride;
  uint32_t row_bytes;
  uint32_t row_words;
  ShapePush shape;
};

struct DecodePush {
  Address packed;
  Address y;
  uint32_t rows;
  uint32_t row_words;
  uint32_t stride;
  ShapePush shape;
};

struct WritePush {
  Address packed;
  Address page_table;
  Address runs;
  uint32_t row_bytes;
  uint32_t row_words;
  uint32_t rows_of_page;
  uint32_t row_step;
};

struct InputPush {
  Address values;
  Address scores;
  Address places;
  Address page_table;
  Address runs;
  uint32_t value_stride;
  uint32_t score_stride;
  uint32_t columns;
  uint32_t ratio;
};

struct PoolPush {
  Address page_table;
  Address rows;
  Address result;
  uint32_t dim;
  uint32_t columns;
  uint32_t result_stride;
};

uint32_t NumberOf(const LatentFormat& format) { return static_cast<uint32_t>(format.type); }

ShapePush ShapeOf(const LatentFormat& format) {
  return {static_cast<uint32_t>(format.dim), static_cast<uint32_t>(format.unrotated)};
}

}  // namespace

uint32_t RowBytes(const LatentFormat& format) {
  return static_cast<uint32_t>(kernels::LatentRowBytes(format));
}
uint32_t RowWords(const LatentFormat& format) { return DivideRoundingUp(RowBytes(format), 4); }

Status RecordEncodeLatent(Kernels& kernels, Commands& commands, const EncodeJob& job) {
  const EncodePush push{job.x,
                        job.packed,
                        job.rows,
                        job.stride,
                        RowBytes(job.format),
                        RowWords(job.format),
                        ShapeOf(job.format)};
  return kernels.Record(commands, "encode_latent", {NumberOf(job.format)}, push,
                        GroupsForRows(job.rows));
}

Status RecordDecodeLatent(Kernels& kernels, Commands& commands, const DecodeJob& job) {
  const DecodePush push{job.packed,           job.y,      job.rows,
                        RowWords(job.format), job.stride, ShapeOf(job.format)};
  const uint64_t elements = uint64_t{job.rows} * push.shape.dim;
  return kernels.Record(commands, "decode_latent", {NumberOf(job.format)}, push,
                        GroupsForElements(elements, kElementInvocations));
}

// Rows of one page need up to two more words than their bytes fill, as they share the first and
// last with other rows.
Status RecordWriteLatent(Kernels& kernels, Commands& commands, const WriteLatentJob& job) {
  CHECK(job.run_count <= kRowGroups);
  const WritePush push{job.packed,           job.page_table,   job.runs,    RowBytes(job.format),
                       RowWords(job.format), job.rows_of_page, job.row_step};
  const uint32_t rows = std::min(job.longest_run, job.rows_of_page);
  const uint32_t pages = DivideRoundingUp(job.longest_run - 1, job.rows_of_page) + 1;
  return kernels.Record(commands, "write_latent", {}, push,
                        {.x = DivideRoundingUp(rows * push.row_bytes / 4 + 2, kWordInvocations),
                         .y = pages,
                         .z = job.run_count});
}

Status RecordWriteInputs(Kernels& kernels, Commands& commands, const WriteInputsJob& job) {
  CHECK(job.run_count <= kRowGroups && job.longest_run <= kRowGroups);
  const InputPush push{job.values,       job.scores,  Readable(job.places, job.scores),
                       job.page_table,   job.runs,    job.value_stride,
                       job.score_stride, job.columns, job.places == 0 ? 0 : job.ratio};
  return kernels.Record(commands, "write_inputs", {}, push,
                        {.x = DivideRoundingUp(job.columns, kWordInvocations),
                         .y = job.longest_run,
                         .z = job.run_count});
}

Status RecordPool(Kernels& kernels, Commands& commands, const PoolJob& job) {
  CHECK(job.row_count <= kRowGroups);
  const PoolPush push{job.page_table, job.rows,    job.result,
                      job.dim,        job.columns, job.result_stride};
  return kernels.Record(commands, "pool", {}, push,
                        {.x = DivideRoundingUp(job.dim, kWordInvocations), .y = job.row_count});
}

}  // namespace aster::vulkan
