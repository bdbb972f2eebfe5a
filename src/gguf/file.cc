// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "gguf/file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "base/utf8.h"

namespace aster::gguf {
namespace {

constexpr uint32_t kOldestVersion = 2;
constexpr uint32_t kNewestVersion = 3;
constexpr uint64_t kLeastAlignment = 8;  // required by the format
// Arrays may contain arrays; no file in use has more than one level.
constexpr int kMaxArrayDepth = 8;
// The format's limit of a key, here also of tensor names. No real file comes near it.
constexpr uint64_t kMaxNameBytes = 65535;

// Entries to reserve memory for before they are read; a header may promise more than the file has.
constexpr uint64_t kMaxReserved = 4096;

// The least size of an entry in the file, which limits their number.
constexpr size_t kLeastStringBytes = sizeof(uint64_t);
constexpr size_t kLeastArrayBytes = sizeof(uint32_t) + sizeof(uint64_t);
constexpr size_t kLeastValueBytes = kLeastStringBytes + 1 + sizeof(uint32_t) + 1;
constexpr size_t kLeastTensorBytes =
    kLeastStringBytes + 1 + sizeof(uint32_t) + sizeof(uint32_t) + sizeof(uint64_t);

size_t LeastElementBytes(ValueType type) {
  if (type == ValueType::kString) return kLeastStringBytes;
  if (type == ValueType::kArray) return kLeastArrayBytes;
  return FixedValueBytes(type);
}

// Describes a file that does not begin like a GGUF file.
Error NotGguf(Bytes bytes) {
  const auto begins_with = [&](std::string_view text) { return AsText(bytes).starts_with(text); };
  if (bytes.empty()) return DataLoss("the file is empty");
  if (begins_with("version https://git-lfs")) {
    return InvalidArgument(
        "this is only a Git LFS pointer to the model; fetch the file itself with: git lfs pull");
  }
  if (begins_with("lmgg") || begins_with("fmgg") || begins_with("tjgg") || begins_with("algg")) {
    return Unimplemented(
        "this is a GGML file from before GGUF; convert the original model to GGUF again");
  }
  if (begins_with("PK")) {
    return InvalidArgument("this is a zip archive or a PyTorch model; a GGUF file is needed");
  }
  if (begins_with("<!") || begins_with("<html")) {
    return InvalidArgument("this is a web page, not a model; was the download a login page?");
  }
  if (bytes.size() > 8 && bytes[8] == '{') {
    return InvalidArgument("this looks like a safetensors file; a GGUF file is needed");
  }
  return InvalidArgument("this is not a GGUF file: it does not begin with the letters GGUF");
}

Error UnreadableVersion(uint32_t version) {
  if ((version & 0xFFFF) == 0) {
    return Unimplemented(
        "this is a big-endian GGUF file; convert it to little-endian (gguf-py's "
        "gguf_convert_endian does) or get the usual one");
  }
  return Unimplemented(
      fmt::format("this is a GGUF file of version {}; versions {} and {} can be read{}", version,
                  kOldestVersion, kNewestVersion,
                  version < kOldestVersion ? ". Convert the original model again" : ""));
}

// Adds the place of an error; the text is only made for errors.
template <typename T, typename Where>
Result<T> WithContext(Result<T> result, const Where& where) {
  if (result.ok()) return result;
  return std::move(result).error().In(where());
}

}  // namespace

// Reads a file's head, from the first byte to the last tensor's entry.
class FileParser {
 public:
  // `data` is that of the whole file, or empty if only offsets are needed.
  FileParser(File& file, Bytes data)
      : file_(file), bytes_(file.bytes_), data_(data), reader_(file.bytes_) {}

  Status Parse() {
    TRY(ParseHeader());
    TRY(ParseMetadata());
    TRY(ParseAlignment());
    TRY(ParseTensors());
    TRY(PlaceTensors());
    return IndexTensors();
  }

