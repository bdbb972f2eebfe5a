#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The Asterism authors
# SPDX-License-Identifier: MIT
"""Shaders with a mistake in each, for the test that the self-check finds every one.

  mutations.py [--emulated-only] GLSLC SHADER_FOLDER SHADER_LIST EMULATED_LIST OUTPUT

Copies the shaders, makes one replacement, compiles the shader that it is about, and writes all of them as one C++
source. SHADER_LIST has a line for each shader of the program: its name, its source, its definitions. Those of
EMULATED_LIST, which stand in for shaders that drivers here do not know, are compiled as they are."""

import os
import shutil
import subprocess
import sys
import tempfile

# What is wrong, which shader, which check must find it, which file, what stands there (once), what stands there then.
MUTATIONS = [
    ("AFlushIsMissing", "arithmetic", "arithmetic", "exact.glsl", "return flushed(product);", "return product;"),
    ("ALostBitIsForgotten", "arithmetic", "arithmetic", "in_integers.glsl",
     "high << rest << 1 | min(lost, 1u)", "high << rest << 1"),
    ("TiesGoAway", "arithmetic", "arithmetic", "in_integers.glsl", "(rest == kSign && (high & 0x100u) != 0u)",
     "rest == kSign"),
    ("RoundingIsTowardsZero", "arithmetic", "arithmetic", "in_integers.glsl",
     " + uint(rest > kSign || (rest == kSign && (high & 0x100u) != 0u))", ""),
    ("ADivisionIsTruncated", "arithmetic", "arithmetic", "in_integers.glsl",
     "if (uint(remainder) << 1 > mb) ++quotient;", ""),
    ("ARootIsTruncated", "arithmetic", "arithmetic", "in_integers.glsl", "if (uint(remainder) > s) ++s;", ""),
    ("HalvesRoundUp", "arithmetic", "arithmetic", "conversions.glsl", "0xfffu +", "0x1000u +"),
    ("Bfloat16RoundsUp", "arithmetic", "arithmetic", "conversions.glsl", "0x7fffu +", "0x8000u +"),

    ("AScaleHasAnotherDivisor", "prepare_per_32", "activations", "prepare.glsl", "divide(FLOAT(largest), 127.0)",
     "divide(FLOAT(largest), 128.0)"),
    ("QuantsAreTruncated", "prepare_per_256", "activations", "prepare.glsl", "roundEven(", "trunc("),
    ("SmallGroupsAreKept", "prepare_per_32", "activations", "prepare.glsl", "0x08800000u", "0x07800000u"),
    ("AStartIsOffByOne", "prepare_per_32", "activations", "prepare_per_32.comp", "-128 * sums[g]", "-127 * sums[g]"),
    ("ASumLacksItsSecondHalf", "prepare_per_256", "activations", "prepare_per_256.comp",
     "sums[s] + sums[s + 1u], sums[s + 2u]", "sums[s], sums[s + 2u]"),
    ("Bfloat16IsCutOff", "prepare_floats", "activations", "prepare_floats.comp",
     "to_bfloat16(value_at(row, 2u * word + 1u)) << 16", "BITS(value_at(row, 2u * word + 1u)) & 0xffff0000u"),
    ("AGatheredWordIsElsewhere", "gather_prepared", "activations", "gather_prepared.comp",
     "push.to.at[to.words + word * to.group_rows]", "push.to.at[to.words + word]"),

    ("AProductIsRoundedTwice", "product_few_q8_0", "products with Q8_0", "product_few.comp",
     "acc = fused_normal(terms.dot, terms.scale, acc);", "acc = add(acc, mul(terms.dot, terms.scale));"),
    ("UnitsComeBackwards", "product_few_q4_k", "products with Q4_K", "product_few.comp",
     "for (uint u = 0u; u < units; ++u) {", "for (uint n = units; n > 0u; --n) { const uint u = n - 1u;"),
    ("TheLastUnitsAreDropped", "product_few_q4_k", "products with Q4_K", "product_few.comp",
     "(push.columns + 63u) / 64u * 64u / kUnitColumns", "push.columns / kUnitColumns / kStepUnits * kStepUnits"),
    ("TheLastRowIsAnother", "product_many_q8_0", "products with Q8_0", "product_rows.glsl",
     "min(ROW_GROUP * kRows + i, push.rows - 1u)", "min(ROW_GROUP * kRows + i, push.rows - 2u)"),
    ("MinimaAreAdded", "product_many_q4_k", "products with Q4_K", "product_many.comp", "fused(-float(lows[p][j])",
     "fused(float(lows[p][j])"),
    ("AWeightHasAnotherOffset", "product_few_q8_0", "products with Q8_0", "weights.glsl",
     "raw[t] ^ 0x80808080u", "raw[t] ^ 0x80808081u"),
    ("AStartIsThatOfAnotherType", "product_few_q4_0", "products with Q4_0", "weights.glsl",
     "#define START_WORD kPer32Start8", "#define START_WORD kPer32Start128"),
    ("ATableIsWrong", "product_many_mxfp4", "products with MXFP4", "weights.glsl", "0xc8643210u", "0xc8653210u"),
    ("AMinimumIsTheScale", "product_few_q2_k", "products with Q2_K", "weights.glsl", "group, lane) >> 4)",
     "group, lane) & 15u)"),
    ("AFifthBitIsItsNeighbours", "product_many_q5_k", "products with Q5_K", "weights.glsl",
     "(high >> (t + 4u) & 0x01010101u)", "(high >> (t + 3u) & 0x01010101u)"),
    ("AnOffsetIsOffByOne", "product_few_q6_k", "products with Q6_K", "weights.glsl", "offset_bytes(low, 32u)",
     "offset_bytes(low, 31u)"),
    ("AGroupScaleHasNoSign", "product_many_q6_k", "products with Q6_K", "weights.glsl",
     "bitfieldExtract(int(byte_of_pair(word, group, lane)), 0, 8)", "int(byte_of_pair(word, group, lane))"),
    ("ASignIsNotEven", "product_few_iq2_xxs", "products with IQ2_XXS", "weights.glsl", "bitCount(others)",
     "bitCount(negative)"),
    ("ALevelIsAnother", "product_few_iq4_nl", "products with IQ4_NL", "weights.glsl", "0xbfad9881u", "0xbfad9882u"),
    ("AnOffsetHasAnotherFactor", "product_many_q5_1", "products with Q5_1", "weights.glsl",
     "mul(half_in(word, lane), 0.125)", "mul(half_in(word, lane), 0.25)"),
    ("AFactorIsForgotten", "product_few_levels", "products with levels", "weights.glsl",
     "mul(half_in(word, lane), FLOAT(word_at(unit.at + 12u)))", "half_in(word, lane)"),
    ("AChainIsRoundedTwice", "product_f32", "products with F32", "product_floats.comp",
     "fused(FLOAT(word), FLOAT(other), chains.acc)",
     "add(chains.acc, mul(FLOAT(word), FLOAT(other)))"),
    ("AHalfIsItsNeighbour", "product_f16", "products with F16", "product_floats.comp", "(lane & 1u) * 16u",
     "(~lane & 1u) * 16u"),
    ("ChainsAreJoinedInAnotherOrder", "product_bf16", "products with BF16", "product_floats.comp",
     "add(chains.acc, add(chains.even, chains.odd))",
     "add(add(chains.acc, chains.even), chains.odd)"),
    ("AnAccumulatorStartsElsewhere", "product_matrix_q8_0_64", "matrix products with Q8_0", "product_matrix.comp",
     "INTS dots = FILLED(INTS, kFloatBase);", "INTS dots = FILLED(INTS, kFloatBase + 1);"),
    ("AnElementHasAnotherRowsScale", "product_matrix_q6_k_64", "matrix products with Q6_K", "product_matrix.comp",
     "const uint first = same >> 4u * n & 7u;", "const uint first = same >> 4u * n & 3u;"),
    ("ASumsHighByteIsRoundedDown", "product_matrix_q4_k_64", "matrix products with Q4_K", "product_matrix.comp",
     "sum : sum + 128 >> 8", "sum : sum >> 8"),
    ("AHighByteIsRoundedDown", "product_matrix_q6_k_64", "matrix products with Q6_K", "product_matrix.comp",
     "((pair & 0x7fff7fffu) + 0x00800080u)", "((pair & 0x7fff7fffu) + 0x00000080u)"),
    ("MatricesOfMinimaAreAdded", "product_matrix_q4_k_64", "matrix products with Q4_K", "product_matrix.comp",
     "ADD(minimum_step, -)", "ADD(minimum_step, )"),

    ("AConstantOfExpIsWrong", "elementwise", "elements", "functions.glsl", "0x3c091ef0u", "0x3c091ef1u"),
    ("AConstantOfSoftplusIsWrong", "elementwise", "elements", "functions.glsl", "0x3e92828au", "0x3e92828bu"),
    ("SiluIsAProduct", "elementwise", "elements", "functions.glsl",
     "float silu_of(float x) { return divide(x, add(1.0, exp_of(-x))); }",
     "float silu_of(float x) { return mul(x, sigmoid_of(x)); }"),
    ("AGateHasNoSlope", "elementwise", "elements", "functions.glsl",
     "a = mul(FLOAT(0x3fd9db23u), x)", "a = x"),
    ("AGeluIsThatOfSigmoid", "elementwise", "elements", "functions.glsl",
     "a = mul(x, fused(mul(x, x)", "a = mul(1.0, fused(mul(x, x)"),
    ("ACapForgetsTheSign", "elementwise", "elements", "functions.glsl",
     "flushed(ratio) < 0.0 ? -capped : capped", "capped"),
    ("ALimitIsForgotten", "elementwise", "elements", "functions.glsl", "limit < up ? limit : up", "up"),
    ("TheLastElementIsDropped", "elementwise", "elements", "elementwise.comp", "i < push.count; i += step_",
     "i + 1u < push.count; i += step_"),
    ("HalvesChangePlaces", "convert", "conversions", "convert.comp",
     "narrow(2u * word) | narrow(2u * word + 1u) << 16", "narrow(2u * word + 1u) | narrow(2u * word) << 16"),
    ("FixedPointIsTruncated", "fixed", "sums in fixed point", "fixed.glsl",
     "const bool up = tie ? (whole.x & 1u) != 0u : rest_high >= kSign;", "const bool up = false;"),
    ("ATermIsDropped", "weighted_sum", "sums in fixed point", "weighted_sum.comp", "k < (row + 1u) * push.terms_of_row",
     "k + 1u < (row + 1u) * push.terms_of_row"),

    ("ANormIsRootedAfterItsDivision", "rms_norm", "rows", "norm.glsl",
     "divide(1.0, root(add(mean, epsilon)))", "root(divide(1.0, add(mean, epsilon)))"),
    ("ANormForgetsItsFirstElements", "rms_norm", "rows", "norm.glsl",
     "uint i = t;\n  //", "uint i = t + kNormLanes;\n  //"),
    ("ANormHasNoWeights", "prepare_per_32_norm", "activations", "norm.glsl", "weighted ? mul(value, weight) : value",
     "value"),
    ("AGateHasNoLimit", "prepare_per_256_gate", "activations", "prepare.glsl", "source.second, push.limit)",
     "source.second, INFINITY)"),
    ("ASoftmaxHasNoMaximum", "softmax", "rows", "softmax.comp",
     "lanes[0][0] == MINUS_INFINITY ? 0.0 : lanes[0][0]", "0.0"),
    ("ATreeJoinsTooFew", "softmax", "rows", "lanes.glsl", "half_ > 0u;", "half_ > 1u;"),
    ("TheHighestIndexWins", "argmax", "rows", "argmax.comp", "at < index", "at > index"),
    ("ARotationIsRoundedOtherwise", "rope", "turns", "rope.comp", "fused(v, -sine, mul(u, cosine))",
     "fused(u, cosine, -mul(v, sine))"),
    ("AnInverseRotationIsForward", "rope", "turns", "rope.comp", "? -push.sines.at[angle] :",
     "? push.sines.at[angle] :"),
    ("ADifferenceIsReversed", "hadamard", "turns", "hadamard.comp", "sub(a, b)", "sub(b, a)"),
    ("ARowIsItsNeighbour", "gather_rows", "rows of tables", "gather_rows.comp", "push.indices.at[n / push.width]",
     "(push.indices.at[n / push.width] ^ 1u)"),

    ("ATieGoesToTheLast", "choose_experts", "routers", "choose_experts.comp", "score_a == score_b && a < b",
     "score_a == score_b && a > b"),
    ("ABiasCountsInTheWeights", "choose_experts", "routers", "choose_experts.comp",
     "const float score = push.scores.at[row * push.stride + chosen];",
     "const float score = rank_of(row, chosen);"),
    ("ABiasIsThatOfTheFirstExpert", "add_by_expert", "routers", "add_by_expert.comp",
     "push.ids.at[row] * push.width + i", "i"),
    ("ATableIsIgnored", "choose_experts", "routers", "choose_experts.comp",
     "if (push.is_given != 0u) expert = push.given.at[first + i];", "if (false) expert = 0u;"),
    ("AnExpertIsItsNeighbour", "product_few_q4_k", "experts with Q4_K", "product_rows.glsl",
     "2u * push.ids.at[slot]", "2u * push.ids.at[slot ^ 1u]"),
    ("ARowIsNotShared", "product_f16", "experts with F16", "product_rows.glsl",
     "/ push.sharing", "* 0u"),
    ("ARowOfAGroupIsTheFirst", "product_f16", "experts with F16", "product_rows.glsl",
     "(slot == kNoRow ? result_row(0u) : slot)", "result_row(0u)"),
    ("AGroupIsItsFirstRow", "product_f32", "experts with F32", "product_rows.glsl",
     "return push.slots.at[n];", "return push.slots.at[n - i];"),
    ("AnExpertsSlotsAreNotFilledUp", "group_experts", "routers", "group_experts.comp",
     "i < padded(count); ++i", "i < count; ++i"),
    ("ASlotIsThatOfAnotherBlock", "group_experts", "routers", "group_experts.comp", "= first + i;", "= i;"),
    ("ACommonTermIsDropped", "weighted_sum", "sums in fixed point", "weighted_sum.comp", "push.has_more != 0u",
     "false"),

    ("AConstantOfExp2IsWrong", "attend_f16_2_emulated", "pages of f16", "functions.glsl", "0x3e75fdf3u", "0x3e75fdf2u"),
    ("AWindowIsShorter", "attend_f16_2_emulated", "pages of f16", "attend.comp",
     "position >= range.y", "position > range.y"),
    ("AWindowSinkIsDropped", "attend_bf16_2_emulated", "pages of bf16", "attend.comp", "return position < range.x ||",
     "return position + 1u < range.x ||"),
    ("WhatIsNotSeenCounts", "attend_f16_2_emulated", "pages of f16", "attend.comp",
     "values[r][e] = weighted((masks[r] & bit) != 0u,", "values[r][e] = weighted(true,"),
    ("AnUnseenInfinityCounts", "attend_few_f16_2_emulated", "few rows and pages of f16", "attend_few.comp",
     "all_finite = zero == 0.0;", "all_finite = true;"),
    ("WhatOneRowSeesCountsForAll", "attend_few_f16_2_emulated", "few rows and pages of f16", "attend_few.comp",
     "if (uint(r) < kRowsOfThread && sees(seen[first_row() + uint(r)], first_position + first + p)) {",
     "if (uint(r) < kRowsOfThread) {"),
    ("KeysOfThePageBeforeAreLeft", "attend_few_f16_1_emulated", "few rows and pages of f16", "attend_few.comp",
     "if (is_some(next)) request_keys(next);", "if (is_some(next)) request_keys(page);"),
    ("AStageIsTheOneBefore", "attend_few_f16_1_emulated", "few rows and pages of f16", "attend_few.comp",
     "#define NEXT_VALUES(i) values_##i = later_values_##i;", "#define NEXT_VALUES(i)"),
    ("AScaleIsForgotten", "attend_q8_2_emulated", "pages of q8", "attend.comp",
     "mul(weights[p * kRowStride + first_row + r], scale)", "weights[p * kRowStride + first_row + r]"),
    ("AWeightIsNotRounded", "attend_bf16_2_emulated", "pages of bf16", "attend.comp",
     "= from_bfloat16(to_bfloat16(weight));", "= weight;"),
    ("ScoresAreJoinedInAnotherOrder", "attend_bf16_2_emulated", "pages of bf16", "attend.comp",
     "add(scores[r], add(even[r], odd[r]))", "add(add(scores[r], even[r]), odd[r])"),
    ("ASinkIsRoundedTwice", "attend_q8_2_emulated", "pages of q8", "attention.glsl",
     "fused(sum, factor, exp2_of(sub(sink, base)))", "add(mul(sum, factor), exp2_of(sub(sink, base)))"),
    ("PagesAreMergedBackwards", "merge_pages", "pages of f16", "merge_pages.comp",
     "uint i = 0u; i < pages; ++i) {", "uint n = pages; n > 0u; --n) { const uint i = n - 1u;"),
    ("APageIsDropped", "merge_pages", "pages of f16", "merge_pages.comp",
     "uint i = 0u; i < pages; ++i", "uint i = 0u; i + 1u < pages; ++i"),
    ("AKeyIsRotatedBack", "write_rows_f16", "rows written as f16", "written.glsl", "fused(v, -sine, mul(u, cosine))",
     "fused(v, sine, mul(u, cosine))"),
    ("ANeighbourIsOverwritten", "write_rows_f16", "rows written as f16", "write_rows.comp",
     "(is_written(even) ? 0xffffu : 0u)", "0xffffu"),
    ("AValueIsAnotherPositions", "write_rows_bf16", "rows written as bf16", "write_rows.comp",
     "value_bits(even + 1u, d));",
     "value_bits(even, d));"),
    ("AGroupHasAnotherDivisor", "write_rows_q8", "rows written as q8", "write_rows_q8.comp",
     "divide(FLOAT(largest[i]), 127.0)", "divide(FLOAT(largest[i]), 128.0)"),

    ("AWeightLosesItsUpperPlane", "attend_q8i_2_emulated", "pages of q8i", "attend_int.glsl",
     "low + (high << kPlaneBits)", "low"),
    ("AUnitIsThatOfAnotherGroup", "attend_q8i_2_emulated", "pages of q8i", "attend_int.glsl",
     "unit_for(largest[of_row], kMostWeight);", "unit_for(largest[r * kValueGroups], kMostWeight);"),
    ("AQuerysScaleIsRoundedLater", "attend_q8i_2_emulated", "pages of q8i", "attend_int.glsl",
     "fused(float(dots[r]), mul(query_scales[group * kRows + r], scale), scores[r])",
     "fused(mul(float(dots[r]), query_scales[group * kRows + r]), scale, scores[r])"),
    ("WhatIsNotSeenHasWeight", "attend_q8i_2_emulated", "pages of q8i", "attend_int.glsl",
     "if (!sees(seen[r], first_position + p)) continue;", ""),
    ("AValueIsAnotherElements", "write_rows_q8i", "rows written as q8i", "write_rows_q8.comp",
     "(p / 4u * stride + d) * 4u", "(p / 4u * stride + e) * 4u"),

    ("AnExponentIsRoundedDown", "encode_latent", "latent rows", "encode_latent.comp",
     "((bits & kMantissa) != 0u ? 1u : 0u)", "0u"),
    ("ASmallGroupHasItsOwnExponent", "encode_latent", "latent rows", "encode_latent.comp", "0x38d1b717u",
     "0x28d1b717u"),
    ("FourBitsAreRoundedDown", "encode_latent", "latent rows", "encode_latent.comp", "magnitude < 1.75",
     "magnitude < 1.85"),
    ("EightBitsAreTruncated", "encode_latent", "latent rows", "encode_latent.comp", "magnitude + 0x7ffffu",
     "magnitude + 0u"),
    ("ARowsNeighbourIsOverwritten", "write_latent", "latent rows", "write_latent.comp",
     "out_.at[word] & ~mask | bytes", "bytes"),
    ("ARowOfThePageIsAnother", "write_latent", "latent rows", "write_latent.comp",
     "page * push.rows_of_page + row - run.position;", "row - begin;"),
    ("ASmallFloatIsTwiceAsLarge", "decode_latent", "latent rows", "latent.glsl", "0x3b000000u", "0x3b800000u"),
    ("APlaceIsForgotten", "write_inputs", "compressed rows", "write_inputs.comp",
     "position % push.ratio * push.columns",
     "0u * push.columns"),
    ("TheRowBeforeGivesTheOtherHalf", "pool", "compressed rows", "pool.comp", "t >= before", "t < before"),
    ("AMeanIsRoundedTwice", "pool", "compressed rows", "pool.comp", "total = fused(weight, inputs.at[at], total);",
     "total = add(total, mul(weight, inputs.at[at]));"),
    ("ANegativeProductCounts", "rank_rows", "ranks", "rank_rows.comp", "larger(product, 0.0)", "product"),
    ("RanksHaveOneLane", "rank_rows", "ranks", "rank_rows.comp",
     "head = lane; mine && head < push.heads; head += kLanes",
     "head = lane * push.heads; mine && head < push.heads; ++head"),
    ("EqualRanksGoToTheLast", "select_rows", "ranks", "select_rows.comp", "taken < wanted",
     "taken + wanted >= counts[prefix & 255u]"),
    ("BlocksAreNotMerged", "attend_latent", "latent attention", "attend_latent.comp",
     "fused(of_block[h], new_factors[h], mul(values[e][h], old_factors[h]))", "add(of_block[h], values[e][h])"),
    ("ChosenRowsAreTheFirst", "attend_latent", "latent attention", "attend_latent.comp",
     "if (token.is_chosen != 0u)", "if (false)"),
    ("ALatentSinkIsForgotten", "attend_latent", "latent attention", "attend_latent.comp",
     "fused(sum[h], factor, exp2_of(sub(sink, base)))", "mul(sum[h], factor)"),

    ("AScaleIsRoundedUp", "encode_latent", "shared row formats", "encode_latent.comp",
     "min(divide(FLOAT(largest), 6.0), 448.0)", "min(divide(FLOAT(largest), 5.9), 448.0)"),
    ("AnElementIsScaledByAnothersGroup", "decode_latent", "shared row formats", "latent.glsl",
     "scale_of_e4m3(byte_at(row, scales + d / kF4ScaledGroup))", "scale_of_e4m3(byte_at(row, scales))"),
    ("ARowThatIsNotCompleteIsWritten", "write_latent", "shared row formats", "write_latent.comp",
     "of_run * push.row_step", "of_run"),
    ("AScoreWithoutAPlaceHasOne", "write_inputs", "shared rows", "write_inputs.comp", "if (push.ratio != 0u)", ""),
    ("ARowIsOutOfItsPlace", "pool", "shared rows", "pool.comp", "push.rows.at[5u * row + 4u]", "row"),
    ("AKeysRootIsTheRows", "gate_values", "shared rows", "gate_values.comp", "root_of_mean(lanes[1][0])",
     "root_of_mean(lanes[0][0])"),
    ("AGateLosesItsSign", "gate_values", "shared rows", "gate_values.comp", "BITS(root(least)) | BITS(fit) & kSign",
     "BITS(root(least))"),
    ("GapsAreCopied", "copy_rows", "rows with gaps", "copy_rows.comp", "row * push.from_stride", "row * push.columns"),
    ("CompressedRowsAreReadAsOthers", "attend_latent", "shared row attention", "attend_latent.comp",
     "kCompressedFormat == kFormat || i < near", "true"),
    ("AWindowEndsWithItsBlock", "attend_latent", "shared row attention", "attend_latent.comp",
     "near = token.window - min(token.window, begin);", "near = token.window;"),
    ("GivenBlocksAreTheFirst", "rank_rows", "blocks of rows", "ranks.glsl", "if (task.all_rows == 0u) return i;",
     "if (true) return i;"),
    ("AChosenRowIsThatOfItsBlock", "select_rows", "blocks of rows", "ranks.glsl",
     "if (task.all_rows == 0u) return i;", "if (true) return i;"),
    ("ABlockIsItsFirstRow", "best_of_blocks", "blocks of rows", "best_of_blocks.comp", "i < push.block_rows", "i < 1u"),
    ("TheNewestBlockIsForgotten", "select_rows", "blocks of rows", "select_rows.comp", "if (kBlocks && t == 0u)",
     "if (false)"),

    ("RowsHaveNoGaps", "elementwise", "elements", "elementwise.comp", "i / push.b_share * push.b_stride",
     "i / push.b_share * push.b_count"),
    ("ACapIsLeftOut", "attend_f16_2_emulated", "capped pages of f16", "attend.comp",
     "if (kHasCap) cap_scores(gl_LocalInvocationID.x);", ""),
    ("ACapHasAnotherSlope", "attend_q8_2_emulated", "capped pages of q8", "functions.glsl", "mul(-2.0, abs(ratio))",
     "mul(-2.0, ratio)"),
    ("ANeighboursScaleCounts", "choose_experts", "routers", "choose_experts.comp",
     "mul(weight, push.scales.at[chosen])", "mul(weight, push.scales.at[i])"),
    ("ASharedTermIsNotWeighted", "weighted_sum", "sums in fixed point", "weighted_sum.comp",
     "if (push.has_more_scores != 0u)", "if (false)"),
    ("WhatIsElsewhereCounts", "own_sums", "parts of groups", "own_sums.comp",
     "if (place == kElsewhere) continue;", ""),
    ("AnExpertHereIsAnother", "own_sums", "parts of groups", "own_sums.comp",
     "push.more.at[place * push.width + i]", "push.more.at[row * push.width + i]"),
    ("ASharedScoreIsLost", "own_sums", "parts of groups", "own_sums.comp",
     "if (push.has_more_scores != 0u)", "if (false)"),
    ("AHeadHasAnotherBeta", "delta_inputs", "delta nets", "delta_inputs.comp",
     "push.betas.at[row * push.beta_stride + head]", "push.betas.at[row * push.beta_stride]"),
    ("ADecayIsOfTheTimeAlone", "delta_inputs", "delta nets", "delta_inputs.comp",
     "mul(softplus_of(time), push.rates.at[head])", "mul(time, push.rates.at[head])"),
    ("SomethingIsBeforeTheText", "delta_convolve", "delta nets", "delta_convolve.comp",
     "float x = 0.0;  // before the text", "float x = 1.0;"),
    ("TapsComeBackwards", "delta_convolve", "delta nets", "delta_convolve.comp",
     "push.weights.at[t * push.channels + channel]",
     "push.weights.at[(push.taps - 1u - t) * push.channels + channel]"),
    ("AStateFadesBehindWhatItLearns", "delta_states_emulated", "delta nets", "delta_states.comp",
     "s[i] = fused_normal(x[i], delta, mul(decay, s[i]));", "s[i] = mul(decay, fused_normal(x[i], delta, s[i]));"),
    ("HeadsTakeKeysInARow", "delta_states_emulated", "delta nets", "delta_states.comp",
     "push.in_turn != 0u ? head % push.key_heads", "false ? head % push.key_heads"),
    ("AForeignMarkCounts", "delta_states_emulated", "delta nets", "states.glsl",
     "if (hashes.at[hash + i] != page.at[mark_word + i]) return course.page_begin;", ""),
    ("AFullPageIsForgotten", "delta_states_emulated", "delta nets", "delta_states.comp",
     "if ((position + 1u) % kPagePositions == 0u)", "if (false)"),
    ("AMarkIsOfTheNextToken", "delta_marks", "delta nets", "delta_marks.comp",
     "if (word == 4u) mark = course.position;", "if (word == 4u) mark = course.position + 1u;"),
    ("AMarkOfAFullPageStays", "delta_marks", "delta nets", "delta_marks.comp",
     "if (page > 0u && course.end < page_end) continue;", "if (page > 0u) continue;"),

    ("ColumnsComeLast", "stream_weights", "streams", "stream_weights.comp", "(pass & 1u) == 0u", "(pass & 1u) == 1u"),
    ("AnOutputIsNotDoubled", "stream_weights", "streams", "stream_weights.comp", "mul(2.0, add(", "mul(1.0, add("),
    ("StreamsAreMixedBackwards", "streams", "streams", "streams.comp",
     "square + a * push.count", "square + (push.count - 1u - a) * push.count"),
]


