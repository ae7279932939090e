#include <fmt/format.h>

#include "quern/core/bytes.hpp"
#include "quern/io/byte_source.hpp"

namespace quern {
namespace {

using namespace std::string_view_literals;

/// A form that Quern can't read, and a remedy.
struct UnreadableForm {
  std::size_t offset;
  std::string_view magic, name, remedy;
};
constexpr UnreadableForm unreadable_forms[] = {
    {0, "PK\x03\x04", "a zip archive", "unzip"},
    {0, "PK\x05\x06", "an empty zip archive", "unzip"},
    {257, "ustar", "a tar archive", "tar -xf"},
    {0, "\x04\x22\x4d\x18", "compressed with lz4", "lz4 -d"},
    {0, "\x02\x21\x4c\x18", "compressed with lz4", "lz4 -d"},
    {0, "7z\xbc\xaf\x27\x1c", "a 7z archive", "7z x"},
    {0, "Rar!\x1a\x07", "a rar archive", "unrar x"},
    {0, "LZIP\x01", "compressed with lzip", "lzip -d"},
    {0, "\x89LZO", "compressed with lzop", "lzop -d"},
    {0, "\xff\x06\x00\x00sNaPpY"sv, "compressed with snappy", "snzip -d"},
};

/// Tables that programs in Python read. Arrays of NumPy aren't among them: models have such files.
constexpr std::pair<std::string_view, std::string_view> python_forms[] = {
    {"PAR1\x15", "a Parquet file"}, {"ARROW1\0"sv, "an Arrow file"}, {"\xff\xff\xff\xff", "an Arrow stream"},
    {"FEA1\0"sv, "a Feather file"}, {"\x89HDF\r\n", "an HDF5 file"},
};

/// The name of such a form; empty for others. NumPy's archives are zip files of arrays.
std::string_view python_form(std::string_view head) {
  constexpr std::size_t name_length_at = 26, name_at = 30;  // in the header of a zip file's first entry
  if (head.starts_with("PK\x03\x04") && head.size() > name_at &&
      head.substr(name_at, load_le<std::uint16_t>(as_bytes(head).data() + name_length_at)).ends_with(".npy"))
    return "a NumPy or SciPy archive (.npz)";
  for (const auto& [magic, name] : python_forms)
    if (head.starts_with(magic)) return name;
  return {};
}

}  // namespace

std::string unreadable_form(ByteView head) {
  if (is_compressed(head)) return "compressed twice; decompress it once first";
  if (const std::string_view form = python_form(as_text(head)); !form.empty())
    return fmt::format(
        "{}, which Quern can't read; load it in Python, whose quern.index() takes matrices, tables and "
        "data frames, or convert it to JSON lines or .csr",
        form);
  for (const UnreadableForm& form : unreadable_forms)
    if (as_text(head).substr(std::min(form.offset, head.size())).starts_with(form.magic))
      return fmt::format("{}, which Quern can't read; unpack it first, for example with {}", form.name, form.remedy);
  // Streams of unknown length, which no binary file that Quern reads could be; the corpus reader refuses others.
  if (as_text(head).starts_with("]\0\0"sv) && as_text(head).substr(5).starts_with("\xff\xff\xff\xff\xff\xff\xff\xff"))
    return "compressed with lzma, which Quern can't read; unpack it first, for example with unlzma";
  return {};
}

}  // namespace quern
