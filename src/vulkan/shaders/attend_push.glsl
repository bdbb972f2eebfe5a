// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Push constants of attention to pages (AttendPush of kernels/attention.cc). After page.glsl.
layout(push_constant) uniform Push {
  Words page_table;  // addresses of pages of all heads, zero where no row sees the page
  Words blocks;
  Words visible;  // [tokens][3]: what is seen ends at the first, or begins and ends at the others
  Floats queries;
  Floats sinks;      // [heads of all] logits
  FloatsOut result;  // as the queries; with kSplit results of pages
  uint heads;        // queries of a key/value head
  uint token_stride;
  uint head_stride;
  float factor;         // of queries
  uint head_page_bytes; // from one head of a page to the next
  uint has_sinks;
  uint out_token_stride;
  uint out_head_stride;
  PageShape shape;
  float cap;  // of scores, in units of log 2
} push;
