// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "jinja/strftime.h"

#include <fmt/format.h>

#include <ctime>

namespace aster::jinja {
namespace {

constexpr std::string_view kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                      "Thursday", "Friday", "Saturday"};
constexpr std::string_view kMonths[] = {"January",   "February", "March",    "April",
                                        "May",       "June",     "July",     "August",
                                        "September", "October",  "November", "December"};

// A year and the number of a week in it.
struct YearWeek {
  int year;
  int week;
};

// By ISO 8601: weeks begin on Monday and belong to the year of their Thursday.
YearWeek IsoWeekOf(const std::tm& time) {
  const int year = time.tm_year + 1900;
  const int weekday = (time.tm_wday + 6) % 7;
  const int week = (time.tm_yday - weekday + 10) / 7;
  auto weeks_in = [](int y) {
    auto december_31 = [](int z) { return (z + z / 4 - z / 100 + z / 400) % 7; };
    return december_31(y) == 4 || december_31(y - 1) == 3 ? 53 : 52;
  };
  if (week < 1) return {year - 1, weeks_in(year - 1)};
  if (week > weeks_in(year)) return {year + 1, 1};
  return {year, week};
}

class TimeFormatter {
 public:
  TimeFormatter(const std::tm& time, int64_t unix_s) : time_(time), unix_s_(unix_s) {}

  std::string Format(std::string_view format) const {
    std::string text;
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%' || i + 1 == format.size()) {
        text += format[i];
        continue;
      }
      ++i;
      // "%-d": without padding, as the GNU library has it.
      const bool unpadded = format[i] == '-' && i + 1 < format.size();
      if (unpadded) ++i;
      std::string part = Directive(format[i]);
      if (unpadded) {
        const size_t digits = part.find_first_not_of("0 ");
        part.erase(0, std::min(digits, part.empty() ? 0 : part.size() - 1));
      }
      text += part;
    }
    return text;
  }

 private:
  int year() const { return time_.tm_year + 1900; }
  int hour12() const { return time_.tm_hour % 12 == 0 ? 12 : time_.tm_hour % 12; }
  std::string_view day() const { return kDays[time_.tm_wday]; }
  std::string_view month() const { return kMonths[time_.tm_mon]; }

  std::string Directive(char letter) const {
    std::string text = DateDirective(letter);
    return text.empty() ? TimeDirective(letter) : text;
  }

  std::string DateDirective(char letter) const {
    switch (letter) {
      case 'a':
        return std::string(day().substr(0, 3));
      case 'A':
        return std::string(day());
      case 'b':
      case 'h':
        return std::string(month().substr(0, 3));
      case 'B':
        return std::string(month());
      case 'C':
        return fmt::format("{:02}", year() / 100);
      case 'd':
        return fmt::format("{:02}", time_.tm_mday);
      case 'D':
      case 'x':
        return Format("%m/%d/%y");
      case 'e':
        return fmt::format("{:2}", time_.tm_mday);
      case 'F':
        return Format("%Y-%m-%d");
      case 'g':
        return fmt::format("{:02}", IsoWeekOf(time_).year % 100);
      case 'G':
        return fmt::format("{}", IsoWeekOf(time_).year);
      case 'j':
        return fmt::format("{:03}", time_.tm_yday + 1);
      case 'm':
        return fmt::format("{:02}", time_.tm_mon + 1);
      case 'u':
        return fmt::format("{}", time_.tm_wday == 0 ? 7 : time_.tm_wday);
      case 'U':
        return fmt::format("{:02}", (time_.tm_yday + 7 - time_.tm_wday) / 7);
      case 'V':
        return fmt::format("{:02}", IsoWeekOf(time_).week);
      case 'w':
        return fmt::format("{}", time_.tm_wday);
      case 'W':
        return fmt::format("{:02}", (time_.tm_yday + 7 - (time_.tm_wday + 6) % 7) / 7);
      case 'y':
        return fmt::format("{:02}", year() % 100);
      case 'Y':
        return fmt::format("{}", year());
      default:
        return {};
    }
  }

  std::string TimeDirective(char letter) const {
    switch (letter) {
      case 'c':
        return Format("%a %b %e %H:%M:%S %Y");
      case 'f':
        return "000000";
      case 'H':
        return fmt::format("{:02}", time_.tm_hour);
      case 'I':
        return fmt::format("{:02}", hour12());
      case 'k':
        return fmt::format("{:2}", time_.tm_hour);
      case 'l':
        return fmt::format("{:2}", hour12());
      case 'M':
        return fmt::format("{:02}", time_.tm_min);
      case 'n':
        return "\n";
      case 'p':
        return time_.tm_hour < 12 ? "AM" : "PM";
      case 'P':
        return time_.tm_hour < 12 ? "am" : "pm";
      case 'r':
        return Format("%I:%M:%S %p");
      case 'R':
        return Format("%H:%M");
      case 's':
        return fmt::format("{}", unix_s_);
      case 'S':
        return fmt::format("{:02}", time_.tm_sec);
      case 't':
        return "\t";
      case 'T':
      case 'X':
        return Format("%H:%M:%S");
      case 'z':
      case 'Z':
        // The moment has no time zone, as Python's datetime.now() has none.
        return {};
      case '%':
        return "%";
      default:
        return std::string("%") + letter;
    }
  }

  const std::tm& time_;
  const int64_t unix_s_;
};

}  // namespace

Result<std::string> FormatTime(std::string_view format, int64_t unix_s) {
  const auto moment = static_cast<std::time_t>(unix_s);
  std::tm time = {};
  if (localtime_r(&moment, &time) == nullptr) return InvalidArgument("the time is out of range");
  return TimeFormatter(time, unix_s).Format(format);
}

}  // namespace aster::jinja
