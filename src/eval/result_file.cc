// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "eval/result_file.h"

#include "base/files.h"

namespace aster::eval {

Result<ResultFile> ResultFile::Open(const std::string& path, const ResultHeader& header) {
  AppendFile file = TRY(AppendFile::Open(path));
  const std::string text = TRY(ReadFile(path, kMaxResultBytes));
  // An empty file, or an incomplete header: begins again.
  if (text.find('\n') == std::string::npos) {
    const bool is_ours = FormatHeader(header).starts_with(text);
    if (!is_ours)
      return FailedPrecondition(path + ": is no result of aster eval; give another name");
    TRY(file.CutAt(0));
    TRY(file.Append(FormatHeader(header)));
    return ResultFile(std::move(file), {});
  }
  Results results = TRY(ParseResults(text).In(path));
  TRY(CheckSameRun(results.header, header).In(path));
  TRY(file.CutAt(results.whole_bytes));
  return ResultFile(std::move(file), std::move(results.results));
}

Result<Results> ReadResults(const std::string& path) {
  const std::string text = TRY(ReadFile(path, kMaxResultBytes));
  return ParseResults(text).In(path);
}

}  // namespace aster::eval
