// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Error messages for Vulkan's result codes. Must not know devices.
#pragma once

#include <string_view>

#include "base/result.h"
#include "vulkan/driver/functions.h"

namespace aster::vulkan {

// "VK_ERROR_DEVICE_LOST"; the number if the name is not known.
std::string NameOf(VkResult result);

// Says what happened while `doing`, and what to do about it. ResourceExhausted if memory is short,
// Unavailable if the device was lost, DeadlineExceeded after a wait.
Error ErrorOf(VkResult result, std::string_view doing);

// Ok, or ErrorOf: codes below zero are errors, and so is a wait that ran out of time.
Status Check(VkResult result, std::string_view doing);

}  // namespace aster::vulkan
