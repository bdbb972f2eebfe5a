// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

#include "chat/call_reader.h"

#include "chat/json_scanner.h"
#include "chat/tagged_call.h"

namespace aster::chat {
namespace {

using Verdict = CallReader::Verdict;
using Scan = JsonScanner::Verdict;

// Longer texts are not names.
constexpr size_t kMaxNameBytes = 512;

// Calls of other names are text: the client could not use them.
bool IsOffered(const Tools& tools, std::string_view name) {
  return !tools.has_tool || tools.has_tool(name);
}

// White space, then a literal, byte by byte. An empty one is complete at once.
class Closing {
 public:
  explicit Closing(std::string_view literal) : literal_(literal) {}
  bool is_empty() const { return literal_.empty(); }
  Verdict Feed(char c) {
    if (matched_ == 0 && IsJsonSpace(c)) return Verdict::kMore;
    if (c != literal_[matched_]) return Verdict::kBad;
    return ++matched_ == literal_.size() ? Verdict::kDone : Verdict::kMore;
  }

 private:
  const std::string literal_;
  size_t matched_ = 0;
};

// {"name": "f", "arguments": {…}}, in any order, with other members.
class ObjectCallReader final : public CallReader {
 public:
  struct Options {
    std::string_view close;        // must follow
    bool waits_for_id = false;     // which may come after the arguments
    bool opens_with_brace = true;  // or the brace has been read
  };
  ObjectCallReader(const Options& options, const Tools& tools)
      : options_(options),
        tools_(tools),
        closing_(options.close),
        state_(options.opens_with_brace ? State::kObject : State::kKey) {}

  Verdict Feed(char c, CallSink& sink) override {
    switch (state_) {
      case State::kObject:
        if (IsJsonSpace(c)) return Verdict::kMore;
        return c == '{' ? Go(State::kKey) : Verdict::kBad;
      case State::kKey:
        if (IsJsonSpace(c)) return Verdict::kMore;
        if (c != '"') return Verdict::kBad;
        BeginScan();
        return ScanKey(c);
      case State::kInKey:
        return ScanKey(c);
      case State::kColon:
        if (IsJsonSpace(c)) return Verdict::kMore;
        return c == ':' ? Go(State::kValue) : Verdict::kBad;
      case State::kValue:
        if (IsJsonSpace(c)) return Verdict::kMore;
        BeginScan();
        state_ = State::kInValue;
        return ScanValue(c, sink);
      case State::kInValue:
        return ScanValue(c, sink);
      case State::kAfterValue:
        return AfterValue(c, sink);
      case State::kClosing:
        break;
    }
    return closing_.Feed(c);
  }

 private:
  enum class State : uint8_t {
    kObject,
    kKey,
    kInKey,
    kColon,
    kValue,
    kInValue,
    kAfterValue,
    kClosing
  };

  Verdict Go(State state) {
    state_ = state;
    return Verdict::kMore;
  }
  void BeginScan() {
    scanner_ = JsonScanner();
    scanned_.clear();
    sent_ = 0;
  }

  Verdict ScanKey(char c) {
    state_ = State::kInKey;
    scanned_ += c;
    const Scan scan = scanner_.Feed(c);
    if (scan == Scan::kMore && scanned_.size() < kMaxNameBytes) return Verdict::kMore;
    if (scan != Scan::kDone) return Verdict::kBad;
    const auto key = DecodeJsonString(scanned_);
    if (!key.ok()) return Verdict::kBad;
    key_ = *key;
    return Go(State::kColon);
  }

  bool is_arguments() const { return key_ == "arguments" || key_ == "parameters"; }

  Verdict ScanValue(char c, CallSink& sink) {
    const Scan scan = scanner_.Feed(c);
    if (scan == Scan::kBad) return Verdict::kBad;
    if (scan != Scan::kDoneBefore) scanned_ += c;
    if (is_arguments()) SendArgumentsSoFar(sink);
    if (scan == Scan::kMore) return Verdict::kMore;
    if (!TakeValue()) return Verdict::kBad;
    state_ = State::kAfterValue;
    return scan == Scan::kDoneBefore ? AfterValue(c, sink) : Verdict::kMore;
  }

  // Passes on arguments that are an object, once the name is known.
  void SendArgumentsSoFar(CallSink& sink) {
    if (name_.empty() || options_.waits_for_id || scanned_.front() != '{') return;
    Begin(sink);
    sink.Arguments(std::string_view(scanned_).substr(sent_));
    sent_ = scanned_.size();
  }

