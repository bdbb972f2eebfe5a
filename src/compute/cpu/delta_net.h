// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Layers that keep a state for every head in place of keys and values: writes the tokens' inputs,
// computes the states at the batch's begin, then takes its tokens one after the other. Must not
// know how outputs are used.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/buffer.h"
#include "compute/commands.h"
#include "compute/context.h"

namespace aster::compute {

// Keeps its scratch memory from batch to batch. Not for concurrent use.
class CpuDeltaNet {
 public:
  explicit CpuDeltaNet(Context& context) : context_(context) {}

  Status Run(const DeltaNet& net);

 private:
  // Where the states of one sequence begin and are kept.
  struct Course {
    const PageSpan* span;
    uint32_t from;       // the position of the states `begin`
    const float* begin;  // [value_heads][key_dim][value_dim]; null: zeros
    float* kept;         // for the states at the batch's first position; null: not kept
    uint8_t* mark;       // of the page that they are kept in, or that becomes full
    bool is_there;       // `kept` has them already
  };
  // Scratch memory of a thread, for the value heads of one key head.
  struct Room {
    float* states;  // [heads][key_dim * value_dim]
    float* x;       // [tokens + taps - 1][width()]
    float* mixed;   // [tokens][width()]: a query, a key, values
    float* decays;  // [tokens][heads]
    float* betas;   // the same
  };

  void WriteInputs();
  void WriteInput(const PageSpan& span, uint32_t i) const;
  Course CourseOf(const PageSpan& span) const;
  void TakeCourse(const Course& course, size_t key_head, const Room& room) const;
  void TakeTokens(const Course& course, size_t key_head, uint32_t begin, uint32_t end,
                  const Room& room) const;
  void LoadInputs(const PageSpan& span, size_t key_head, uint32_t begin, uint32_t end,
                  const Room& room) const;
  void MakeHeads(size_t key_head, size_t tokens, const Room& room) const;
  void CopyStates(size_t key_head, const float* from, float* to, bool is_out) const;
  void FinishMarks() const;
  Room RoomOf(size_t thread);
  size_t RoomFloats() const;
  size_t value_head(size_t key_head, size_t i) const;
  size_t heads_of_key() const { return at_->value_heads / at_->key_heads; }
  size_t width() const { return 2 * at_->key_dim + heads_of_key() * at_->value_dim; }
  size_t state_floats() const { return at_->key_dim * at_->value_dim; }

  Context& context_;
  const DeltaNet* at_ = nullptr;  // during Run
  std::vector<Course> courses_;
  Buffer rooms_;  // [threads][RoomFloats()]
};

}  // namespace aster::compute
