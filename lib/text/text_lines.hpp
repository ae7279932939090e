#pragma once
#include <string>
#include <string_view>

#include "quern/core/ascii_text.hpp"
#include "quern/text/document_text.hpp"

namespace quern {

/// Writes a document's streams as text for people and for later stages: the title as one line, which is empty if there
/// is none, then a line for each phrase of the body that is not blank. White space runs together to single spaces, and
/// there is none at the ends of lines. Every line has a line end. The text has the same tokens as the streams, and its
/// body the same phrases.
class TextLines {
 public:
  /// The next piece of the title, or after end_title() of the body, wherever it ends. Appends to `out`.
  void append(std::string_view piece, std::string& out) {
    for (const char c : piece) {
      if (c == phrase_end && in_body_) {
        end_line(out);
      } else if (is_ascii_space(c) || c == phrase_end) {
        space_ = in_line_;
      } else {
        if (space_) out.push_back(' ');
        out.push_back(c);
        space_ = false;
        in_line_ = true;
      }
    }
  }
  void end_title(std::string& out) {
    out.push_back('\n');
    space_ = in_line_ = false;
    in_body_ = true;
  }
  /// Ends the text; the next one may begin.
  void finish(std::string& out) {
    end_line(out);
    in_body_ = false;
  }

 private:
  void end_line(std::string& out) {
    if (in_line_) out.push_back('\n');
    space_ = in_line_ = false;
  }

  bool in_body_ = false;
  bool in_line_ = false;  ///< the line has a character
  bool space_ = false;    ///< and white space after it
};

}  // namespace quern
