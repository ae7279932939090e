#include "quern/lab/synth/synth_corpus.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>

#include "quern/lab/synth/list_generator.hpp"
#include "quern/lab/synth/term_fields.hpp"

namespace quern {

void append_word(std::uint32_t rank, std::string& text) {
  constexpr std::string_view consonants = "bdfghklmnprstvz", vowels = "aeiou";
  constexpr std::uint64_t syllables = consonants.size() * vowels.size();
  // Words of n syllables come after all shorter ones.
  std::uint64_t left = rank, words = syllables * syllables;
  int length = 2;
  for (; left >= words; ++length, words *= syllables) left -= words;
  for (int i = 0; i < length; ++i, left /= syllables) {
    text += consonants[left % syllables / vowels.size()];
    text += vowels[left % vowels.size()];
  }
}

namespace {

constexpr docid_t chunk_texts = 256;
constexpr std::size_t title_words = 3, words_per_paragraph = 80, words_per_link = 12;
/// Thresholds out of 256 for words that repeat one of the document, of its site and of its directory.
constexpr std::uint64_t repeated = 80, of_site = 90, of_directory = 110;
/// A place uses one of this many words, beyond the most common ones.
constexpr std::uint32_t words_a_place_word = 16, common_words = 64;

const SynthCorpusOptions& checked(const SynthCorpusOptions& options) {
  check_tree_options(options.tree);
  check_range("vocabulary", options.vocabulary, 1, 1u << 31);
  return options;
}

enum TextPurpose : std::uint64_t { text = 0x7e47, place = 0x91ac };

}  // namespace

SynthCorpus::SynthCorpus(const SynthCorpusOptions& options)
    : options_(checked(options)),
      tree_(options.tree),
      names_(tree_),
      links_(tree_, options.mean_links, options.tree.seed) {}

/// Draws by Zipf's law: the rank's logarithm is uniform. A place uses a part of each octave of ranks.
std::uint32_t SynthCorpus::draw_word(std::uint64_t bits, std::uint64_t site, std::uint64_t leaf) const {
  const double even = static_cast<double>(bits >> 11) * 0x1p-53;
  const auto rank = static_cast<std::uint32_t>(std::exp(even * std::log(options_.vocabulary + 1.0)) - 1);
  const std::uint64_t turn = bits & 255;
  if (rank < common_words || turn >= of_site + of_directory) return std::min(rank, options_.vocabulary - 1);
  const std::uint32_t octave = std::bit_floor(rank);
  const std::uint64_t start = noise_bits(turn < of_site ? site : leaf, octave);
  const auto word = static_cast<std::uint32_t>(octave + (start + rank / words_a_place_word) % octave);
  return word % options_.vocabulary;
}

std::vector<std::uint32_t> SynthCorpus::words_of(docid_t document) const {
  const std::uint64_t key = mix_bits(options_.tree.seed + text);
  const std::uint64_t site = noise_bits(key ^ place, names_.site(document));
  const std::uint64_t leaf = noise_bits(site, names_.leaf(document));
  const std::uint64_t own = noise_bits(key, document);
  std::vector<std::uint32_t> words(std::max<std::uint32_t>(title_words, tree_.lengths()[document]));
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::uint64_t bits = noise_bits(own, i);
    const bool again = i > 0 && (bits >> 56) < repeated;
    words[i] = again ? words[bits % i] : draw_word(bits, site, leaf);
  }
  return words;
}

void SynthCorpus::append_document(docid_t document, std::string& text) const {
  const std::vector<std::uint32_t> words = words_of(document);
  std::vector<docid_t> targets;
  links_.links_of(document, targets);
  fmt::format_to(std::back_inserter(text),
                 "<DOC>\n<DOCNO>{}</DOCNO>\n<DOCHDR>\n{}\nHTTP/1.1 200 OK\nContent-Type: text/html; "
                 "charset=utf-8\n</DOCHDR>\n<html><head><title>",
                 DocumentNames::docno(document), names_.url(document));
  for (std::size_t i = 0; i < title_words; ++i) {
    if (i > 0) text += ' ';
    append_word(words[i], text);
  }
  text += "</title></head><body>\n<p>";
  std::size_t next_link = 0;
  for (std::size_t i = title_words; i < words.size(); ++i) {
    const bool linked = i % words_per_link == 0 && next_link < targets.size();
    if (linked) text += "<a href=\"" + names_.url(targets[next_link++]) + "\">";
    append_word(words[i], text);
    if (linked) text += "</a>";
    text += i % words_per_paragraph == 0 ? "</p>\n<p>" : " ";
  }
  for (; next_link < targets.size(); ++next_link) text += "<a href=\"" + names_.url(targets[next_link]) + "\"></a>\n";
  text += "</p></body></html>\n</DOC>\n";
}

void write_corpus(const SynthCorpusOptions& options, const Resources& resources, File& out) {
  return run_stage(resources, [&] {
    const SynthCorpus corpus(options);
    resources.progress->start("write documents", corpus.documents(), "documents");
    const auto put_chunk = [&](std::uint64_t chunk, std::string& text) {
      const std::uint64_t first = chunk * chunk_texts,
                          end = std::min<std::uint64_t>(corpus.documents(), first + chunk_texts);
      for (std::uint64_t document = first; document < end; ++document)
        corpus.append_document(static_cast<docid_t>(document), text);
      resources.progress->add(end - first);
    };
    write_packed_text((corpus.documents() + std::uint64_t{chunk_texts} - 1) / chunk_texts, put_chunk, {}, resources,
                      out);
    resources.progress->finish();
  });
}

}  // namespace quern
