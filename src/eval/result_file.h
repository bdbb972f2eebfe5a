// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// A file of results that grows while questions are answered, and is continued after an
// interruption. Must not know what is asked.
#pragma once

#include <string>
#include <vector>

#include "base/append_file.h"
#include "base/result.h"
#include "eval/results.h"

namespace aster::eval {

// Not for concurrent use; while it is open no other process can open the same file.
class ResultFile {
 public:
  // Makes the file, or continues an existing one: an error if that belongs to another run.
  static Result<ResultFile> Open(const std::string& path, const ResultHeader& header);

  // The results of earlier runs.
  const std::vector<QuestionResult>& earlier() const { return earlier_; }
  // In the file when it returns, even if this process is then killed.
  Status Add(const QuestionResult& result) { return file_.Append(FormatResult(result)); }

 private:
  ResultFile(AppendFile file, std::vector<QuestionResult> earlier)
      : file_(std::move(file)), earlier_(std::move(earlier)) {}

  AppendFile file_;
  std::vector<QuestionResult> earlier_;
};

// The results of an evaluation, for reading only.
Result<Results> ReadResults(const std::string& path);

}  // namespace aster::eval
