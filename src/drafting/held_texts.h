// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Reads the texts that this machine holds for a model, from sessions and from pages of the KV cache
// on disk, into an index from time to time. They are used for nothing else. Must not know who
// drafts.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mutex.h"
#include "drafting/text_index.h"

namespace aster::drafting {

struct HeldTextsOptions {
  std::string sessions_folder;  // empty: none
  std::string pages_folder;     // likewise
  uint32_t vocab_size = 0;
  Hash128 fingerprint;                    // of the model: sessions with it are read
  std::set<Hash128> layouts;              // of its KV cache: pages with these digests are read
  uint64_t max_pages = 65536;             // of a folder, in a pass
  int64_t pause_ns = 300 * kNsPerSecond;  // between two passes
};

// Reads all texts once. Damaged or unreadable ones are left out.
void ReadHeldTexts(const HeldTextsOptions& options, Clock& clock, TextIndex& index);

// Reads the texts again and again, in a thread of its own. The clock outlives it.
class HeldTextsReader {
 public:
  HeldTextsReader(HeldTextsOptions options, Clock& clock, std::shared_ptr<TextIndex> index);
  ~HeldTextsReader();
  HeldTextsReader(const HeldTextsReader&) = delete;
  HeldTextsReader& operator=(const HeldTextsReader&) = delete;

 private:
  void Main() EXCLUDES(mu_);

  const HeldTextsOptions options_;
  Clock& clock_;
  const std::shared_ptr<TextIndex> index_;
  Mutex mu_;
  CondVar changed_;
  bool stopping_ GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace aster::drafting
