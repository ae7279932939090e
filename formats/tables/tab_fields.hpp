#pragma once
#include <cstdint>
#include <string_view>

namespace quern {

/// Takes the fields of a line, one after the other. Throws CorruptFile, with file and line, if there is none or it is
/// not what is asked for.
class TabFields {
 public:
  /// `name`: what messages call the file; `number`: of the line. Both texts must outlive it.
  TabFields(std::string_view line, std::string_view name, std::uint64_t number)
      : rest_(line), name_(name), number_(number) {}

  /// Never empty.
  std::string_view text();
  /// A whole number below 2^64.
  std::uint64_t count();
  /// A finite number.
  double number();
  /// Throws if there are further fields.
  void end() const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::string_view rest_, name_;
  std::uint64_t number_;
  bool at_end_ = false;
};

}  // namespace quern
