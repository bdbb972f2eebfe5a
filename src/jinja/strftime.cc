// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/strftime.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <optional>

namespace aster::jinja {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

int HourOf12(int hour) { return hour % 12 == 0 ? 12 : hour % 12; }

// The text of the letter after %; nothing if it is not supported.
std::optional<std::string> Directive(const std::tm& time, char letter) {
  const std::string day(kDays[time.tm_wday]);
  const std::string month(kMonths[time.tm_mon]);
  const int year = time.tm_year + 1900;
  switch (letter) {
    case 'a':
      return day.substr(0, 3);
    case 'A':
      return day;
    case 'b':
      return month.substr(0, 3);
    case 'B':
      return month;
    case 'd':
      return fmt::format("{:02}", time.tm_mday);
    case 'F':
      return fmt::format("{}-{:02}-{:02}", year, time.tm_mon + 1, time.tm_mday);
    case 'H':
      return fmt::format("{:02}", time.tm_hour);
    case 'I':
      return fmt::format("{:02}", HourOf12(time.tm_hour));
    case 'j':
      return fmt::format("{:03}", time.tm_yday + 1);
    case 'm':
      return fmt::format("{:02}", time.tm_mon + 1);
    case 'M':
      return fmt::format("{:02}", time.tm_min);
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'S':
      return fmt::format("{:02}", time.tm_sec);
    case 'T':
      return fmt::format("{:02}:{:02}:{:02}", time.tm_hour, time.tm_min, time.tm_sec);
    case 'y':
      return fmt::format("{:02}", year % 100);
    case 'Y':
      return fmt::format("{}", year);
    case 'z':
    case 'Z':
      // The time has no time zone, as with Python's datetime.now().
      return "";
    case '%':
      return "%";
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<std::string> FormatTime(std::string_view format, int64_t unix_s) {
  const auto moment = static_cast<std::time_t>(unix_s);
  std::tm time = {};
  if (localtime_r(&moment, &time) == nullptr) return InvalidArgument("the time is out of range");
  std::string text;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      text += format[i];
      continue;
    }
    ++i;
    // "%-d": without padding, as in the GNU library.
    const bool unpadded = format[i] == '-' && i + 1 < format.size();
    if (unpadded) ++i;
    std::optional<std::string> part = Directive(time, format[i]);
    if (!part) {
      return Unimplemented(
          fmt::format("strftime_now(): '%{}' is not supported", format.substr(i, 1)));
    }
    if (unpadded) part->erase(0, std::min(part->find_first_not_of('0'), part->size() - 1));
    text += *part;
  }
  return text;
}

Status CheckTimeFormat(std::string_view format) {
  TRY(FormatTime(format, 0));
  return Ok();
}

}  // namespace aster::jinja
