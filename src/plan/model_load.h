// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What computing a model takes, in numbers that plans are made from. Must not know nodes or plans.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "model/memory.h"
#include "plan/group_memory.h"

namespace aster::plan {

// What a model asks of the nodes that compute it.
struct ModelLoad {
  struct Layer {
    uint64_t bytes = 0;     // of weights
    double read_bytes = 0;  // of them for one token: a router picks few of the experts
  };
  std::vector<Layer> layers;
  std::vector<bool> may_begin;  // by layer: whether a node's layers can begin with it; none: all
  uint64_t embedding_bytes = 0;
  uint64_t head_bytes = 0;
  uint64_t next_bytes = 0;          // of these, an MTP block's, which not every token reads
  bool tied_head = false;           // the head is the embedding once more
  uint64_t kv_bytes_per_layer = 0;  // of KV cache
  double flops_per_layer = 0;       // of one token, with its attention to `context` others
  double head_flops = 0;
  double kv_read_bytes = 0;        // of one layer, for one token after `context` others
  double kv_row_bytes = 0;         // of one layer and token, between nodes
  uint64_t row_bytes = 0;          // between stages, of one token
  uint64_t gpu_scratch_bytes = 0;  // beside layers, on each GPU that has any
  uint32_t context = 0;

  // What a token looks back at, of layers that do so alike: positions before it, the nearest of
  // them.
  struct LookBack {
    uint64_t positions = 0;  // most; 0: all
    double flops = 0;        // for each, in all of these layers
    double read_bytes = 0;
  };
  double matrix_flops = 0;  // of one token in all layers, without attention
  std::vector<LookBack> look_back;
  void AddLookBack(const LookBack& added);
  // In one layer, on average. Where neither is known, as at `context`.
  double FlopsPerLayer(uint32_t positions) const;
  double KvReadBytes(uint32_t positions) const;
  // As for a request behind a text whose KV rows are there: tokens of its prompt see that and half
  // of the prompt, on average, and so on.
  void PrepareFor(uint32_t prompt_tokens, uint32_t answer_tokens, uint32_t held_tokens = 0);

  // What a group of nodes, which compute every layer together, divides and sends one another.
  struct Together {
    uint32_t heads = 0;           // that are divided, or groups of them; 0: no group can compute it
    uint64_t whole_bytes = 0;     // of the layers and their KV cache, that every node has
    double whole = 0;             // of what a token reads of all layers, from 0 to 1, on every node
    double by_heads = 0;          // of the same, divided by heads: the rest is divided by rows
    double gathers = 4;           // in one layer, one after the other; in the mean
    uint64_t gathered_bytes = 0;  // of a token, in one layer
    uint64_t logit_bytes = 0;     // of a token, to the node that leads
    bool is_new = false;          // nodes that speak protocol 9 or less do not divide its family

    // Where nodes own experts, in place of rows of all.
    struct Experts {
      uint32_t count = 0;  // in a layer, from which a router chooses; 0: none may be owned
      uint32_t used = 0;   // of them by a token
      bool has_shared = false;
      double reads = 0;             // of what a token reads of all layers, from 0 to 1
      uint64_t bytes = 0;           // of all layers, without shared ones
      uint64_t shared_bytes = 0;    // likewise of those, which every node has
      double gathers = 3;           // in one layer
      uint64_t gathered_bytes = 0;  // of a token, in one layer
      uint64_t sum_bytes = 0;       // likewise, which each node sends beside
    };
    Experts experts = {};
    GroupMemory memory = {};
  };
  Together together;

 private:
  double PerLayer(uint32_t positions, double LookBack::* of_position) const;
};

// Of files that need not hold their data. `kv_positions`: tokens in the KV cache, of all sequences
// together.
Result<ModelLoad> LoadOf(const gguf::ModelFiles& files, const model::MemoryOptions& memory,
                         uint64_t kv_positions, uint32_t context);

}  // namespace aster::plan
