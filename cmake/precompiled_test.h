// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// What every unit test includes, parsed once a module in sanitizer builds.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precompiled.h"
