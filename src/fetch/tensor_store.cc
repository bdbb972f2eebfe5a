// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/tensor_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "base/units.h"
#include "fetch/manifest.h"
#include "model/files/support.h"
#include "model/shape/tensors.h"

namespace aster::fetch {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLockPollNs = 20 * kNsPerMs;
constexpr size_t kHexDigits = 32;

// The tensors of the slice, in the order of computation.
Result<std::vector<TensorPlace>> PlacesOf(const StoredModel& model, const model::Slice& slice) {
  const model::Support support = model::CheckSupport(model.layout(), slice);
  if (!support.ok()) {
    return FailedPrecondition(
        fmt::format("the model cannot run here: {}", fmt::join(support.obstacles, "; ")));
  }
  if (slice.layer_end > support.shape->layer_count) {
    return InvalidArgument(fmt::format("layers up to {} of a model of {} layers", slice.layer_end,
                                       support.shape->layer_count));
  }
  std::vector<TensorPlace> places;
  for (const model::TensorSpec& spec : model::TensorsOf(*support.shape)) {
    if (!slice.Needs(*support.shape, spec)) continue;
    const gguf::Tensor* const tensor = model::FindTensor(model.layout(), spec);
    if (tensor == nullptr) continue;
    places.push_back(model.PlaceOf(*model.layout().FindEntry(tensor->name)));
  }
  return places;
}

bool AllVerified(const StoredModel& model, std::span<const TensorPlace> places) {
  return std::ranges::all_of(places,
                             [&](const TensorPlace& place) { return model.IsVerified(place); });
}

Status CheckDiskSpace(const std::string& folder, uint64_t missing_bytes, uint64_t spare_bytes) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  // Unknown: writing will show it.
  if (error) return Ok();
  if (missing_bytes <= space.available - std::min(space.available, spare_bytes)) return Ok();
  return ResourceExhausted(fmt::format(
      "{}: {} of weights are still to be fetched, and {} are free on this disk, where {} are kept "
      "free for others; make room, or set XDG_CACHE_HOME to a folder on a larger one",
      folder, FormatBytes(missing_bytes), FormatBytes(space.available), FormatBytes(spare_bytes)));
}

// Changes while a process writes.
int64_t LastChangeNs(const std::string& folder) {
  int64_t last_ns = 0;
  std::error_code error;
  for (fs::directory_iterator item(folder, error), end; !error && item != end;
       item.increment(error)) {
    const Result<FileIdentity> identity = IdentifyFile(item->path().string());
    if (identity.ok()) last_ns = std::max(last_ns, identity->modified_ns);
  }
  return last_ns;
}

// Whether the file here has exactly these bytes.
bool Holds(const PartHere& here, const TensorPlace& place) {
  const gguf::ModelFiles::Entry* const entry = here.files->FindEntry(place.name);
  if (entry == nullptr || entry->tensor->data.size() != place.size) return false;
  const auto index = static_cast<size_t>(entry - here.files->entries().data());
  return here.fingerprint.contents[index] == place.content;
}

// Opens the same files again, if they are unchanged since they were hashed.
Status OpenAgain(const gguf::ModelFiles& files, std::vector<gguf::File>& opened) {
  for (const gguf::File& file : files.files()) {
    opened.push_back(TRY(gguf::File::Open(file.path())));
    if (opened.back().mapped().identity() == file.mapped().identity()) continue;
    return Error(Code::kAborted,
                 fmt::format("{}: the file changed since this node was started with it; start the "
                             "node again",
                             file.path()));
  }
  return Ok();
}

// The tensors of a slice, and their sources.
struct Needs {
  std::vector<const PartHere*> here;   // that belong to the model and hold some of it
  std::vector<TensorPlace> elsewhere;  // the other tensors, in the order of use
};

Result<Needs> NeedsOf(const StoredModel& model, const EnsureRequest& request) {
  Needs needs{.here = {}, .elsewhere = TRY(PlacesOf(model, request.slice))};
  for (const PartHere& here : request.here) {
    if (needs.elsewhere.empty() || !IsPartOf(here.part.manifest, *model.manifest())) continue;
    const auto held = [&](const TensorPlace& place) { return Holds(here, place); };
    if (std::erase_if(needs.elsewhere, held) > 0) needs.here.push_back(&here);
  }
  return needs;
}

