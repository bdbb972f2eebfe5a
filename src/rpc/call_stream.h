// SPDX-FileCopyrightText: 2026 The Asterism authors
// SPDX-License-Identifier: MIT

// The replies of a streaming call, read one after another with a time limit. For the .cc files of
// this folder. Must not know what is called.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/support/async_stream.h>

#include <memory>

#include "rpc/grpc_support.h"

namespace aster::rpc {

// Not for concurrent use. The destructor ends the call.
template <typename Message>
class CallStream {
 public:
  // The context outlives it. prepare(queue) makes the reader.
  template <typename Prepare>
  CallStream(grpc::ClientContext& context, int64_t timeout_ns, int64_t silence_ns,
             const Prepare& prepare)
      : silence_ns_(silence_ns), context_(context) {
    context_.set_deadline(DeadlineIn(timeout_ns));
    reader_ = prepare(&queue_);
    reader_->StartCall(this);
    is_open_ = Wait();
  }

  ~CallStream() {
    context_.TryCancel();
    End();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  CallStream(const CallStream&) = delete;
  CallStream& operator=(const CallStream&) = delete;

  // False at the end; Finish returns the reason.
  bool Next(Message* message) {
    if (!is_open_) return false;
    reader_->Read(message, this);
    is_open_ = Wait();
    return is_open_;
  }

  // The result of the call.
  const grpc::Status& Finish() {
    End();
    return status_;
  }
  // Whether it ended because nothing came for too long.
  bool has_timed_out() const { return has_timed_out_; }

 private:
  // Waits for the pending operation and returns whether it succeeded. After too long a silence the
  // call is cancelled, which ends the operation at once.
  bool Wait() {
    void* tag = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&tag, &ok, DeadlineIn(silence_ns_)) ==
        grpc::CompletionQueue::NextStatus::TIMEOUT) {
      has_timed_out_ = true;
      context_.TryCancel();
      queue_.Next(&tag, &ok);
      ok = false;
    }
    return ok;
  }

  void End() {
    if (is_finished_) return;
    is_open_ = false;
    reader_->Finish(&status_, this);
    Wait();
    is_finished_ = true;
  }

  const int64_t silence_ns_;
  grpc::ClientContext& context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderInterface<Message>> reader_;
  grpc::Status status_;
  bool is_open_ = false;
  bool is_finished_ = false;
  bool has_timed_out_ = false;
};

}  // namespace aster::rpc