  Status IndexTensors() {
    const std::vector<Tensor>& tensors = file_.tensors_;
    std::vector<size_t>& by_name = file_.by_name_;
    by_name.resize(tensors.size());
    std::iota(by_name.begin(), by_name.end(), size_t{0});
    std::sort(by_name.begin(), by_name.end(),
              [&](size_t a, size_t b) { return tensors[a].name < tensors[b].name; });
    const auto twin = std::adjacent_find(by_name.begin(), by_name.end(), [&](size_t a, size_t b) {
      return tensors[a].name == tensors[b].name;
    });
    if (twin == by_name.end()) return Ok();
    return DataLoss(fmt::format("the tensor {} is there twice", NameText(tensors[*twin].name)));
  }

 private:
  Status ParseHeader() {
    if (!AsText(bytes_).starts_with("GGUF")) return NotGguf(bytes_);
    TRY(reader_.Skip(4));
    file_.version_ = TRY(reader_.Read<uint32_t>().In("the version"));
    if (file_.version_ < kOldestVersion || file_.version_ > kNewestVersion) {
      return UnreadableVersion(file_.version_);
    }
    tensor_count_ = TRY(reader_.Read<uint64_t>().In("the number of tensors"));
    value_count_ = TRY(reader_.Read<uint64_t>().In("the number of metadata keys"));
    TRY(CheckCount(value_count_, kLeastValueBytes, "metadata keys"));
    return CheckCount(tensor_count_, kLeastTensorBytes, "tensors");
  }

  Status CheckCount(uint64_t count, size_t least_bytes, std::string_view what) const {
    if (count <= reader_.left() / least_bytes) return Ok();
    return DataLoss(
        fmt::format("the header speaks of {} {}, more than fit in a file of {} bytes; the file is "
                    "damaged or was cut off",
                    count, what, file_.size_bytes_));
  }

  Result<std::string_view> ReadString() {
    const uint64_t size = TRY(reader_.Read<uint64_t>());
    return AsText(TRY(reader_.ReadBytes(size)));
  }

  // A key or a tensor's name.
  Result<std::string_view> ReadName() {
    const size_t begin = reader_.offset();
    const std::string_view name = TRY(ReadString());
    if (name.empty()) return DataLoss(fmt::format("the name at byte {} is empty", begin));
    if (name.size() > kMaxNameBytes) {
      return DataLoss(fmt::format("the name at byte {} has {} bytes; at most {} are allowed", begin,
                                  name.size(), kMaxNameBytes));
    }
    if (!IsValidUtf8(name)) return DataLoss(fmt::format("the name at byte {} is not UTF-8", begin));
    return name;
  }

  Status ParseMetadata() {
    std::vector<Value> values;
    values.reserve(std::min(value_count_, kMaxReserved));
    for (uint64_t i = 0; i < value_count_; ++i) {
      const std::string_view key = TRY(WithContext(
          ReadName(), [&] { return fmt::format("metadata key {} of {}", i + 1, value_count_); }));
      values.push_back(TRY(
          WithContext(ReadValue(key), [&] { return "the value of the key " + NameText(key); })));
    }
    file_.metadata_ = TRY(Metadata::Of(std::move(values)));
    return Ok();
  }

  Result<Value> ReadValue(std::string_view key) {
    const ValueType type = TRY(ReadValueType());
    if (type == ValueType::kString) return Value(key, type, AsBytes(TRY(ReadString())));
    const size_t begin = reader_.offset();
    if (type == ValueType::kArray) {
      TRY(SkipArray(/*depth=*/1));
    } else {
      TRY(reader_.Skip(FixedValueBytes(type)));
    }
    return Value(key, type, bytes_.subspan(begin, reader_.offset() - begin));
  }

  Result<ValueType> ReadValueType() {
    const size_t begin = reader_.offset();
    const uint32_t number = TRY(reader_.Read<uint32_t>());
    if (number < kValueTypeCount) return static_cast<ValueType>(number);
    return DataLoss(fmt::format("{} at byte {} is not the number of a value type", number, begin));
  }

  Status SkipArray(int depth) {
    if (depth > kMaxArrayDepth) {
      return Unimplemented(fmt::format("arrays at byte {} lie within each other more than {} deep",
                                       reader_.offset(), kMaxArrayDepth));
    }
    const ValueType type = TRY(ReadValueType());
    const uint64_t count = TRY(reader_.ReadCount<uint64_t>(LeastElementBytes(type)));
    if (const uint32_t fixed = FixedValueBytes(type); fixed != 0) {
      return reader_.Skip(count * fixed);  // fits: ReadCount has checked that the bytes exist
    }
    for (uint64_t i = 0; i < count; ++i) {
      if (type == ValueType::kString) {
        TRY(ReadString());
      } else {
        TRY(SkipArray(depth + 1));
      }
    }
    return Ok();
  }