Result<std::shared_ptr<const gguf::ModelFiles>> FilesOf(const StoredModel& model,
                                                        const Needs& needs) {
  if (needs.elsewhere.empty() && needs.here.size() == 1) return needs.here.front()->files;
  std::set<std::string_view> names;
  for (const TensorPlace& place : needs.elsewhere) names.insert(place.name);
  const auto is_wanted = [&](std::string_view name) { return names.contains(name); };
  std::vector<gguf::File> files;
  // If nothing was fetched, there are no files to open.
  if (!names.empty()) files = TRY(model.OpenFiles(is_wanted));
  for (const PartHere* here : needs.here) TRY(OpenAgain(*here->files, files));
  return std::make_shared<const gguf::ModelFiles>(TRY(gguf::ModelFiles::Join(std::move(files))));
}

}  // namespace

Result<std::string> TensorStore::DefaultFolder() { return TRY(CacheDirectory()) + "/weights"; }

std::string TensorStore::FolderOf(const Hash128& fingerprint) const {
  return fmt::format("{}/{}", options_.folder, fingerprint.ToHex());
}

Result<FileLock> TensorStore::AwaitLock(const std::string& folder, const std::stop_token& stop) {
  int64_t last_change_ns = LastChangeNs(folder);
  int64_t moved_ns = clock_.NowNs();
  for (;;) {
    Result<FileLock> lock = FileLock::TryAcquire(folder + "/lock");
    if (lock.ok() || lock.error().code() != Code::kUnavailable) return lock;
    if (stop.stop_requested()) return Error(Code::kCancelled, "fetching weights was stopped");
    clock_.SleepFor(kLockPollNs);
    const int64_t now_ns = clock_.NowNs();
    if (const int64_t change_ns = LastChangeNs(folder); change_ns != last_change_ns) {
      last_change_ns = change_ns;
      moved_ns = now_ns;
    }
    if (now_ns - moved_ns < options_.lock_patience_ns) continue;
    return Error(Code::kUnavailable, fmt::format("{}: another program is fetching this model and "
                                                 "has stalled for {} s; end it, or try again later",
                                                 folder, options_.lock_patience_ns / kNsPerSecond));
  }
}

Result<rpc::ModelManifest> TensorStore::FetchManifest(const EnsureRequest& request) {
  std::string reasons;
  for (const auto& peer : request.peers) {
    if (request.fetching.stop.stop_requested()) {
      return Error(Code::kCancelled, "fetching weights was stopped");
    }
    Result<rpc::ModelManifest> manifest = peer->FetchManifest(request.fingerprint);
    Status checked = Ok();
    if (!manifest.ok()) {
      checked = manifest.error();
    } else if (const auto layout = CheckManifest(*manifest, request.fingerprint); !layout.ok()) {
      checked = layout.error();
    }
    if (checked.ok()) {
      // The claimed fingerprint is ignored: it is computed.
      manifest->fingerprint = request.fingerprint;
      return manifest;
    }
    reasons += fmt::format("; {}: {}", peer->name(), checked.error().message());
  }
  return Error(Code::kUnavailable,
               fmt::format("no node has a manifest of the model {}{}",
                           request.fingerprint.ToHex().substr(0, 8),
                           reasons.empty() ? "; no reachable node has it" : reasons));
}

Result<StoredModel> TensorStore::OpenOrKeep(const EnsureRequest& request,
                                            std::optional<rpc::ModelManifest> fetched) {
  const std::string folder = FolderOf(request.fingerprint);
  Result<StoredModel> kept = StoredModel::Open(folder, request.fingerprint);
  if (kept.ok()) return kept;
  if (!fetched) fetched = TRY(FetchManifest(request));
  TRY(StoredModel::Keep(folder, *fetched));
  return StoredModel::Open(folder, request.fingerprint);
}

Result<StoredModel> TensorStore::FetchMissing(const EnsureRequest& request,
                                              const StoredModel& model,
                                              std::span<const TensorPlace> places,
                                              Ensured& ensured) {
  ModelWriter writer = TRY(ModelWriter::Open(model, options_.sync_bytes));
  uint64_t missing_bytes = 0;
  for (const TensorPlace& place : places) {
    if (request.verify) writer.Doubt(place);
    missing_bytes += place.size - writer.StateOf(place).bytes;
  }
  if (missing_bytes > 0)
    TRY(CheckDiskSpace(model.folder(), missing_bytes, options_.spare_disk_bytes));
  TensorFetcher fetcher(model, writer, request.peers, request.fetching, clock_);
  TRY(fetcher.Fetch(places));
  TRY(writer.Finish());
  ensured.received_bytes = fetcher.received_bytes();
  ensured.notes = fetcher.notes();
  return StoredModel::Open(model.folder(), request.fingerprint);
}

