// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster tokenize: a model's tokens of a text, for users and for scripts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"
#include "gguf/model_files.h"
#include "open/builtin_models.h"
#include "open/load_tokenizer.h"
#include "text/tokenizer.h"

namespace aster::cli {
namespace {

using text::TokenId;
using text::Tokenizer;

struct TokenizeFlags {
  std::string model{open::kDefaultModel};
  bool ids = false;
  bool json = false;
  bool decode = false;
  bool no_bos = false;
  bool no_special = false;
};

Result<std::unique_ptr<Tokenizer>> OpenTokenizer(const std::string& path, Console& console) {
  const std::string file = TRY(open::FindModel(path));
  return open::LoadTokenizer(TRY(gguf::ModelFiles::Open(file)), file, console);
}

// Ids as this command prints them, and as users paste them: whole numbers with white space, commas
// or brackets between.
Result<std::vector<TokenId>> ParseIds(std::string_view input) {
  constexpr std::string_view kBetween = " \t\r\n,[]";
  std::vector<TokenId> ids;
  for (;;) {
    input.remove_prefix(std::min(input.find_first_not_of(kBetween), input.size()));
    if (input.empty()) return ids;
    const std::string_view word = input.substr(0, input.find_first_of(kBetween));
    input.remove_prefix(word.size());
    TokenId id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return InvalidArgument(
          fmt::format("\"{}\" on standard input is no token id; give whole "
                      "numbers, separated by spaces",
                      ForDisplay(word.substr(0, 40))));
    }
    ids.push_back(id);
  }
}

void WarnOfLostBytes(const Tokenizer& tokenizer, std::string_view input, Console& console) {
  const auto lost = std::ranges::count_if(
      input, [&](char c) { return tokenizer.missing_bytes()[static_cast<uint8_t>(c)]; });
  if (lost == 0) return;
  console.Complain("warning", fmt::format("this vocabulary has no tokens for {} of the text's {} "
                                          "bytes; they may be lost",
                                          lost, input.size()));
}

size_t CountCharacters(std::string_view input) {
  size_t count = 0;
  for (; !input.empty(); ++count) input.remove_prefix(DecodeUtf8(input).size);
  return count;
}

std::string_view BytesOf(const Tokenizer& tokenizer, TokenId id) {
  return *tokenizer.TokenBytes(id);
}

bool IsControl(const Tokenizer& tokenizer, TokenId id) {
  return tokenizer.vocab().types[static_cast<size_t>(id)] == text::TokenType::kControl;
}

// Safe to show, with invalid UTF-8 as numbers.
std::string Visible(std::string_view bytes) {
  std::string visible;
  while (!bytes.empty()) {
    const Utf8Step step = DecodeUtf8(bytes);
    const std::string_view character = bytes.substr(0, step.size);
    if (step.valid) {
      visible += ForDisplay(character);
    } else {
      for (const char c : character) {
        visible += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
      }
    }
    bytes.remove_prefix(step.size);
  }
  return visible;
}

void PrintIds(const std::vector<TokenId>& ids, Console& console) {
  console.Print("{}\n", fmt::join(ids, " "));
}

void PrintJson(const Tokenizer& tokenizer, std::string_view input, const std::vector<TokenId>& ids,
               Console& console) {
  nlohmann::ordered_json tokens = nlohmann::json::array();
  for (const TokenId id : ids) {
    const std::string_view bytes = BytesOf(tokenizer, id);
    nlohmann::ordered_json token = {{"id", id}, {"text", ToValidUtf8(bytes)}};
    // Invalid UTF-8 is also shown as bytes.
    if (!IsValidUtf8(bytes)) token["bytes"] = std::vector<uint8_t>(bytes.begin(), bytes.end());
    if (IsControl(tokenizer, id)) token["control"] = true;
    tokens.push_back(std::move(token));
  }
  const nlohmann::ordered_json document = {{"token_count", ids.size()},
                                           {"byte_count", input.size()},
                                           {"character_count", CountCharacters(input)},
                                           {"tokens", std::move(tokens)}};
  console.Print("{}\n", document.dump(2));
}

void PrintForPerson(const Tokenizer& tokenizer, std::string_view input,
                    const std::vector<TokenId>& ids, Console& console) {
  Table table({Table::Align::kRight, Table::Align::kRight, Table::Align::kLeft});
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view bytes = BytesOf(tokenizer, ids[i]);
    const Style style = IsControl(tokenizer, ids[i]) ? Style::kWarn
                        : IsValidUtf8(bytes)         ? Style::kAccent
                                                     : Style::kDim;
    // Quoted, so that spaces at either end are visible.
    table.AddRow({console.Styled(Style::kDim, fmt::format("{}", i)), fmt::format("{}", ids[i]),
                  console.Styled(style, fmt::format("\"{}\"", Visible(bytes)))});
  }
  console.Write(table.Render(0));
  const double bytes_per_token =
      ids.empty() ? 0 : static_cast<double>(input.size()) / static_cast<double>(ids.size());
  console.Print("{} tokens, {} characters, {} bytes; {:.2f} bytes a token\n", ids.size(),
                CountCharacters(input), input.size(), bytes_per_token);
}

Result<ExitStatus> Decode(const Tokenizer& tokenizer, const TokenizeFlags& options,
                          Console& console) {
  const std::string input =
      TRY(ReadStream(stdin, "standard input", size_t{8} * text::kMaxTextBytes));
  const std::vector<TokenId> ids = TRY(ParseIds(input));
  console.Write(TRY(tokenizer.Decode(
      ids, {.remove_added = !options.no_bos, .skip_control = options.no_special})));
  return kExitOk;
}

Result<ExitStatus> Tokenize(const TokenizeFlags& options, Console& console) {
  const auto tokenizer = TRY(OpenTokenizer(options.model, console));
  if (options.decode) return Decode(*tokenizer, options, console);
  const std::string input = TRY(ReadStream(stdin, "standard input", text::kMaxTextBytes));
  const std::vector<TokenId> ids = TRY(tokenizer->Encode(
      input, {.add_special = !options.no_bos, .parse_special = !options.no_special}));
  WarnOfLostBytes(*tokenizer, input, console);
  if (options.ids) {
    PrintIds(ids, console);
  } else if (options.json) {
    PrintJson(*tokenizer, input, ids, console);
  } else {
    PrintForPerson(*tokenizer, input, ids, console);
  }
  return kExitOk;
}

}  // namespace

Run DeclareTokenize(CLI::App& app) {
  auto options = std::make_shared<TokenizeFlags>();
  app.add_option(
         "model", options->model,
         "GGUF file with a tokenizer, or the name of a built-in or pulled model (default: nova)")
      ->type_name("MODEL");
  auto* ids = app.add_flag("--ids", options->ids, "Print only the ids, on one line");
  auto* json = app.add_flag("--json", options->json, "Print one JSON document");
  auto* decode =
      app.add_flag("--decode", options->decode, "Decode ids from standard input into bytes");
  json->excludes(ids);
  decode->excludes(ids)->excludes(json);
  app.add_flag("--no-bos", options->no_bos,
               "Add no special token before or after the text (with --decode: remove none)");
  app.add_flag("--no-special", options->no_special,
               "Treat special tokens in the text as text (with --decode: leave them out)");
  app.footer(
      "Reads the text from standard input, byte for byte: a newline at its end counts.\n"
      "  printf 'Hello there' | aster tokenize model.gguf\n"
      "  printf 'Hello there' | aster tokenize model.gguf --ids | aster tokenize model.gguf "
      "--decode");
  return [options](Console& console) { return Tokenize(*options, console); };
}

}  // namespace aster::cli
