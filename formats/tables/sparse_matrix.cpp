#include "quern/formats/tables/sparse_matrix.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "quern/core/bytes.hpp"

namespace quern {
namespace {

/// Columns are numbers of 32 bits with a sign.
constexpr std::uint64_t max_columns = std::uint64_t{1} << 31;
/// As many documents as an index can have.
constexpr std::uint64_t max_rows = end_docid;
/// Far more than any disk holds; their bytes fit 64 bits.
constexpr std::uint64_t max_weights = std::uint64_t{1} << 60;
/// Weights in a piece of a line.
constexpr std::size_t piece_weights = 4096;

/// The bytes of a source after a first part in memory.
class SourcePieces final : public PieceSource {
 public:
  SourcePieces(std::string first, ByteSource& rest) : bytes_(std::move(first)), rest_(&rest) {}

  std::string_view next() override {
    if (!std::exchange(is_begun_, true) && !bytes_.empty()) return bytes_;
    bytes_.resize(default_piece_bytes);
    bytes_.resize(read_fully(*rest_, {reinterpret_cast<std::uint8_t*>(bytes_.data()), bytes_.size()}));
    return bytes_;
  }

 private:
  std::string bytes_;
  ByteSource* rest_;
  bool is_begun_ = false;
};

[[noreturn]] void fail_truncated(std::string_view name, const MatrixHeader& header) {
  throw CorruptFile("{}: ends before the last of its {} rows with {} weights; it is truncated, or its header is wrong",
                    name, header.rows, header.weights);
}

}  // namespace

std::optional<MatrixHeader> read_matrix_header(std::string_view head) {
  if (head.size() < MatrixHeader::bytes) return std::nullopt;
  const ByteView bytes = as_bytes(head);
  const MatrixHeader header{load_le<std::uint64_t>(bytes.data()), load_le<std::uint64_t>(bytes.data() + 8),
                            load_le<std::uint64_t>(bytes.data() + 16)};
  const bool is_possible = header.rows > 0 && header.rows <= max_rows && header.columns > 0 &&
                           header.columns <= max_columns && header.weights <= max_weights &&
                           header.weights / header.columns <= header.rows;
  return is_possible ? std::optional(header) : std::nullopt;
}

MatrixRows::MatrixRows(const MatrixHeader& header, std::string name, PieceValues<std::int64_t> pointers,
                       PieceValues<std::int32_t> columns, PieceValues<float> weights)
    : header_(header), name_(std::move(name)), pointers_(pointers), columns_(columns), weights_(weights) {
  std::int64_t first = 0;
  if (!pointers_.next(first)) fail_truncated(name_, header_);
  if (first != 0) fail(fmt::format("its first weight has the number {}, not 0", first));
}

bool MatrixRows::next(std::string& line) {
  if (row_ == header_.rows) {
    if (at_ != header_.weights)
      throw CorruptFile("{}: its rows have {} weights, but its header says {}", name_, at_, header_.weights);
    if (!weights_.at_end()) throw CorruptFile("{}: is longer than its header says", name_);
    return false;
  }
  if (!std::exchange(in_row_, true)) {
    begin_row();
    fmt::format_to(std::back_inserter(line), "{{\"id\": {}, \"vector\": {{", row_);
  }
  for (std::size_t i = 0; i < piece_weights && at_ < end_; ++i) append_weight(line);
  if (at_ < end_) return true;
  line += "}}\n";
  in_row_ = false;
  ++row_;
  return true;
}

void MatrixRows::begin_row() {
  std::int64_t end = 0;
  if (!pointers_.next(end)) fail_truncated(name_, header_);
  if (end < 0 || static_cast<std::uint64_t>(end) < at_)
    fail(fmt::format("its weights end at {}, before they begin at {}", end, at_));
  if (static_cast<std::uint64_t>(end) > header_.weights)
    fail(fmt::format("its weights end at {}, beyond the {} of the matrix", end, header_.weights));
  begin_ = at_;
  end_ = static_cast<std::uint64_t>(end);
}

void MatrixRows::append_weight(std::string& line) {
  std::int32_t column = 0;
  float weight = 0;
  if (!columns_.next(column) || !weights_.next(weight)) fail_truncated(name_, header_);
  if (column < 0 || static_cast<std::uint64_t>(column) >= header_.columns)
    fail(fmt::format("it has the column {}, but the matrix only 0 to {}", column, header_.columns - 1));
  if (at_ > begin_) line += ',';
  fmt::format_to(std::back_inserter(line), "\"{}\":", column);
  // As a double, so that the text reads back as the same number.
  if (std::isfinite(weight))
    fmt::format_to(std::back_inserter(line), "{}", static_cast<double>(weight));
  else
    line += std::isnan(weight) ? "NaN" : weight > 0 ? "Infinity" : "-Infinity";
  ++at_;
}

void MatrixRows::fail(std::string_view why) const { throw CorruptFile("{}: row {}: {}", name_, row_, why); }

void for_each_matrix_line(std::string_view bytes, const std::string& name, std::uint64_t max_bytes,
                          const std::function<void(std::string_view line, std::uint64_t number)>& visit) {
  const MatrixHeader header = read_matrix_header(bytes).value();
  bytes.remove_prefix(MatrixHeader::bytes);
  if (bytes.size() < header.pointer_bytes() + header.column_bytes()) fail_truncated(name, header);
  ViewPieces pointers(bytes.substr(0, header.pointer_bytes()));
  ViewPieces columns(bytes.substr(header.pointer_bytes(), header.column_bytes()));
  ViewPieces weights(bytes.substr(header.pointer_bytes() + header.column_bytes()));
  MatrixRows rows(header, name, PieceValues<std::int64_t>(pointers), PieceValues<std::int32_t>(columns),
                  PieceValues<float>(weights));
  std::string line;
  for (std::uint64_t number = 1; rows.next(line);) {
    const bool is_whole = line.back() == '\n';
    if (!is_whole && line.size() <= max_bytes) continue;
    visit(std::string_view(line).substr(0, line.size() - is_whole), number++);
    line.clear();
  }
}

/// The three parts of a matrix.
struct MatrixLines::Parts {
  Parts(std::string head, ByteSource& rest, const std::string& tmp_folder)
      : header(read_matrix_header(head).value()),
        pieces(head.substr(MatrixHeader::bytes), rest),
        spool(tmp_folder),
        first_weights(spool_indices(rest.name())),
        pointers(spool, 0, header.pointer_bytes(), default_piece_bytes),
        columns(spool, header.pointer_bytes(), spool.size(), default_piece_bytes),
        rows(header, rest.name(), PieceValues<std::int64_t>(pointers), PieceValues<std::int32_t>(columns),
             PieceValues<float>(pieces, first_weights)) {}

