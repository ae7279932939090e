#pragma once
#include <string>
#include <string_view>

/// Character references: &amp; &#233; &#xE9; and the names of HTML 4.
namespace quern {

/// Appends text of a page to `out` and makes every & in it begin a whole reference. Adds the semicolon that pages omit
/// after numbers and after the names of Latin-1 characters ("caf&eacute", "&nbsp2"), as browsers do, and turns an &
/// that begins no reference into &amp;. libxml2 takes only whole references, and is slow to report others.
void append_with_whole_references(std::string_view text, std::string& out);

/// Appends `text` with its references resolved, also the older "&blank;" and "&hyph;" of the Federal Register. Anything
/// else stays as it is. Control characters become spaces.
void append_without_references(std::string_view text, std::string& out);

}  // namespace quern
