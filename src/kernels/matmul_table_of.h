// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The table of one instruction set: the product of every weight type, and how its activations are
// prepared. For the sources of one instruction set; matmul_formats.h says what `D` has.
#pragma once

#include "kernels/activation_rows.h"
#include "kernels/matmul_formats.h"
#include "kernels/matmul_table.h"
#include "kernels/matmul_tiles.h"

namespace aster::kernels {
namespace {

// `Iq2Xxs`: if the instruction set has a better way than the common one.
template <typename D, typename Iq2Xxs = IQ2_XXS<D>, typename V = typename D::V>
constexpr MatmulTable kTableOf = {
    .products = {Products<FloatTile<V, F32<V>>>::Run, Products<FloatTile<V, F16<V>>>::Run,
                 Products<Bfloat16Tile<V, BF16<V>>>::Run, Products<ScaledTile<Q8_0<D>>>::Run,
                 Products<ScaledTile<Q4_0<D>>>::Run, Products<ScaledTile<MXFP4<D>>>::Run,
                 Products<SuperTile<Q2_K<D>>>::Run, Products<SuperTile<Q4_K<D>>>::Run,
                 Products<SuperTile<Q5_K<D>>>::Run, Products<SuperTile<Q6_K<D>>>::Run,
                 Products<SuperTile<Iq2Xxs>>::Run, Products<ScaledTile<IQ4_NL<D>>>::Run,
                 Products<ScaledTile<Q5_1<D>>>::Run, Products<SuperTile<Levels<D>>>::Run},
    .prepare = {PrepareF32<V>, PrepareBF16<V>, PrepareInt8Per32<V>, PrepareInt8Per256<V>},
};

}  // namespace
}  // namespace aster::kernels
