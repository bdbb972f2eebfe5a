// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "vulkan/driver/errors.h"

#include <gtest/gtest.h>

namespace aster::vulkan {
namespace {

TEST(Errors, WhatIsNoErrorIsOk) {
  EXPECT_TRUE(Check(VK_SUCCESS, "x").ok());
  EXPECT_TRUE(Check(VK_INCOMPLETE, "x").ok());
}

TEST(Errors, CodesSayWhatTheCallerCanDo) {
  EXPECT_EQ(Check(VK_ERROR_OUT_OF_DEVICE_MEMORY, "x").error().code(), Code::kResourceExhausted);
  EXPECT_EQ(Check(VK_ERROR_OUT_OF_HOST_MEMORY, "x").error().code(), Code::kResourceExhausted);
  EXPECT_EQ(Check(VK_ERROR_DEVICE_LOST, "x").error().code(), Code::kUnavailable);
  EXPECT_EQ(Check(VK_TIMEOUT, "x").error().code(), Code::kDeadlineExceeded);
}

TEST(Errors, MessagesNameWhatWasDoneAndTheCode) {
  const std::string lost = ErrorOf(VK_ERROR_DEVICE_LOST, "waiting for work").message();
  EXPECT_NE(lost.find("waiting for work: "), std::string::npos);
  EXPECT_NE(lost.find("VK_ERROR_DEVICE_LOST"), std::string::npos);
  EXPECT_NE(ErrorOf(static_cast<VkResult>(-12345), "x").message().find("-12345"),
            std::string::npos);
}

}  // namespace
}  // namespace aster::vulkan
