// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "fetch/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gguf/split_name.h"

namespace aster::fetch {
namespace {

constexpr std::string_view kMagic = "ASTRMANI";
constexpr uint32_t kVersion = 1;
// Large enough for any message, small enough to be held many times.
constexpr size_t kPieceBytes = size_t{1} << 20;
// The smallest size of a file in a manifest, which bounds their number.
constexpr size_t kLeastFileBytes = 4 * sizeof(uint64_t);
constexpr size_t kHashBytes = 2 * sizeof(uint64_t);

std::string ShortName(const Hash128& fingerprint) { return fingerprint.ToHex().substr(0, 8); }

std::string FileName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

// Data that were sent need not stay in memory. Does nothing for a file in memory.
void ReleasePages(const gguf::File& file, Bytes data) {
  const Bytes mapped = file.mapped().bytes();
  if (mapped.empty() || data.empty()) return;
  file.mapped().DontNeed(static_cast<size_t>(data.data() - mapped.data()), data.size());
}

void WriteHash(ByteWriter& writer, const Hash128& hash) {
  writer.Write(hash.low);
  writer.Write(hash.high);
}

Result<Hash128> ReadHash(ByteReader& reader) {
  const auto low = TRY(reader.Read<uint64_t>());
  return Hash128{.low = low, .high = TRY(reader.Read<uint64_t>())};
}

Result<Bytes> ReadCounted(ByteReader& reader) {
  return reader.ReadBytes(TRY(reader.Read<uint64_t>()));
}

Result<rpc::FileManifest> ReadFileManifest(ByteReader& reader) {
  rpc::FileManifest file;
  file.name = AsText(TRY(ReadCounted(reader)));
  file.file_bytes = TRY(reader.Read<uint64_t>());
  const Bytes header = TRY(ReadCounted(reader));
  file.header.assign(header.begin(), header.end());
  const auto count = TRY(reader.ReadCount<uint64_t>(kHashBytes));
  file.contents.reserve(count);
  for (uint64_t i = 0; i < count; ++i) file.contents.push_back(TRY(ReadHash(reader)));
  return file;
}

Result<gguf::File> CheckFile(const rpc::FileManifest& file) {
  gguf::File head = TRY(gguf::File::ParseHead(file.header, file.file_bytes, FileName(file.name)));
  if (head.data_offset() != file.header.size()) {
    return DataLoss(fmt::format("its head has {} bytes, and its data begins at byte {}",
                                file.header.size(), head.data_offset()));
  }
  if (head.tensors().size() != file.contents.size()) {
    return DataLoss(fmt::format("it has {} tensors and {} hashes of their content",
                                head.tensors().size(), file.contents.size()));
  }
  for (const gguf::Tensor& tensor : head.tensors()) {
    if (tensor.size_known) continue;
    return Unimplemented(
        fmt::format("the size of the tensor {} is not known here", gguf::NameText(tensor.name)));
  }
  return head;
}

// Computes the fingerprint from the manifest.
Result<gguf::ModelFiles> ReadHeads(const rpc::ModelManifest& manifest) {
  if (manifest.files.empty() || manifest.files.size() > gguf::kMaxSplitCount) {
    return DataLoss(fmt::format("no model has {} files", manifest.files.size()));
  }
  std::vector<gguf::File> heads;
  std::vector<std::vector<Hash128>> contents;
  for (size_t i = 0; i < manifest.files.size(); ++i) {
    heads.push_back(TRY(CheckFile(manifest.files[i])
                            .In(fmt::format("file {} of {}", i + 1, manifest.files.size()))));
    contents.push_back(manifest.files[i].contents);
  }
  gguf::ModelFiles files = TRY(gguf::ModelFiles::Join(std::move(heads)));
  files.SetFingerprint(TRY(gguf::FingerprintOfContents(files, contents)).model);
  return files;
}

}  // namespace

rpc::ModelManifest MakeManifest(const gguf::ModelFiles& files,
                                const gguf::Fingerprint& fingerprint) {
  CHECK(fingerprint.contents.size() == files.entries().size());
  rpc::ModelManifest manifest{.fingerprint = fingerprint.model, .files = {}};
  for (const gguf::File& file : files.files()) {
    const Bytes head = file.head();
    rpc::FileManifest& made = manifest.files.emplace_back();
    made.name = FileName(file.path());
    made.file_bytes = file.size_bytes();
    made.header.assign(head.begin(), head.end());
    for (const gguf::Tensor& tensor : file.tensors()) {
      // Copies of a tensor have the same content, or there would be no fingerprint. Tensors that a
      // block's file repeats from the model do not count, and are not fetched.
      const gguf::ModelFiles::Entry* const entry = files.FindEntry(tensor.name);
      made.contents.push_back(
          entry == nullptr
              ? Hash128()
              : fingerprint.contents[static_cast<size_t>(entry - files.entries().data())]);
    }
  }
  return manifest;
}

Status ReadTensor(const gguf::ModelFiles& files, std::string_view tensor, uint64_t offset,
                  const rpc::ByteSink& sink) {
  const gguf::ModelFiles::Entry* const entry = files.FindEntry(tensor);
  if (entry == nullptr) {
    return NotFound(fmt::format("the tensor {} is not here", gguf::NameText(tensor)));
  }
  const gguf::Tensor* const found = entry->tensor;
  if (offset > found->data.size()) {
    return OutOfRange(fmt::format("byte {} of the tensor {} was asked for, which has {}", offset,
                                  gguf::NameText(tensor), found->data.size()));
  }
  for (Bytes left = found->data.subspan(offset); !left.empty();) {
    const Bytes piece = left.first(std::min(left.size(), kPieceBytes));
    const Status taken = sink(piece);
    // With the piece before, as only whole pages can be released.
    const size_t begin = static_cast<size_t>(piece.data() - found->data.data());
    const size_t before = std::min(begin, kPieceBytes);
    ReleasePages(files.files()[entry->file_index],
                 found->data.subspan(begin - before, before + piece.size()));
    TRY(taken);
    left = left.subspan(piece.size());
  }
  return Ok();
}

Result<gguf::ModelFiles> CheckManifest(const rpc::ModelManifest& manifest,
                                       const Hash128& fingerprint) {
  gguf::ModelFiles files = TRY(ReadHeads(manifest));
  if (*files.fingerprint() == fingerprint) return files;
  return DataLoss(fmt::format("this is the model {}, and {} was asked for",
                              ShortName(*files.fingerprint()), ShortName(fingerprint)));
}

Result<rpc::ModelManifest> JoinManifests(std::span<const rpc::ModelManifest* const> parts) {
  rpc::ModelManifest joined;
  for (const rpc::ModelManifest* part : parts) {
    joined.files.insert(joined.files.end(), part->files.begin(), part->files.end());
  }
  joined.fingerprint = *TRY(ReadHeads(joined)).fingerprint();
  return joined;
}

std::vector<uint8_t> FormatManifest(const rpc::ModelManifest& manifest) {
  ByteWriter writer;
  writer.WriteBytes(AsBytes(kMagic));
  writer.Write(kVersion);
  WriteHash(writer, manifest.fingerprint);
  writer.Write<uint64_t>(manifest.files.size());
  for (const rpc::FileManifest& file : manifest.files) {
    writer.Write<uint64_t>(file.name.size());
    writer.WriteBytes(AsBytes(file.name));
    writer.Write(file.file_bytes);
    writer.Write<uint64_t>(file.header.size());
    writer.WriteBytes(file.header);
    writer.Write<uint64_t>(file.contents.size());
    for (const Hash128& hash : file.contents) WriteHash(writer, hash);
  }
  WriteHash(writer, Hash128Of(writer.bytes()));
  return {writer.bytes().begin(), writer.bytes().end()};
}

Result<rpc::ModelManifest> ParseManifest(Bytes bytes) {
  if (bytes.size() < kHashBytes) return DataLoss("this is not a manifest");
  const Bytes content = bytes.first(bytes.size() - kHashBytes);
  ByteReader end(bytes.subspan(content.size()));
  if (TRY(ReadHash(end)) != Hash128Of(content)) return DataLoss("the manifest is damaged");
  ByteReader reader(content);
  if (AsText(TRY(reader.ReadBytes(kMagic.size()))) != kMagic) {
    return DataLoss("this is not a manifest");
  }
  const auto version = TRY(reader.Read<uint32_t>());
  if (version != kVersion) {
    return Unimplemented(
        fmt::format("this is a manifest of version {}, not {}", version, kVersion));
  }
  rpc::ModelManifest manifest;
  manifest.fingerprint = TRY(ReadHash(reader));
  const auto count = TRY(reader.ReadCount<uint64_t>(kLeastFileBytes));
  for (uint64_t i = 0; i < count; ++i) manifest.files.push_back(TRY(ReadFileManifest(reader)));
  if (!reader.at_end()) return DataLoss("the manifest goes on behind its end");
  return manifest;
}

}  // namespace aster::fetch
