#pragma once
#include <string>
#include <string_view>

namespace quern {

/// Appends text of a page to `out`, so that each & in it begins a whole reference: the semicolon that pages leave out
/// behind numbers and the names of Latin-1 characters ("caf&eacute", "&nbsp2") is put in, as browsers do, and an & that
/// begins no reference becomes &amp;. libxml2 takes only whole references, and is slow to report others.
void append_with_whole_references(std::string_view text, std::string& out);

}  // namespace quern