def shaders_of(path):
    """Name → (source, definitions)."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip()]
    return {words[0]: (words[1], words[2:]) for words in lines}


def mutated(folder, mutation):
    """Makes the replacement in the copy of the shaders."""
    name, _, _, file_name, before, after = mutation
    path = os.path.join(folder, file_name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(before) != 1:
        sys.exit(f"mutations.py: {name}: '{before}' stands {text.count(before)} times in {file_name}, not once")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(before, after))


def compiled(glslc, folder, source, definitions):
    """The words of the shader, as text."""
    command = [glslc, "--target-env=vulkan1.2", "-mfmt=num", *("-D" + one for one in definitions),
               os.path.join(folder, source + ".comp"), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main(arguments):
    without_mistakes = arguments[0] == "--emulated-only"
    glslc, shader_folder, shader_list, emulated_list, output = arguments[without_mistakes:]
    shaders = shaders_of(shader_list)
    arrays, table = [], []
    for mutation in () if without_mistakes else MUTATIONS:
        name, shader, check = mutation[:3]
        with tempfile.TemporaryDirectory() as temporary:
            folder = os.path.join(temporary, "shaders")
            shutil.copytree(shader_folder, folder)
            mutated(folder, mutation)
            words = compiled(glslc, folder, *shaders[shader])
        arrays.append(f"const uint32_t k{name}[] = {{\n{words}\n}};\n")
        table.append(f'    {{"{name}", "{shader}", "{check}", k{name}}},\n')
    emulated = []
    for name, shader in shaders_of(emulated_list).items():
        arrays.append(f"const uint32_t k_{name}[] = {{\n{compiled(glslc, shader_folder, *shader)}\n}};\n")
        emulated.append(f'  if (name == "{name}") return k_{name};\n')
    with open(output, "w", encoding="utf-8") as file:
        file.write('#include <vector>\n\n#include "vulkan/check/mutations_test_support.h"\n\n'
                   "namespace aster::vulkan {\nnamespace {\n" +
                   "".join(arrays) + "}  // namespace\n\nstd::span<const Mutation> Mutations() {\n"
                   "  static const std::vector<Mutation> mutations = {\n" + "".join(table) +
                   "  };\n  return mutations;\n}\n"
                   "std::span<const uint32_t> EmulatedShader(std::string_view name) {\n" + "".join(emulated) +
                   "  return {};\n}\n"
                   "}  // namespace aster::vulkan\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
