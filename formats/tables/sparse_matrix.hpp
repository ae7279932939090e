#pragma once
#include <cstring>

#include "quern/io/byte_source.hpp"
#include "quern/io/piece_source.hpp"

/// Sparse matrices of weights, whose rows are documents or queries; see csr.md.
namespace quern {

/// The numbers at the start of a matrix.
struct MatrixHeader {
  std::uint64_t rows = 0, columns = 0, weights = 0;

  static constexpr std::size_t bytes = 24;
  std::uint64_t pointer_bytes() const { return (rows + 1) * sizeof(std::int64_t); }
  std::uint64_t column_bytes() const { return weights * sizeof(std::int32_t); }
  std::uint64_t weight_bytes() const { return weights * sizeof(float); }
};

/// The header of a file that begins with `head`; nullopt if its numbers can't be those of a matrix.
std::optional<MatrixHeader> read_matrix_header(std::string_view head);

/// Values of one type in a text whose pieces may end within them.
template <class Value>
class PieceValues {
 public:
  /// `first`: bytes before those of `pieces`, which must outlive this.
  explicit PieceValues(PieceSource& pieces, std::string_view first = {}) : pieces_(&pieces), left_(first) {}

  /// False if the text ends before or within the next value.
  bool next(Value& value) {
    char bytes[sizeof(Value)];
    for (std::size_t size = 0; size < sizeof(Value);) {
      if (left_.empty() && (left_ = pieces_->next()).empty()) return false;
      const std::size_t part = left_.copy(bytes + size, sizeof(Value) - size);
      left_.remove_prefix(part);
      size += part;
    }
    std::memcpy(&value, bytes, sizeof(Value));
    return true;
  }
  bool at_end() { return left_.empty() && (left_ = pieces_->next()).empty(); }

 private:
  PieceSource* pieces_;
  std::string_view left_;
};

/// Writes the rows of a matrix as lines {"id": row, "vector": {"column": weight, …}}, in pieces of bounded size.
class MatrixRows {
 public:
  /// Messages call the file `name`. The last numbers must be all that is left of the file.
  MatrixRows(const MatrixHeader& header, std::string name, PieceValues<std::int64_t> pointers,
             PieceValues<std::int32_t> columns, PieceValues<float> weights);

  /// Appends the next part of a line, with an LF if it is the last one; false after the last row. Throws CorruptFile,
  /// with the row, if its pointers fall or leave the matrix, for an unknown column, and if the file is too short or too
  /// long.
  bool next(std::string& line);

 private:
  void begin_row();
  void append_weight(std::string& line);
  [[noreturn]] void fail(std::string_view why) const;

  MatrixHeader header_;
  std::string name_;
  PieceValues<std::int64_t> pointers_;
  PieceValues<std::int32_t> columns_;
  PieceValues<float> weights_;
  std::uint64_t row_ = 0;
  std::uint64_t begin_ = 0, at_ = 0, end_ = 0;  ///< the row's first weight, the next one, and its end
  bool in_row_ = false;
};

/// Calls visit(line, number) for the lines of a matrix in memory, from 1, without their LF. A line of more than
/// `max_bytes` bytes is cut there. Throws like MatrixRows.
void for_each_matrix_line(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                          const std::function<void(std::string_view line, std::uint64_t number)>& visit);

/// The lines of a matrix in a file. Row pointers and columns, which precede all weights, wait in a work file.
class MatrixLines final : public ByteSource {
 public:
  /// `head` has the first bytes of the file, with a valid header; `rest` has those after them. Throws CorruptFile, with
  /// the name, if the file ends before the weights, and as `rest` does.
  MatrixLines(std::string head, std::shared_ptr<ByteSource> rest, const std::string& tmp_folder);
  ~MatrixLines() override;

  std::size_t read(std::span<std::uint8_t> to) override;
  const std::string& name() const override { return rest_->name(); }
  std::uint64_t compressed_bytes_read() const override { return rest_->compressed_bytes_read(); }

 private:
  struct Parts;

  std::shared_ptr<ByteSource> rest_;
  std::unique_ptr<Parts> parts_;
  std::string line_;
  std::size_t read_ = 0;  ///< bytes of line_
};

}  // namespace quern
