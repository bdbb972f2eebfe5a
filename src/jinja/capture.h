// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// Private to the evaluator: for the lifetime of an object, captures output in a string, or switches
// to another function's variables.
#pragma once

#include <string>
#include <utility>

#include "jinja/evaluator.h"

namespace aster::jinja {

class Evaluator::Capture {
 public:
  explicit Capture(Evaluator& evaluator) : evaluator_(evaluator), outer_(evaluator.output_) {
    evaluator_.output_ = &text_;
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { Stop(); }

  std::string Take() {
    Stop();
    return std::move(text_);
  }

 private:
  void Stop() {
    if (stopped_) return;
    stopped_ = true;
    evaluator_.output_bytes_ -= text_.size();
    evaluator_.output_ = outer_;
  }

  Evaluator& evaluator_;
  std::string* const outer_;
  std::string text_;
  bool stopped_ = false;
};

class Evaluator::Switched {
 public:
  Switched(Evaluator& evaluator, Ref<Activation> activation)
      : evaluator_(evaluator),
        outer_(std::exchange(evaluator.activation_, std::move(activation))) {}
  Switched(const Switched&) = delete;
  Switched& operator=(const Switched&) = delete;
  ~Switched() { evaluator_.activation_ = outer_; }

 private:
  Evaluator& evaluator_;
  const Ref<Activation> outer_;
};

}  // namespace aster::jinja
