// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "drafting/held_texts.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "disk/page_file.h"
#include "disk/page_folder.h"
#include "disk/session_folder.h"

namespace aster::drafting {
namespace {

// Limit of a text that is joined from pages.
constexpr size_t kLongestText = size_t{1} << 18;

// Adds the text if all of its tokens are of the vocabulary.
void AddText(std::span<const int32_t> text, uint32_t vocab_size, TextIndex& index) {
  const bool are_tokens = std::ranges::all_of(
      text, [&](int32_t token) { return token >= 0 && static_cast<uint32_t>(token) < vocab_size; });
  if (are_tokens) index.Add(text);
}

void ReadSessions(const HeldTextsOptions& options, Clock& clock, TextIndex& index) {
  const disk::SessionFolder folder(options.sessions_folder, clock);
  const auto sessions = folder.List();
  if (!sessions.ok()) return;
  for (const disk::ListedSession& listed : *sessions) {
    if (listed.session.model.fingerprint != options.fingerprint) continue;
    AddText(listed.session.tokens, options.vocab_size, index);
  }
}

// Pages by the prefix hash before them, to join the pages of a text.
using PagesByPrefix = std::map<Hash128, std::vector<std::pair<Hash128, std::vector<int32_t>>>>;

// Adds all texts that continue a prefix. `left` bounds the work in case of damaged files.
void AddBehind(const PagesByPrefix& pages, const Hash128& prefix, std::vector<int32_t>& text,
               uint64_t& left, const HeldTextsOptions& options, TextIndex& index) {
  const auto found = pages.find(prefix);
  if (found == pages.end() || left == 0 || text.size() >= kLongestText)
    return AddText(text, options.vocab_size, index);
  for (const auto& [end, tokens] : found->second) {
    if (left == 0) return;
    --left;
    const size_t length = text.size();
    text.insert(text.end(), tokens.begin(), tokens.end());
    AddBehind(pages, end, text, left, options, index);
    text.resize(length);
  }
}

void ReadPages(const HeldTextsOptions& options, TextIndex& index) {
  const auto files = disk::ListPageFiles(options.pages_folder);
  if (!files.ok()) return;
  PagesByPrefix pages;
  std::set<Hash128> known, begins;
  for (const disk::IndexedFile& file : *files) {
    if (known.size() >= options.max_pages) break;
    const auto page = disk::PageFile::Open(options.pages_folder, file.name);
    if (!page.ok()) continue;
    const kv::KvChunkHeader& header = page->header();
    // Other layers of a page have the same tokens.
    if (!options.layouts.contains(header.digest) || !known.insert(header.prefix_at_end).second)
      continue;
    pages[header.prefix_at_begin].emplace_back(header.prefix_at_end, header.tokens);
    begins.insert(header.prefix_at_begin);
  }
  // Texts begin with pages whose prefix is the end of no other page.
  uint64_t left = 2 * known.size();
  for (const Hash128& begin : begins) {
    std::vector<int32_t> text;
    if (!known.contains(begin)) AddBehind(pages, begin, text, left, options, index);
  }
}

}  // namespace

void ReadHeldTexts(const HeldTextsOptions& options, Clock& clock, TextIndex& index) {
  if (!options.sessions_folder.empty()) ReadSessions(options, clock, index);
  if (!options.pages_folder.empty()) ReadPages(options, index);
}

HeldTextsReader::HeldTextsReader(HeldTextsOptions options, Clock& clock,
                                 std::shared_ptr<TextIndex> index)
    : options_(std::move(options)), clock_(clock), index_(std::move(index)) {
  thread_ = std::thread([this] { Main(); });
}

HeldTextsReader::~HeldTextsReader() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
}

void HeldTextsReader::Main() {
  while (true) {
    ReadHeldTexts(options_, clock_, *index_);
    const MutexLock lock(mu_);
    const int64_t next_ns = clock_.NowNs() + options_.pause_ns;
    while (!stopping_ && clock_.NowNs() < next_ns) clock_.WaitUntil(changed_, mu_, next_ns);
    if (stopping_) return;
  }
}

}  // namespace aster::drafting
