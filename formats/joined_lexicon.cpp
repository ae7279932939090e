#include "quern/formats/joined_lexicon.hpp"

namespace quern {
namespace {

/// Writes each collection's numbers to its place, in batches.
class NumberWriter {
 public:
  NumberWriter(File& file, std::span<const std::uint64_t> offsets)
      : file_(file), next_(offsets.begin(), offsets.end()) {
    waiting_.resize(next_.size());
  }
  void add(std::size_t collection, term_t number) {
    std::vector<term_t>& waiting = waiting_[collection];
    waiting.push_back(number);
    if (waiting.size() == at_once) write(collection);
  }
  void finish() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) write(i);
  }

 private:
  static constexpr std::size_t at_once = 2048;
  void write(std::size_t collection) {
    std::vector<term_t>& waiting = waiting_[collection];
    file_.write_at(next_[collection] * sizeof(term_t),
                   {reinterpret_cast<const std::uint8_t*>(waiting.data()), waiting.size() * sizeof(term_t)});
    next_[collection] += waiting.size();
    waiting.clear();
  }

  File& file_;
  std::vector<std::uint64_t> next_;
  std::vector<std::vector<term_t>> waiting_;
};

}  // namespace

JoinedLexicon::JoinedLexicon(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes)
    : numbers_(File::anonymous(tmp_folder)), taken_(sources.size()) {
  for (const Source& source : sources)
    offsets_.push_back((offsets_.empty() ? 0 : offsets_.back()) + (source.container == nullptr ? 0 : source.terms));
  offsets_.insert(offsets_.begin(), 0);
  join(sources, tmp_folder, memory_bytes);
}

void JoinedLexicon::join(std::span<const Source> sources, const std::string& tmp_folder, std::uint64_t memory_bytes) {
  std::vector<DictionaryScan> scans;
  std::vector<std::size_t> collections;  // collection of each scan
  const std::uint64_t blocks = DictionaryMerge::blocks_at_once(sources.size(), memory_bytes);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (sources[i].container == nullptr) continue;
    scans.emplace_back(*sources[i].container, "lexicon", sources[i].terms, blocks);
    collections.push_back(i);
  }
  File file = File::anonymous(tmp_folder);
  file.rename_for_messages("joined lexicon");
  ContainerWriter out(file, FileKind::collection);
  out.begin_section("lexicon");
  DictionaryWriter dictionary([&out](ByteView bytes) { out.write(bytes); }, tmp_folder);
  NumberWriter numbers(numbers_, std::span(offsets_).first(sources.size()));
  DictionaryMerge merge(std::move(scans));
  std::string term;
  TermCounts counts;
  Bytes payload;
  const auto end_term = [&] {
    if (terms_ == 0) return;
    payload.clear();
    counts.put(payload);
    dictionary.add(term, payload);
  };
  while (merge.next()) {
    if (merge.is_new_term()) {
      end_term();
      if (++terms_ >= end_docid)
        throw InvalidArgument("the collections together have more than 2^32 - 2 terms; split the corpus into shards");
      term = merge.term();
      counts = {};
    }
    counts += TermCounts::parse(merge.payload(), "a lexicon");
    numbers.add(collections[merge.source()], static_cast<term_t>(terms_ - 1));
  }
  end_term();
  numbers.finish();
  const Spool& offsets = dictionary.finish();
  out.end_section();
  out.add_section("lexicon_blocks", offsets);
  out.finish();
  container_.emplace(std::make_shared<const File>(std::move(file)), FileKind::collection);
}

std::shared_ptr<const JoinedTerms> JoinedLexicon::terms_of(std::size_t collection) const {
  const std::lock_guard lock(taking_);
  if (auto taken = taken_[collection].lock()) return taken;
  auto terms = std::make_shared<JoinedTerms>();
  terms->collection = collection;
  terms->numbers.resize(offsets_[collection + 1] - offsets_[collection]);
  numbers_.read_at(offsets_[collection] * sizeof(term_t),
                   {reinterpret_cast<std::uint8_t*>(terms->numbers.data()), terms->numbers.size() * sizeof(term_t)});
  taken_[collection] = terms;
  return terms;
}

TermTournament::Player TermTournament::player(std::uint32_t source, const std::optional<std::string_view>& term) {
  if (!term) return {~std::uint64_t{0}, Player::ended | source};
  terms_[source] = *term;
  const std::uint64_t size = std::min<std::uint64_t>(term->size(), Player::longer);
  return {leading_bytes(*term), size << 32 | source};
}

bool TermTournament::wins_as_text(const Player& a, const Player& b) const {
  const int order = terms_[a.source()].compare(terms_[b.source()]);
  return order != 0 ? order < 0 : a.source() < b.source();
}

void TermTournament::keep_last() {
  last_ = terms_[winner_.source()];
  last_prefix_ = winner_.prefix;
}

void TermTournament::replay(Player player) {
  for (std::size_t node = (terms_.size() + winner_.source()) / 2; node > 0; node /= 2) {
    const Player other = losers_[node];
    const bool other_wins = wins(other, player);
    losers_[node] = other_wins ? player : other;
    player = other_wins ? other : player;
  }
  winner_ = player;
  is_new_ = winner_.has_ended() || winner_.prefix != last_prefix_ || terms_[winner_.source()] != last_;
}

DictionaryMerge::DictionaryMerge(std::vector<DictionaryScan> scans)
    : scans_(std::move(scans)), entries_(scans_.size()), tournament_(scans_.size()) {}

std::uint64_t DictionaryMerge::blocks_at_once(std::size_t scans, std::uint64_t memory_bytes) {
  // For terms of ordinary length; a block of very long terms needs several times as much.
  constexpr std::uint64_t block_bytes = 1024, max_blocks = 512;
  return std::clamp<std::uint64_t>(memory_bytes / (std::max<std::size_t>(scans, 1) * block_bytes), 1, max_blocks);
}

bool DictionaryMerge::next() {
  return tournament_.next([&](std::size_t source) -> std::optional<std::string_view> {
    if (!scans_[source].next(entries_[source])) return std::nullopt;
    return entries_[source].term;
  });
}

}  // namespace quern
