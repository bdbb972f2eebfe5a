// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A driver of which one call fails: Vulkan's own functions, found through a lookup that puts a
// wrapper around every one that returns a result code. Only for tests; one thread.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vulkan/driver/errors.h"
#include "vulkan/driver/functions.h"

namespace aster::vulkan {

inline std::string NameOfFault(const testing::TestParamInfo<VkResult>& info) {
  return NameOf(info.param);
}

// The plan of the wrappers; one for the whole program, as Vulkan's functions have no user data.
struct FaultPlan {
  PFN_vkGetInstanceProcAddr real_instance = nullptr;
  PFN_vkGetDeviceProcAddr real_device = nullptr;
  std::optional<size_t> failing_call;  // by its number, from zero
  VkResult result = VK_SUCCESS;        // what that one returns
  std::string failed;                  // its name
  std::vector<std::string> calls;      // the names of all
};
inline FaultPlan& ThePlan() {
  static FaultPlan plan;
  return plan;
}

// Whether this call is the one that fails.
inline bool NextCallFails(std::string_view name) {
  FaultPlan& plan = ThePlan();
  const bool fails = plan.failing_call == plan.calls.size();
  plan.calls.emplace_back(name);
  if (fails) plan.failed = name;
  return fails;
}

// Only functions that return a result code are wrapped.
template <typename Name, typename Function>
struct Faulty {
  static PFN_vkVoidFunction Wrap(PFN_vkVoidFunction function) { return function; }
};
template <typename Name, typename... Args>
struct Faulty<Name, VkResult(VKAPI_PTR*)(Args...)> {
  using Function = VkResult(VKAPI_PTR*)(Args...);
  static inline Function real = nullptr;
  static VKAPI_ATTR VkResult VKAPI_CALL Call(Args... args) {
    return NextCallFails(Name::Text()) ? ThePlan().result : real(args...);
  }
  static PFN_vkVoidFunction Wrap(PFN_vkVoidFunction function) {
    real = reinterpret_cast<Function>(function);
    return reinterpret_cast<PFN_vkVoidFunction>(Call);
  }
};

using WrapFunction = PFN_vkVoidFunction (*)(PFN_vkVoidFunction);

// The wrapper of every function that the tables name.
inline const std::map<std::string_view, WrapFunction>& Wrappers() {
#define ASTER_VULKAN_NAME(name)                           \
  struct Name##name {                                     \
    static std::string_view Text() { return "vk" #name; } \
  };                                                      \
  wrappers[Name##name::Text()] = Faulty<Name##name, PFN_vk##name>::Wrap;
  static const auto all = [] {
    std::map<std::string_view, WrapFunction> wrappers;
    ASTER_VULKAN_GLOBAL_FUNCTIONS(ASTER_VULKAN_NAME)
    ASTER_VULKAN_INSTANCE_FUNCTIONS(ASTER_VULKAN_NAME)
    ASTER_VULKAN_DEVICE_FUNCTIONS(ASTER_VULKAN_NAME)
    return wrappers;
  }();
#undef ASTER_VULKAN_NAME
  return all;
}

inline PFN_vkVoidFunction Wrapped(const char* name, PFN_vkVoidFunction function) {
  const auto found = Wrappers().find(name);
  return function == nullptr || found == Wrappers().end() ? function : found->second(function);
}

inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL FaultyDeviceLookup(VkDevice device,
                                                                   const char* name) {
  return Wrapped(name, ThePlan().real_device(device, name));
}

inline VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL FaultyInstanceLookup(VkInstance instance,
                                                                     const char* name) {
  const PFN_vkVoidFunction function = ThePlan().real_instance(instance, name);
  if (std::string_view(name) == "vkGetDeviceProcAddr") {
    ThePlan().real_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(function);
    return reinterpret_cast<PFN_vkVoidFunction>(FaultyDeviceLookup);
  }
  return Wrapped(name, function);
}

// A library whose call number `failing` returns `result`; with nothing, calls are only counted.
inline Library FaultyLibrary(const Library& real, std::optional<size_t> failing, VkResult result) {
  ThePlan() = FaultPlan{};
  ThePlan().real_instance = real.get_instance_proc_addr;
  ThePlan().failing_call = failing;
  ThePlan().result = result;
  return {.get_instance_proc_addr = FaultyInstanceLookup};
}

// The same from here on, for what such a library has opened.
inline void FailCall(std::optional<size_t> failing, VkResult result) {
  FaultPlan& plan = ThePlan();
  plan.failing_call = failing;
  plan.result = result;
  plan.failed.clear();
  plan.calls.clear();
}

}  // namespace aster::vulkan