  bool TakeValue() {
    if (is_arguments()) {
      if (sent_ > 0) {
        has_sent_all_ = true;
      } else {
        // Some models write the object as a string that contains it.
        auto text =
            scanned_.front() == '"' ? DecodeJsonString(scanned_) : Result<std::string>(scanned_);
        if (!text.ok()) return false;
        arguments_ = *text == "null" ? "{}" : *std::move(text);
      }
    } else if ((key_ == "name" || key_ == "id") && scanned_.front() == '"') {
      const auto text = DecodeJsonString(scanned_);
      if (!text.ok() || text->size() > kMaxNameBytes) return false;
      (key_ == "name" ? name_ : id_) = *text;
      if (key_ == "name" && !IsOffered(tools_, name_)) return false;
    }
    return true;
  }

  Verdict AfterValue(char c, CallSink& sink) {
    if (IsJsonSpace(c)) return Verdict::kMore;
    if (c == ',') return Go(State::kKey);
    return c == '}' ? EndObject(sink) : Verdict::kBad;
  }

  void Begin(CallSink& sink) {
    if (has_begun_) return;
    has_begun_ = true;
    sink.BeginCall(name_, id_);
  }

  Verdict EndObject(CallSink& sink) {
    if (name_.empty()) return Verdict::kBad;
    Begin(sink);
    if (!has_sent_all_) sink.Arguments(arguments_.empty() ? "{}" : arguments_);
    if (closing_.is_empty()) return Verdict::kDone;
    return Go(State::kClosing);
  }

  const Options options_;
  const Tools& tools_;
  Closing closing_;
  State state_;
  JsonScanner scanner_;
  std::string scanned_;  // of the current key or value
  size_t sent_ = 0;      // bytes that were passed on
  std::string key_;
  std::string name_;
  std::string id_;
  std::string arguments_;  // that could not be passed on at once
  bool has_sent_all_ = false;
};

// name, a separator, JSON, and the end of the call: DeepSeek V3, Kimi, Mistral's other form.
class NamedCallReader final : public CallReader {
 public:
  struct Options {
    std::string_view separator;
    std::string_view close;
    bool has_kind = false;          // function<separator>name, JSON in a fence: DeepSeek V3 and R1
    bool name_is_id = false;        // functions.name:0
    std::string_view id_mark = {};  // between a name and an optional id
  };
  NamedCallReader(const Options& options, const Tools& tools)
      : options_(options), tools_(tools), closing_(options.close) {}

  Verdict Feed(char c, CallSink& sink) override {
    switch (state_) {
      case State::kHeader:
        return Header(c);
      case State::kFence:
        return Fence(c);
      case State::kBefore:
        if (IsJsonSpace(c)) return Verdict::kMore;
        if (c != '{') return Verdict::kBad;
        state_ = State::kArguments;
        has_begun_ = true;
        sink.BeginCall(name_, id_);
        return Arguments(c, sink);
      case State::kArguments:
        return Arguments(c, sink);
      case State::kAfterFence:
        // The fence's three backticks.
        if (IsJsonSpace(c) || c == '`') return Verdict::kMore;
        state_ = State::kClosing;
        break;
      case State::kClosing:
        break;
    }
    return closing_.Feed(c);
  }

 private:
  enum class State : uint8_t { kHeader, kFence, kBefore, kArguments, kAfterFence, kClosing };

  Verdict Header(char c) {
    header_ += c;
    if (header_.size() > kMaxNameBytes) return Verdict::kBad;
    if (!header_.ends_with(options_.separator)) return Verdict::kMore;
    header_.resize(header_.size() - options_.separator.size());
    if (options_.has_kind && header_ == "function") {
      header_.clear();
      state_ = State::kFence;
      return Verdict::kMore;
    }
    TakeId();
    name_ = header_;
    if (options_.name_is_id) {
      id_ = header_;
      if (name_.starts_with("functions.")) name_.erase(0, std::string_view("functions.").size());
      if (const size_t colon = name_.rfind(':'); colon != std::string::npos) name_.resize(colon);
    }
    state_ = State::kBefore;
    return IsName() ? Verdict::kMore : Verdict::kBad;
  }

