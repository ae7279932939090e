#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <span>
#include <string>

#include "quern/api/index_builder.hpp"
#include "quern/io/byte_source.hpp"

namespace quern::api {

/// Bytes on their way from the thread that makes them to those that parse them. A few pieces wait in it.
class DocumentStream : public ByteSource {
 public:
  /// `name`: what messages call it.
  explicit DocumentStream(std::string name) : name_(std::move(name)) {}

  /// Hands a piece over; waits while others wait. False, and the piece is dropped, once nobody reads any more.
  bool put(std::string&& piece);
  /// No more pieces follow.
  void finish();
  /// The same, because of this error, which the reader throws.
  void fail(std::exception_ptr error);

  std::size_t read(std::span<std::uint8_t> to) override;
  void stop() noexcept override;
  const std::string& name() const override { return name_; }
  std::uint64_t compressed_bytes_read() const override { return bytes_read_; }

 private:
  static constexpr std::size_t most_pieces = 4;

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> pieces_;
  std::size_t consumed_ = 0;  ///< of the first piece
  std::uint64_t bytes_read_ = 0;
  bool finished_ = false, stopped_ = false;
  std::exception_ptr error_;
};

/// Appends a document as a line of formats/corpus/jsonl.md.
void append_json_line(std::string& out, const NewDocument& document);

}  // namespace quern::api
