// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// aster session list, show: the sessions, and the content of one.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/session/session_commands.h"
#include "cli/session/session_keeper.h"
#include "cli/session/session_report.h"
#include "cli/terminal/console.h"
#include "cli/terminal/table.h"

namespace aster::cli {
namespace {

using nlohmann::ordered_json;

constexpr size_t kShownLines = 12;

std::string Dump(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::string Age(int64_t saved_ns, const Clock& clock) {
  return FormatDuration(std::max<int64_t>(clock.WallNs() - saved_ns, 0)) + " ago";
}

void PrintTable(const std::vector<ExaminedSession>& sessions, const Clock& clock,
                Console& console) {
  using Align = Table::Align;
  Table table({Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft});
  table.AddRow({"name", "model", "tokens", "turns", "own", "shared", "saved"});
  for (const ExaminedSession& examined : sessions) {
    const disk::ListedSession& listed = examined.listed;
    if (listed.error) {
      table.AddRow({Harmless(listed.name), "cannot be read"});
      continue;
    }
    const disk::Session& session = listed.session;
    table.AddRow({Harmless(listed.name), Harmless(session.model.name),
                  std::to_string(session.tokens.size()),
                  std::to_string(CountTurns(session.messages)), FormatBytes(listed.own_bytes),
                  FormatBytes(listed.shared_bytes),
                  Age(session.saved_ns, clock) + (listed.damage ? ", damaged" : "")});
  }
  console.Write(table.Render(0));
  for (const ExaminedSession& examined : sessions) {
    const disk::ListedSession& listed = examined.listed;
    if (listed.error) console.Complain("warning", Harmless(listed.error->message()));
    if (listed.damage) console.Complain("warning", Harmless(listed.damage->message()));
  }
}

Result<ExitStatus> List(bool json, Console& console) {
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  std::vector<ExaminedSession> sessions;
  for (disk::ListedSession& listed : TRY(folder.List())) {
    sessions.push_back(
        ExamineSession(folder, std::move(listed), disk::SessionFolder::Look::kHeaders));
  }
  if (json) {
    ordered_json all = ordered_json::array();
    for (const ExaminedSession& examined : sessions) all.push_back(SessionJson(examined));
    console.Write(Dump(all));
  } else if (sessions.empty()) {
    console.Print("no sessions; `aster session save` or /save in a conversation makes one\n");
  } else {
    PrintTable(sessions, clock, console);
  }
  return kExitOk;
}

// The last lines of the conversation.
std::string LastLines(const disk::Session& session) {
  std::vector<std::string> lines;
  for (const disk::SessionMessage& message : session.messages) {
    std::string text = Harmless(message.content);
    const char* mark = message.role == "user" ? "> " : "  ";
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      lines.push_back(mark + text.substr(begin, end - begin) + "\n");
      begin = end + 1;
    }
  }
  std::string last;
  for (size_t i = lines.size() - std::min(lines.size(), kShownLines); i < lines.size(); ++i) {
    last += lines[i];
  }
  return last;
}

Result<ExitStatus> Show(const std::string& name, bool json, Console& console) {
  SystemClock clock;
  const disk::SessionFolder folder = TRY(UserSessions(clock));
  const ExaminedSession examined =
      ExamineSession(folder, TRY(FindSession(folder, name)), disk::SessionFolder::Look::kRows);
  const disk::ListedSession& listed = examined.listed;
  const disk::Session& session = listed.session;
  if (json) {
    console.Write(Dump(WholeSessionJson(examined)));
    return listed.damage ? kExitInput : kExitOk;
  }
  const HeldRows held = HeldBy(examined);
  console.Print("name      {}\n", Harmless(listed.name));
  console.Print("file      {}\n", Harmless(listed.path));
  console.Print("model     {} ({})\n", Harmless(session.model.name),
                session.model.fingerprint.ToHex());
  console.Print("rows      {}\n", Harmless(session.model.layout_description));
  console.Print("tokens    {}, {} of them with KV rows of {} layers\n", session.tokens.size(),
                held.positions, held.layers);
  console.Print("turns     {}\n", CountTurns(session.messages));
  console.Print("bytes     {} of its own, {} shared with other sessions\n",
                FormatBytes(listed.own_bytes), FormatBytes(listed.shared_bytes));
  console.Print("saved     {}\n", Age(session.saved_ns, clock));
  if (const std::string lines = LastLines(session); !lines.empty()) console.Write("\n" + lines);
  if (!listed.damage) return kExitOk;
  TRY(console.Flush());
  return *listed.damage;
}

}  // namespace

Run DeclareSessionList(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "Print one JSON document");
  return [json](Console& console) { return List(*json, console); };
}

Run DeclareSessionShow(CLI::App& app) {
  struct Options {
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  app.add_option("name", options->name, "Name of the session, or a path with a slash")
      ->required()
      ->type_name("NAME");
  app.add_flag("--json", options->json, "Print one JSON document, with all messages");
  return [options](Console& console) { return Show(options->name, options->json, console); };
}

}  // namespace aster::cli