  /// Spools row pointers and columns; returns the bytes after them in the last piece.
  std::string_view spool_indices(const std::string& name) {
    std::uint64_t left = header.pointer_bytes() + header.column_bytes();
    std::string_view piece;
    while (left > 0) {
      if ((piece = pieces.next()).empty()) fail_truncated(name, header);
      const std::string_view part = piece.substr(0, std::min<std::uint64_t>(left, piece.size()));
      spool.append(as_bytes(part));
      left -= part.size();
      piece.remove_prefix(part.size());
    }
    return piece;
  }

  MatrixHeader header;
  SourcePieces pieces;
  Spool spool;
  std::string_view first_weights;
  SpoolPieces pointers, columns;
  MatrixRows rows;
};

MatrixLines::MatrixLines(std::string head, std::shared_ptr<ByteSource> rest, const std::string& tmp_folder)
    : rest_(std::move(rest)), parts_(std::make_unique<Parts>(std::move(head), *rest_, tmp_folder)) {}

MatrixLines::~MatrixLines() = default;

std::size_t MatrixLines::read(std::span<std::uint8_t> to) {
  if (to.empty()) return 0;
  if (read_ == line_.size()) {
    line_.clear();
    read_ = 0;
    while (line_.size() < default_piece_bytes && parts_->rows.next(line_)) {
    }
  }
  const std::size_t size = std::string_view(line_).substr(read_).copy(reinterpret_cast<char*>(to.data()), to.size());
  read_ += size;
  return size;
}

}  // namespace quern
