// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster devices: the GPUs of this machine, the self-checks of those that may be used, and why one
// is not used.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/terminal/console.h"
#include "vulkan/devices.h"

namespace aster::cli {
namespace {

using vulkan::DeviceInfo;

nlohmann::json ToJson(const DeviceInfo& info) {
  return {{"index", info.index},
          {"name", info.name},
          {"driver", info.driver},
          {"kind", info.kind},
          {"unified_memory", info.unified},
          {"memory_bytes", info.memory_bytes},
          {"available_bytes", info.available_bytes},
          {"checked", info.checked},
          {"native_fma", info.native_fma},
          {"flushes_denormals", info.flushes_denormals},
          {"dot_products", info.dot_products},
          {"halves", info.halves},
          {"matrices", info.matrices},
          {"why_no_matrices", info.why_no_matrices},
          {"used", info.why_not_used.empty()},
          {"why_not_used", info.why_not_used}};
}

const char* YesOrNo(bool yes) { return yes ? "yes" : "no"; }

std::string Matrices(const DeviceInfo& info) {
  if (!info.matrices) return "no";
  return info.why_no_matrices.empty() ? "yes, used" : "yes, not used: " + info.why_no_matrices;
}

void PrintCheck(const DeviceInfo& info, Console& console) {
  console.Print("   arithmetic    fma {}, denormals flushed by the {}\n",
                info.native_fma ? "native" : "emulated",
                info.flushes_denormals ? "device" : "shaders");
  console.Print("   instructions  dot products {}, 16-bit floats {}, matrices {}\n",
                YesOrNo(info.dot_products), YesOrNo(info.halves), Matrices(info));
}

void Print(const DeviceInfo& info, Console& console) {
  console.Print("{}  {} ({})\n", info.index, info.name, info.kind);
  console.Print("   driver        {}\n", info.driver);
  console.Print("   memory        {}{}, {} available\n", FormatBytes(info.memory_bytes),
                info.unified ? " shared with the host" : "", FormatBytes(info.available_bytes));
  if (info.checked) PrintCheck(info, console);
  console.Print("   used          {}\n",
                info.why_not_used.empty() ? "yes" : "no: " + info.why_not_used);
}

Result<ExitStatus> ListDevices(bool json, Console& console) {
  const auto devices = TRY(vulkan::ListDevices(TRY(vulkan::GpuChoicesOfEnvironment())));
  if (json) {
    auto list = nlohmann::json::array();
    for (const DeviceInfo& info : devices) list.push_back(ToJson(info));
    console.Print("{}\n", nlohmann::json{{"devices", list}}.dump(
                              2, ' ', false, nlohmann::json::error_handler_t::replace));
    return kExitOk;
  }
  for (const DeviceInfo& info : devices) Print(info, console);
  if (devices.empty()) console.Print("No Vulkan driver lists a GPU.\n");
  return kExitOk;
}

}  // namespace

Run DeclareDevices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON document");
  return [json](Console& console) { return ListDevices(*json, console); };
}

}  // namespace aster::cli
