// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "disk/session_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/utf8.h"
#include "disk/page_folder.h"

namespace aster::disk {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileEnding = ".session";
constexpr size_t kMaxNameBytes = 200;
constexpr int64_t kLockPatienceNs = 60 * kNsPerSecond;
constexpr int64_t kLockPollNs = 20 * kNsPerMs;

// Conversations are private: only the owner can read the folder.
Status MakePrivateFolder(const std::string& path) {
  TRY(MakeDirectories(path));
  if (chmod(path.c_str(), 0700) != 0) return SystemError(errno, path);
  return Ok();
}

// Waits until everything written in this folder's file system is on the disk.
void SyncFileSystem(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  syncfs(descriptor);
  close(descriptor);
}

uint64_t SizeOf(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

bool Precedes(const kv::Block& a, const kv::Block& b) {
  return std::tuple(a.layer, a.stream) < std::tuple(b.layer, b.stream);
}

bool IsOfTheSame(const kv::Block& a, const kv::Block& b) {
  return a.layer == b.layer && a.stream == b.stream;
}

// How many sessions use a page.
using Uses = std::unordered_map<PageFileName, uint32_t, NameHasher>;

}  // namespace

Result<std::string> SessionFolder::DefaultFolder() { return TRY(DataDirectory()) + "/sessions"; }

Result<std::string> SessionFolder::PathOf(std::string_view name_or_path) const {
  if (name_or_path.find('/') != std::string_view::npos) return std::string(name_or_path);
  // A displayed name must not move the cursor or change the direction of text.
  const bool is_plain = ForDisplay(name_or_path) == name_or_path;
  if (name_or_path.empty() || name_or_path.size() > kMaxNameBytes || name_or_path[0] == '.' ||
      name_or_path[0] == '-' || !is_plain) {
    return InvalidArgument(
        fmt::format("a session cannot have that name: give one of 1 to {} printable characters "
                    "that does not begin with a dot or a dash, or a path with a slash in it",
                    kMaxNameBytes));
  }
  return fmt::format("{}/{}{}", folder_, name_or_path, kFileEnding);
}

Result<FileLock> SessionFolder::Lock() {
  const int64_t deadline_ns = clock_.NowNs() + kLockPatienceNs;
  for (;;) {
    Result<FileLock> lock = FileLock::TryAcquire(folder_ + "/.lock", 0600);
    if (lock.ok() || lock.error().code() != Code::kUnavailable) return lock;
    if (clock_.NowNs() >= deadline_ns) return lock;
    clock_.SleepFor(kLockPollNs);
  }
}

Status SessionFolder::Save(std::string_view name_or_path, const Session& session,
                           const kv::Layout& layout, RowsSource rows) {
  const std::string path = TRY(PathOf(name_or_path));
  if (name_or_path.find('/') != std::string_view::npos) {
    SessionWriter writer = TRY(SessionWriter::Create(path));
    TRY(writer.Begin(session));
    TRY(CutIntoPages(layout, session.tokens, rows,
                     [&](const kv::KvChunkHeader& header, std::span<const kv::Block> blocks) {
                       return writer.AddPageFile(NameOf(header), MakePageFile(header, blocks));
                     }));
    return writer.Commit();
  }
  // Sessions share the pages in the folder, so saving and removing take the lock.
  TRY(MakePrivateFolder(folder_));
  TRY(MakeDirectories(PagesFolder()));
  const FileLock lock = TRY(Lock());
  std::vector<SessionPage> pages;
  Status status = CutIntoPages(
      layout, session.tokens, rows,
      [&](const kv::KvChunkHeader& header, std::span<const kv::Block> blocks) -> Status {
        pages.push_back(TRY(KeepPage(header, blocks)));
        return Ok();
      });
  if (status.ok()) status = Commit(path, session, pages);
  // Pages of a replaced session, or of a save that failed.
  RemoveUnused();
  return status;
}

// The pages are written, so the session can be.
Status SessionFolder::Commit(const std::string& path, const Session& session,
                             std::span<const SessionPage> pages) {
  // Pages reach the disk before the session that names them: a crash leaves pages without a
  // session, never the reverse.
  SyncFileSystem(PagesFolder());
  SessionWriter writer = TRY(SessionWriter::Create(path));
  TRY(writer.Begin(session));
  for (const SessionPage& page : pages) TRY(writer.AddPage(page));
  return writer.Commit();
}

// Keeps an existing page if it is whole. It may lack streams and rows that had left a window, or
// have some that have left this one's.
Result<SessionPage> SessionFolder::KeepPage(const kv::KvChunkHeader& header,
                                            std::span<const kv::Block> blocks) {
  const PageFileName name = NameOf(header);
  std::vector<kv::Block> all(blocks.begin(), blocks.end());
  std::vector<std::vector<uint8_t>> rows;
  // Reads the existing file, if any.
  if (auto file = PageFile::Open(PagesFolder(), name); file.ok()) {
    std::vector<kv::Block> there;
    const Status read = file->Read([](uint32_t, uint32_t) { return true; },
                                   [&](const kv::Block& block) {
                                     rows.emplace_back(block.rows.begin(), block.rows.end());
                                     there.push_back(block);
                                     return Ok();
                                   });
    for (size_t i = 0; i < there.size(); ++i) there[i].rows = rows[i];
    const auto is_there = [&](const kv::Block& block) {
      return std::ranges::any_of(there, [&](const kv::Block& other) {
        return IsOfTheSame(other, block) && other.first_row <= block.first_row;
      });
    };
    // It has all needed rows: it stays.
    if (read.ok() && std::ranges::all_of(blocks, is_there)) {
      return SessionPage{.name = name, .bytes = file->size_bytes()};
    }
    // Otherwise the new file has the blocks of both, the longer one of each.
    std::erase_if(all, is_there);
    std::erase_if(there, [&](const kv::Block& other) {
      return std::ranges::any_of(all,
                                 [&](const kv::Block& block) { return IsOfTheSame(other, block); });
    });
    all.insert(all.end(), there.begin(), there.end());
    std::ranges::sort(all, Precedes);
  }
  return SessionPage{.name = name, .bytes = TRY(WritePageFile(PagesFolder(), header, all))};
}

Result<OpenSession> SessionFolder::Open(std::string_view name_or_path) const {
  OpenSession open;
  open.path = TRY(PathOf(name_or_path));
  auto file = InputFile::Open(open.path);
  if (!file.ok() && file.error().code() == Code::kNotFound) {
    return NotFound(
        fmt::format("{}: there is no such session; `aster session list` shows those "
                    "that there are",
                    open.path));
  }
  // The open file keeps its content, even if another process replaces the name.
  open.file = std::make_shared<InputFile>(TRY(std::move(file)));
  ReadSession read = TRY(ReadSessionFile(*open.file));
  open.session = std::move(read.session);
  open.damage = std::move(read.damage);
  open.has_messages = read.has_messages;
  open.has_tokens = read.has_tokens;
  return open;
}

Result<PageFile> SessionFolder::OpenPage(const OpenSession& open, const SessionPage& page) const {
  if (page.offset == 0) return PageFile::Open(PagesFolder(), page.name);
  return PageFile::OpenWithin(*open.file, page.offset, page.bytes, page.name);
}

Status SessionFolder::LoadRows(const OpenSession& open, const kv::Layout& layout,
                               KvChunkTaker take) const {
  return PutTogether(
      layout, open.session.tokens, open.session.pages,
      [&](const SessionPage& page) { return OpenPage(open, page); }, take);
}

// After a page that cannot be used, later ones of the same layers cannot either.
WholePages SessionFolder::FindWhole(const OpenSession& open, Look look) const {
  WholePages whole;
  std::set<uint32_t> broken;  // by first layer
  std::vector<SessionPage> pages = open.session.pages;
  std::ranges::stable_sort(pages, {}, [](const SessionPage& page) { return page.name.begin; });
  for (const SessionPage& page : pages) {
    if (broken.contains(page.name.layers.begin)) continue;
    const auto read = [&]() -> Status {
      PageFile file = TRY(OpenPage(open, page));
      if (look == Look::kHeaders) return Ok();
      return file.Read([](uint32_t, uint32_t) { return true; },
                       [](const kv::Block&) { return Ok(); });
    };
    Status status = read();
    if (status.ok()) {
      whole.pages.push_back(page);
      continue;
    }
    broken.insert(page.name.layers.begin);
    if (whole.damage) continue;
    whole.damage = std::move(status).error().In(
        fmt::format("KV rows of {} from position {} on, layers {} to {}", open.path,
                    page.name.begin, page.name.layers.begin, page.name.layers.end - 1));
  }
  return whole;
}

Result<std::vector<ListedSession>> SessionFolder::List() const {
  std::vector<ListedSession> sessions;
  std::error_code error;
  for (fs::directory_iterator item(folder_, error), end; !error && item != end;
       item.increment(error)) {
    const std::string file_name = item->path().filename().string();
    if (!file_name.ends_with(kFileEnding) || file_name.starts_with('.')) continue;
    ListedSession& listed = sessions.emplace_back();
    listed.name = file_name.substr(0, file_name.size() - kFileEnding.size());
    listed.path = item->path().string();
    auto open = Open(listed.name);
    if (open.ok()) {
      listed.session = std::move(open->session);
      listed.damage = std::move(open->damage);
    } else {
      listed.error = std::move(open).error();
    }
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return SystemError(error.value(), folder_);
  }
  // The bytes of each: its own file, and pages that no other session names.
  std::ranges::sort(sessions, {}, &ListedSession::name);
  Uses uses;
  for (const ListedSession& listed : sessions) {
    for (const SessionPage& page : listed.session.pages) uses[page.name] += page.offset == 0;
  }
  for (ListedSession& listed : sessions) {
    listed.own_bytes = SizeOf(listed.path);
    for (const SessionPage& page : listed.session.pages) {
      if (page.offset != 0) continue;
      (uses[page.name] > 1 ? listed.shared_bytes : listed.own_bytes) += page.bytes;
    }
  }
  return sessions;
}

// Removes pages that no session names. If a session cannot be read to its end, its pages are
// unknown; then all stay.
uint64_t SessionFolder::RemoveUnused() {
  const auto sessions = List();
  const auto files = ListPageFiles(PagesFolder());
  if (!sessions.ok() || !files.ok()) return 0;
  Uses uses;
  for (const ListedSession& listed : *sessions) {
    if (listed.error || listed.damage) return 0;
    for (const SessionPage& page : listed.session.pages) uses[page.name] += page.offset == 0;
  }
  uint64_t bytes = 0;
  for (const IndexedFile& file : *files) {
    const auto used = uses.find(file.name);
    if (used != uses.end() && used->second > 0) continue;
    if (RemovePageFile(PagesFolder(), file.name)) bytes += file.bytes;
  }
  RemoveLeftovers(PagesFolder(), clock_.WallNs());
  RemoveLeftovers(folder_, clock_.WallNs());
  return bytes;
}

Result<uint64_t> SessionFolder::Remove(std::string_view name, const OpenSession* only) {
  if (name.find('/') != std::string_view::npos) {
    return InvalidArgument("a session's name is needed; remove files elsewhere as any file");
  }
  const std::string path = TRY(PathOf(name));
  if (!fs::exists(path)) {
    return NotFound(
        fmt::format("{}: there is no such session; `aster session list` lists the sessions", path));
  }
  const FileLock lock = TRY(Lock());
  // Under the lock, so that the file that was checked is removed.
  if (only != nullptr && !only->file->IsAt(path)) {
    return FailedPrecondition(fmt::format("{}: it has changed since, and stays", path));
  }
  const uint64_t bytes = SizeOf(path);
  if (unlink(path.c_str()) != 0) return SystemError(errno, path);
  return bytes + RemoveUnused();
}

Status SessionFolder::Export(std::string_view name, const std::string& path) const {
  const OpenSession open = TRY(Open(name));
  if (open.damage) return *open.damage;
  SessionWriter writer = TRY(SessionWriter::Create(path));
  TRY(writer.Begin(open.session));
  for (const SessionPage& page : open.session.pages) {
    PageFile file = TRY(OpenPage(open, page));
    // Damaged pages are not exported.
    TRY(file.Read([](uint32_t, uint32_t) { return true; }, [](const kv::Block&) { return Ok(); }));
    TRY(writer.AddPageFile(page.name, TRY(file.ReadAll())));
  }
  return writer.Commit();
}

bool SessionFolder::Has(std::string_view name, const Session& session) const {
  auto open = Open(name);
  if (!open.ok() || open->damage || open->session.pages.size() != session.pages.size()) {
    return false;
  }
  for (size_t i = 0; i < session.pages.size(); ++i) {
    if (open->session.pages[i].name != session.pages[i].name) return false;
  }
  open->session.pages = session.pages;
  return open->session == session;
}

Status SessionFolder::Import(const std::string& path, std::string_view name, IfThere if_there) {
  if (name.find('/') != std::string_view::npos) {
    return InvalidArgument("a name without a slash is needed for a session in the folder");
  }
  const std::string into = TRY(PathOf(name));
  OpenSession open;
  open.path = path;
  open.file = std::make_shared<InputFile>(TRY(InputFile::Open(path)));
  ReadSession read = TRY(ReadSessionFile(*open.file));
  if (read.damage) return *read.damage;
  open.session = std::move(read.session);
  TRY(MakePrivateFolder(folder_));
  TRY(MakeDirectories(PagesFolder()));
  const FileLock lock = TRY(Lock());
  if (if_there == IfThere::kRefuse && fs::exists(into)) {
    return Error(Code::kAlreadyExists, fmt::format("there is a session named {} already", name));
  }
  const auto pages = KeepPagesOf(open);
  const Status status = pages.ok() ? Commit(into, open.session, *pages) : pages.error();
  RemoveUnused();
  return status;
}

Result<std::vector<SessionPage>> SessionFolder::KeepPagesOf(const OpenSession& open) {
  std::vector<SessionPage> pages;
  for (const SessionPage& page : open.session.pages) {
    PageFile file = TRY(OpenPage(open, page));
    std::vector<std::vector<uint8_t>> rows;
    std::vector<kv::Block> blocks;
    TRY(file.Read([](uint32_t, uint32_t) { return true; },
                  [&](const kv::Block& block) {
                    rows.emplace_back(block.rows.begin(), block.rows.end());
                    blocks.push_back(block);
                    return Ok();
                  }));
    for (size_t i = 0; i < blocks.size(); ++i) blocks[i].rows = rows[i];
    pages.push_back(TRY(KeepPage(file.header(), blocks)));
  }
  return pages;
}

}  // namespace aster::disk