  Status ParseAlignment() {
    const std::string_view key = "general.alignment";
    const uint64_t alignment = TRY(file_.metadata_.GetOr<uint64_t>(key, kDefaultAlignment));
    if (!std::has_single_bit(alignment) || alignment < kLeastAlignment) {
      return DataLoss(fmt::format("{} is {}; a power of two from {} up is needed", key, alignment,
                                  kLeastAlignment));
    }
    file_.alignment_ = alignment;
    return Ok();
  }

  Status ParseTensors() {
    file_.tensors_.reserve(std::min(tensor_count_, kMaxReserved));
    for (uint64_t i = 0; i < tensor_count_; ++i) {
      Tensor tensor;
      tensor.name = TRY(WithContext(
          ReadName(), [&] { return fmt::format("tensor {} of {}", i + 1, tensor_count_); }));
      TRY(WithContext(ReadShapeAndPlace(tensor),
                      [&] { return "tensor " + NameText(tensor.name); }));
      file_.tensors_.push_back(tensor);
      file_.listed_names_.push_back(tensor.name);
    }
    return Ok();
  }

  Status ReadShapeAndPlace(Tensor& tensor) {
    const size_t begin = reader_.offset();
    tensor.dim_count = TRY(reader_.Read<uint32_t>());
    if (tensor.dim_count > kMaxDims) {
      return DataLoss(fmt::format("it has {} dimensions (byte {}); at most {} are possible",
                                  tensor.dim_count, begin, kMaxDims));
    }
    tensor.element_count = 1;
    for (uint32_t i = 0; i < tensor.dim_count; ++i) {
      tensor.dims[i] = TRY(reader_.Read<uint64_t>());
      const auto product = CheckedMul(tensor.element_count, tensor.dims[i]);
      if (!product || !std::in_range<int64_t>(*product) || tensor.dims[i] == 0) {
        return DataLoss(fmt::format("no tensor can have {} as dimension {} (byte {})",
                                    tensor.dims[i], i, reader_.offset() - sizeof(uint64_t)));
      }
      tensor.element_count = *product;
    }
    tensor.type = static_cast<TensorType>(TRY(reader_.Read<uint32_t>()));
    tensor.offset = TRY(reader_.Read<uint64_t>());  // relative to data_offset_ for now
    return Ok();
  }

  // Finds the place of every tensor's bytes, which depends on the end of the head.
  Status PlaceTensors() {
    const auto data_offset = CheckedRoundUp<uint64_t>(reader_.offset(), file_.alignment_);
    if (!data_offset) return DataLoss("general.alignment is absurdly large");
    file_.data_offset_ =
        tensor_count_ == 0 ? std::min<uint64_t>(*data_offset, file_.size_bytes_) : *data_offset;
    sizes_.reserve(file_.tensors_.size());
    for (Tensor& tensor : file_.tensors_) {
      TRY(WithContext(PlaceTensor(tensor), [&] { return "tensor " + NameText(tensor.name); }));
    }
    return CheckOverlaps();
  }

  Status PlaceTensor(Tensor& tensor) {
    if (tensor.offset % file_.alignment_ != 0) {
      return DataLoss(fmt::format("its offset {} is not a multiple of the file's alignment, {}",
                                  tensor.offset, file_.alignment_));
    }
    uint64_t size = 0;
    if (FindTensorType(tensor.type) != nullptr) {
      size = TRY(TensorBytes(tensor.type, tensor.shape()));
      tensor.size_known = true;
    }
    const auto begin = CheckedAdd(file_.data_offset_, tensor.offset);
    const auto end = begin ? CheckedAdd(*begin, size) : std::nullopt;
    if (!end || *end > file_.size_bytes_) {
      return DataLoss(
          fmt::format("its {} bytes at offset {} of the data, which begins at byte {}, end behind "
                      "the end of the file ({} bytes); the file is incomplete or damaged, get it "
                      "again",
                      size, tensor.offset, file_.data_offset_, file_.size_bytes_));
    }
    tensor.offset = *begin;
    if (!data_.empty()) tensor.data = data_.subspan(*begin, size);
    sizes_.push_back(size);
    return Ok();
  }

