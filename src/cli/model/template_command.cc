// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster template: the prompt of a conversation, made by a chat template.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "chat/prompt.h"
#include "cli/commands.h"
#include "cli/terminal/console.h"
#include "gguf/model_files.h"
#include "jinja/template.h"
#include "open/builtin_models.h"

namespace aster::cli {
namespace {

// Larger than any template and any conversation, and small enough to hold several times.
constexpr size_t kMaxTemplateBytes = size_t{16} << 20;
constexpr size_t kMaxVariablesBytes = size_t{256} << 20;

struct TemplateFlags {
  std::string template_path;
  std::string variables_path;
};

bool IsModelFile(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return file.ok() && AsText(file->bytes()).starts_with("GGUF");
}

// Uses the model file's template, and its first and last tokens unless the variables set others.
Result<std::string> RenderModels(const std::string& path, const std::string& variables) {
  const gguf::ModelFiles files = TRY(gguf::ModelFiles::Open(path));
  const std::string source = chat::ChatTemplateSource(files.metadata());
  if (source.empty()) return NotFound(fmt::format("{} has no chat template", path));
  auto json = nlohmann::ordered_json::parse(variables, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return InvalidArgument("the variables are not a JSON object");
  for (const std::string_view name : {"bos", "eos"}) {
    const std::string key = fmt::format("{}_token", name);
    if (!json.contains(key)) {
      json[key] = chat::SpecialTokenText(files.metadata(), name);
    }
  }
  const auto parsed = TRY(jinja::ChatTemplate::Parse(source).In(path));
  return parsed.Render(json).In(path);
}

Result<std::string> RenderFile(const std::string& path, const std::string& variables) {
  const std::string source = TRY(ReadFile(path, kMaxTemplateBytes));
  const auto parsed = TRY(jinja::ChatTemplate::Parse(source).In(path));
  return parsed.RenderJson(variables).In(path);
}

Result<ExitStatus> Template(const TemplateFlags& options, Console& console) {
  const std::string variables = TRY(ReadFile(options.variables_path, kMaxVariablesBytes));
  const std::string path = TRY(open::FindModel(options.template_path));
  console.Write(
      TRY(IsModelFile(path) ? RenderModels(path, variables) : RenderFile(path, variables)));
  return kExitOk;
}

}  // namespace

Run DeclareTemplate(CLI::App& app) {
  auto options = std::make_shared<TemplateFlags>();
  app.add_option(
         "template", options->template_path,
         "Jinja template, or a model with one: a file, or the name of a built-in or pulled model")
      ->required()
      ->type_name("TEMPLATE.jinja");
  app.add_option("variables", options->variables_path,
                 "JSON object of variables: messages, tools, add_generation_prompt, bos_token, "
                 "eos_token and others")
      ->required()
      ->type_name("VARIABLES.json");
  app.footer(
      "Prints only the prompt. An error names the line of the template.\n"
      "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}], "
      "\"add_generation_prompt\": true}' > chat.json\n"
      "  aster template model.gguf chat.json");
  return [options](Console& console) { return Template(*options, console); };
}

}  // namespace aster::cli
