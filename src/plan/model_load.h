// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Bytes and operations of computing a model, from which plans are made. Must not know nodes or
// plans.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "gguf/model_files.h"
#include "model/memory/memory.h"
#include "plan/group_memory.h"

namespace aster::plan {

// The load of a model for the nodes that compute it.
struct ModelLoad {
  struct Layer {
    uint64_t bytes = 0;     // of weights
    double read_bytes = 0;  // bytes that one token reads, which uses few of the experts
  };
  std::vector<Layer> layers;
  std::vector<bool> may_begin;  // whether a slice can begin with this layer; empty: all can
  uint64_t embedding_bytes = 0;
  uint64_t head_bytes = 0;
  uint64_t mtp_bytes = 0;           // part of these: an MTP block, which not every token reads
  bool tied_head = false;           // the head is the embedding tensor
  uint64_t kv_bytes_per_layer = 0;  // of KV cache
  double flops_per_layer = 0;       // of one token, with its attention to `context` others
  double head_flops = 0;
  double kv_read_bytes = 0;        // of one layer, for one token after `context` others
  double kv_row_bytes = 0;         // of one layer and token, between nodes
  uint64_t row_bytes = 0;          // between stages, of one token
  uint64_t gpu_scratch_bytes = 0;  // besides layers, on each GPU that has any
  uint32_t context = 0;

  // The nearest earlier positions that a token attends to, for all layers that have these in
  // common.
  struct LookBack {
    uint64_t positions = 0;  // most; 0: all
    double flops = 0;        // per position, in all of these layers
    double read_bytes = 0;
  };
  double matrix_flops = 0;  // of one token in all layers, without attention
  std::vector<LookBack> look_back;
  void AddLookBack(const LookBack& added);
  // The mean over layers. If the look-backs are unknown, that at `context`.
  double FlopsPerLayer(uint32_t positions) const;
  double KvReadBytes(uint32_t positions) const;
  // The load of a request after a text whose KV rows exist: on average, a token of its prompt sees
  // that text and half of the prompt, and so on.
  void PrepareFor(uint32_t prompt_tokens, uint32_t answer_tokens, uint32_t held_tokens = 0);

  // How the nodes of a group, which compute every layer together, divide the work, and what they
  // send.
  struct Together {
    uint32_t heads = 0;           // heads, or groups of heads, to divide; 0: no group is possible
    uint64_t whole_bytes = 0;     // of the layers and their KV cache, on every node
    double whole = 0;             // share of the bytes that a token reads that is on every node
    double by_heads = 0;          // share that is divided by heads; the rest is divided by rows
    double gathers = 4;           // per layer, one after the other; a mean
    uint64_t gathered_bytes = 0;  // per token and layer
    uint64_t logit_bytes = 0;     // per token, to the leader
    bool is_new = false;          // nodes with protocol 9 or less do not divide its family

    // The same if nodes own experts, instead of having rows of all.
    struct Experts {
      uint32_t count = 0;  // experts per layer that a router chooses from; 0: none may be owned
      uint32_t used = 0;   // experts that a token uses
      bool has_shared = false;
      double reads = 0;             // their share of the bytes that a token reads, from 0 to 1
      uint64_t bytes = 0;           // of all layers, without shared experts
      uint64_t shared_bytes = 0;    // of shared experts, which every node has
      double gathers = 3;           // per layer
      uint64_t gathered_bytes = 0;  // per token and layer
      uint64_t sum_bytes = 0;       // likewise: sums that each node sends in addition
    };
    Experts experts = {};
    GroupMemory memory = {};
  };
  Together together;

 private:
  double PerLayer(uint32_t positions, double LookBack::* of_position) const;
};

// The load of the model in these files, which need not hold their data. `kv_positions`: tokens in
// the KV cache, of all sequences together.
Result<ModelLoad> LoadOf(const gguf::ModelFiles& files, const model::MemoryOptions& memory,
                         uint64_t kv_positions, uint32_t context);

}  // namespace aster::plan