  // In the order of offsets, each tensor must end before the next one.
  Status CheckOverlaps() const {
    std::vector<size_t> by_offset(file_.tensors_.size());
    std::iota(by_offset.begin(), by_offset.end(), size_t{0});
    const auto offset_and_size = [&](size_t i) {
      return std::pair(file_.tensors_[i].offset, sizes_[i]);
    };
    std::sort(by_offset.begin(), by_offset.end(),
              [&](size_t a, size_t b) { return offset_and_size(a) < offset_and_size(b); });
    for (size_t i = 1; i < by_offset.size(); ++i) {
      const Tensor& before = file_.tensors_[by_offset[i - 1]];
      const uint64_t before_size = sizes_[by_offset[i - 1]];
      const Tensor& after = file_.tensors_[by_offset[i]];
      if (before.offset + before_size > after.offset) {
        return DataLoss(fmt::format(
            "the data of the tensors {} (byte {}, {} bytes) and {} (byte {}) overlap; the file is "
            "damaged, get it again",
            NameText(before.name), before.offset, before_size, NameText(after.name), after.offset));
      }
    }
    return Ok();
  }

  File& file_;
  const Bytes bytes_;  // begin with the head
  const Bytes data_;
  ByteReader reader_;
  uint64_t tensor_count_ = 0;
  uint64_t value_count_ = 0;
  std::vector<uint64_t> sizes_;  // of the tensors' data
};

std::string ShapeText(const Tensor& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape(), ", "));
}

Result<File> File::Open(const std::string& path) {
  MappedFile mapped = TRY(MappedFile::Open(path));
  File file = TRY(Parse(mapped.bytes()).In(path));
  file.mapped_ = std::move(mapped);
  return file;
}

Result<File> File::Parse(Bytes bytes) {
  File file;
  file.bytes_ = bytes;
  file.size_bytes_ = bytes.size();
  TRY(FileParser(file, bytes).Parse());
  return file;
}

Result<File> File::ParseOwnHead(std::vector<uint8_t> head, uint64_t size_bytes, Bytes data) {
  File file;
  file.head_ = std::move(head);
  file.bytes_ = file.head_;
  file.size_bytes_ = size_bytes;
  TRY(FileParser(file, data).Parse());
  return file;
}

Result<File> File::ParseHead(std::vector<uint8_t> head, uint64_t size_bytes, std::string name) {
  File file = TRY(ParseOwnHead(std::move(head), size_bytes, {}));
  file.name_ = std::move(name);
  return file;
}

Result<File> File::OpenPartial(std::vector<uint8_t> head, const std::string& data_path,
                               FunctionRef<bool(size_t tensor_index)> is_there) {
  MappedFile mapped = TRY(MappedFile::Open(data_path));
  File file =
      TRY(ParseOwnHead(std::move(head), mapped.bytes().size(), mapped.bytes()).In(data_path));
  file.mapped_ = std::move(mapped);
  std::vector<Tensor> there;
  for (size_t i = 0; i < file.tensors_.size(); ++i) {
    if (is_there(i)) there.push_back(file.tensors_[i]);
  }
  file.tensors_ = std::move(there);
  file.by_name_.clear();
  TRY(FileParser(file, {}).IndexTensors());
  return file;
}

void File::Rename(std::string_view name, std::string new_name) {
  CHECK(FindTensor(new_name) == nullptr);
  const auto renamed = std::ranges::find(tensors_, name, &Tensor::name);
  const auto listed = std::ranges::find(listed_names_, name);
  new_names_.push_back(std::move(new_name));
  if (listed != listed_names_.end()) *listed = new_names_.back();
  if (renamed == tensors_.end()) return;
  renamed->name = new_names_.back();
  std::ranges::sort(by_name_, {}, [&](size_t i) { return tensors_[i].name; });
}

const Tensor* File::FindTensor(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](size_t index, std::string_view n) { return tensors_[index].name < n; });
  if (found == by_name_.end() || tensors_[*found].name != name) return nullptr;
  return &tensors_[*found];
}

}  // namespace aster::gguf
