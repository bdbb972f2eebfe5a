// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "respond/json_error.h"

#include <nlohmann/json.hpp>
#include <string>

namespace aster::respond {
namespace {

using nlohmann::ordered_json;

// Reads JSON only to find the first error.
class ErrorFinder final : public nlohmann::json_sax<ordered_json> {
 public:
  size_t position() const { return position_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(size_t /*size*/) override { return true; }
  bool key(string_t& /*value*/) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t /*size*/) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    position_ = position;
    return false;
  }

 private:
  size_t position_ = 0;
};

}  // namespace

size_t FindJsonError(std::string_view text) {
  ErrorFinder finder;
  static_cast<void>(ordered_json::sax_parse(text, &finder));
  return finder.position();
}

}  // namespace aster::respond
