#pragma once
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "quern/api/index_builder.hpp"
#include "quern/io/byte_source.hpp"

namespace quern::api {

/// A queue of bytes from the thread that adds documents to those that parse them. Holds a few buffers.
class DocumentStream : public ByteSource {
 public:
  /// `name`: in messages.
  explicit DocumentStream(std::string name) : name_(std::move(name)) {}

  /// Adds a buffer; waits while the queue is full. Returns false and drops the buffer once reading has stopped.
  bool put(std::string&& buffer);
  /// Ends the stream.
  void finish();
  /// Ends the stream with an error, which read() throws.
  void fail(std::exception_ptr error);

  std::size_t read(std::span<std::uint8_t> to) override;
  void stop() noexcept override;
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

 private:
  static constexpr std::size_t max_buffers = 4;

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> buffers_;
  std::size_t consumed_ = 0;  ///< bytes of the first buffer
  std::uint64_t bytes_read_ = 0;
  bool finished_ = false, stopped_ = false;
  std::exception_ptr error_;
};

/// Appends a document as a line of formats/corpus/jsonl.md.
void append_json_line(std::string& out, const NewDocument& document);

}  // namespace quern::api
