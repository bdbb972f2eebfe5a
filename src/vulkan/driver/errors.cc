// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/errors.h"

#include <fmt/format.h>

namespace aster::vulkan {
namespace {

struct Meaning {
  VkResult result;
  const char* name;
  Code code;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {VK_TIMEOUT, "VK_TIMEOUT", Code::kDeadlineExceeded,
     "the GPU did not finish in time; smaller batches, or look for a driver problem in the "
     "system's "
     "log"},
    {VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY", Code::kResourceExhausted,
     "the driver found no memory on the host; give the model fewer layers on the GPU or a smaller "
     "context"},
    {VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY", Code::kResourceExhausted,
     "the GPU's memory is full; give it fewer layers or a smaller context"},
    {VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS", Code::kResourceExhausted,
     "the driver has no room for more allocations"},
    {VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED", Code::kResourceExhausted,
     "the driver could not map the GPU's memory"},
    {VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", Code::kUnavailable,
     "the GPU was lost: its driver reset it, or it was removed; its contents are lost"},
    {VK_ERROR_INITIALIZATION_FAILED, "VK_ERROR_INITIALIZATION_FAILED", Code::kUnavailable,
     "the driver could not start; is the device in use or removed?"},
    {VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER", Code::kUnavailable,
     "no Vulkan driver fits; install the driver of the GPU"},
    {VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT", Code::kNotFound,
     "a Vulkan layer is missing"},
    {VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT", Code::kUnimplemented,
     "the driver took back an extension that it had listed; update it"},
    {VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT", Code::kUnimplemented,
     "the driver took back a feature that it had listed; update it"},
    {VK_ERROR_INVALID_SHADER_NV, "VK_ERROR_INVALID_SHADER_NV", Code::kInternal,
     "the driver could not compile a shader; update it"},
    {VK_ERROR_UNKNOWN, "VK_ERROR_UNKNOWN", Code::kUnknown,
     "the driver failed and does not say why"},
};

const Meaning* Find(VkResult result) {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result == result) return &meaning;
  }
  return nullptr;
}

}  // namespace

std::string NameOf(VkResult result) {
  const Meaning* const meaning = Find(result);
  return meaning == nullptr ? fmt::format("VkResult {}", static_cast<int>(result)) : meaning->name;
}

Error ErrorOf(VkResult result, std::string_view doing) {
  const Meaning* const meaning = Find(result);
  if (meaning == nullptr)
    return {Code::kUnknown, fmt::format("{}: the driver failed ({})", doing, NameOf(result))};
  return {meaning->code, fmt::format("{}: {} ({})", doing, meaning->text, meaning->name)};
}

Status Check(VkResult result, std::string_view doing) {
  if (result < 0 || result == VK_TIMEOUT) return ErrorOf(result, doing);
  return Ok();
}

}  // namespace aster::vulkan