Result<Ensured> TensorStore::Ensure(const EnsureRequest& request) {
  const std::string folder = FolderOf(request.fingerprint);
  Ensured ensured;
  std::optional<rpc::ModelManifest> manifest;
  // If all is stored already, the caller does not wait.
  if (Result<StoredModel> kept = StoredModel::Open(folder, request.fingerprint); kept.ok()) {
    const Needs needs = TRY(NeedsOf(*kept, request));
    if (request.check) TRY(request.check(kept->layout()));
    if (!request.verify && AllVerified(*kept, needs.elsewhere)) {
      ensured.files = TRY(FilesOf(*kept, needs));
      return ensured;
    }
  } else {
    // For a model that no node has, nothing stays on the disk.
    manifest = TRY(FetchManifest(request));
  }
  TRY(MakeDirectories(folder));
  const FileLock lock = TRY(AwaitLock(folder, request.fetching.stop));
  StoredModel model = TRY(OpenOrKeep(request, std::move(manifest)));
  if (request.check) TRY(request.check(model.layout()));
  if (const Needs needs = TRY(NeedsOf(model, request));
      !needs.elsewhere.empty() && (request.verify || !AllVerified(model, needs.elsewhere))) {
    model = TRY(FetchMissing(request, model, needs.elsewhere, ensured));
  }
  const Needs needs = TRY(NeedsOf(model, request));
  if (!AllVerified(model, needs.elsewhere)) {
    return Error(
        Code::kAborted,
        fmt::format("{}: another program changes these files; only aster may write here. Try again",
                    folder));
  }
  ensured.files = TRY(FilesOf(model, needs));
  return ensured;
}

std::shared_ptr<const rpc::ModelManifest> TensorStore::FindManifest(
    const Hash128& fingerprint) const {
  const auto model = StoredModel::Open(FolderOf(fingerprint), fingerprint);
  return model.ok() ? model->manifest() : nullptr;
}

Result<KeptModel> TensorStore::Find(const Hash128& fingerprint) const {
  const StoredModel model = TRY(StoredModel::Open(FolderOf(fingerprint), fingerprint));
  for (size_t i = 0; i < model.manifest()->files.size(); ++i) {
    // If nothing was fetched yet, there are no data files.
    if (!IdentifyFile(model.DataPath(i)).ok()) {
      return NotFound(fmt::format("{}: no weights are kept here", model.folder()));
    }
  }
  return KeptModel{.manifest = model.manifest(),
                   .files = std::make_shared<const gguf::ModelFiles>(
                       TRY(model.Files([](std::string_view) { return true; })))};
}

std::string TensorStore::NameOf(const Hash128& fingerprint) const {
  const Result<StoredModel> model = StoredModel::Open(FolderOf(fingerprint), fingerprint);
  if (!model.ok()) return "";
  return fs::path(model->manifest()->files.front().name).stem().string();
}

std::vector<Hash128> TensorStore::Fingerprints() const {
  std::vector<Hash128> fingerprints;
  std::error_code error;
  for (fs::directory_iterator item(options_.folder, error), end; !error && item != end;
       item.increment(error)) {
    const std::string name = item->path().filename().string();
    if (name.size() != kHexDigits) continue;
    Hash128 fingerprint;
    const std::string_view high = std::string_view(name).substr(0, kHexDigits / 2);
    const std::string_view low = std::string_view(name).substr(kHexDigits / 2);
    const auto parse = [](std::string_view digits, uint64_t& value) {
      const auto [rest, failure] = std::from_chars(digits.begin(), digits.end(), value, 16);
      return failure == std::errc() && rest == digits.end();
    };
    if (parse(high, fingerprint.high) && parse(low, fingerprint.low)) {
      fingerprints.push_back(fingerprint);
    }
  }
  std::ranges::sort(fingerprints);
  return fingerprints;
}

}  // namespace aster::fetch
