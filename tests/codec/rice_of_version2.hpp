#pragma once
#include "quern/codec/rice_layout.hpp"

#include "codec/posting_lists.hpp"

namespace quern::test {

/// A list as it was coded until version 2 of the index: with words of base sums, here of nonsense, which no reader
/// needs.
inline CodedList rice_of_version2(const CodedList& now, std::size_t postings, unsigned block_size) {
  rice::Widths widths = rice::Widths::of_word(now.words[0]);
  widths.has_base_sums = true;
  CodedList then;
  then.words = {widths.word()};
  for (std::size_t block = 0; block + 1 < now.starts.size(); ++block) {
    then.starts.push_back(then.words.size());
    const std::uint32_t* const words = now.words.data() + now.starts[block];
    const unsigned header = rice::header_words(words[0]);
    const bool is_long = (words[0] & 0xffff) == rice::long_length;
    const std::uint32_t docid_unary = is_long ? words[1] : words[0] & 0xffff;
    const auto n = static_cast<unsigned>(std::min<std::size_t>(block_size, postings - block * block_size));
    then.words.insert(then.words.end(), words, words + header);
    then.words.resize(then.words.size() + rice::base_sum_words(widths.docid, n, docid_unary), 0xdeadbeef);
    then.words.insert(then.words.end(), words + header, now.words.data() + now.starts[block + 1]);
  }
  then.starts.push_back(then.words.size());
  return then;
}

}  // namespace quern::test