  // Takes the id from the end of the header.
  void TakeId() {
    if (options_.id_mark.empty()) return;
    const size_t mark = header_.find(options_.id_mark);
    if (mark == std::string::npos) return;
    id_ = header_.substr(mark + options_.id_mark.size());
    header_.resize(mark);
  }

  Verdict Fence(char c) {
    constexpr std::string_view kFence = "\n```json\n";
    header_ += c;
    if (header_.size() > kMaxNameBytes) return Verdict::kBad;
    if (!header_.ends_with(kFence)) return Verdict::kMore;
    name_ = header_.substr(0, header_.size() - kFence.size());
    is_fenced_ = true;
    state_ = State::kBefore;
    return IsName() ? Verdict::kMore : Verdict::kBad;
  }

  bool IsName() const {
    return !name_.empty() && name_.find_first_of(" \t\r\n{}\"") == std::string::npos &&
           IsOffered(tools_, name_);
  }

  Verdict Arguments(char c, CallSink& sink) {
    const Scan scan = scanner_.Feed(c);
    if (scan == Scan::kBad) return Verdict::kBad;
    sink.Arguments({&c, 1});
    if (scan == Scan::kMore) return Verdict::kMore;
    if (closing_.is_empty()) return Verdict::kDone;
    state_ = is_fenced_ ? State::kAfterFence : State::kClosing;
    return Verdict::kMore;
  }

  const Options options_;
  const Tools& tools_;
  Closing closing_;
  State state_ = State::kHeader;
  JsonScanner scanner_;
  std::string header_;
  std::string name_;
  std::string id_;
  bool is_fenced_ = false;
};

// Reads to the end of the call, and then parses it.
class TaggedCallReader final : public CallReader {
 public:
  TaggedCallReader(Family family, const Tools& tools)
      : family_(family), close_(TaggedCallClose(family)), tools_(tools) {}

  Verdict Feed(char c, CallSink& sink) override {
    body_ += c;
    if (!body_.ends_with(close_)) return Verdict::kMore;
    body_.resize(body_.size() - close_.size());
    const auto call = ReadTaggedCall(family_, body_, tools_);
    if (!call.ok() || !IsOffered(tools_, call->name)) return Verdict::kBad;
    has_begun_ = true;
    sink.BeginCall(call->name, "");
    sink.Arguments(call->arguments);
    return Verdict::kDone;
  }

 private:
  const Family family_;
  const std::string_view close_;
  const Tools& tools_;
  std::string body_;
};

}  // namespace

std::unique_ptr<CallReader> MakeCallReader(Family family, const Tools& tools) {
  using OfObject = ObjectCallReader::Options;
  using OfName = NamedCallReader::Options;
  switch (family) {
    case Family::kHermes:
      return std::make_unique<ObjectCallReader>(OfObject{.close = "</tool_call>"}, tools);
    case Family::kLlama:
    case Family::kPhi:
      return std::make_unique<ObjectCallReader>(OfObject{.close = "", .opens_with_brace = false},
                                                tools);
    case Family::kMistral:
      return std::make_unique<ObjectCallReader>(
          OfObject{.close = "", .waits_for_id = true, .opens_with_brace = false}, tools);
    case Family::kDeepSeek:
      return std::make_unique<NamedCallReader>(
          OfName{.separator = "<｜tool▁sep｜>", .close = "<｜tool▁call▁end｜>", .has_kind = true},
          tools);
    case Family::kKimi:
      return std::make_unique<NamedCallReader>(OfName{.separator = "<|tool_call_argument_begin|>",
                                                      .close = "<|tool_call_end|>",
                                                      .name_is_id = true},
                                               tools);
    case Family::kDsml32:
    case Family::kDsml:
    case Family::kDsml41:
    case Family::kGlm:
    case Family::kQwenXml:
    case Family::kMimo:
    case Family::kMiniMax:
    case Family::kGemma:
      return std::make_unique<TaggedCallReader>(family, tools);
    case Family::kPlain:
    case Family::kHarmony:  // its replies have their own parser
      break;
  }
  return nullptr;
}

std::unique_ptr<CallReader> MakeNamedCallReader(const Tools& tools) {
  return std::make_unique<NamedCallReader>(
      NamedCallReader::Options{.separator = "[ARGS]", .close = "", .id_mark = "[CALL_ID]"}, tools);
}

}  // namespace aster::chat
