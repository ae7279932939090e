#include "quern/api/stored.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>

#include "quern/api/internal/boundary.hpp"
#include "quern/api/internal/index_impl.hpp"
#include "quern/formats/fields_file.hpp"
#include "quern/index/make_index.hpp"
#include "quern/text/snippet.hpp"

namespace quern::api {
namespace {

/// The kept fields of each shard; none if the index keeps no fields.
std::deque<FieldsReader> fields_of(const IndexShards& shards) {
  std::deque<FieldsReader> fields;
  if (!has_member(shards[0].name(), fields_member)) return fields;
  for (const IndexReader& shard : shards) fields.push_back(FieldsReader::open_beside(shard));
  return fields;
}

StoredValue stored(const FieldValue& value) {
  switch (value.kind) {
    case FieldValue::Kind::no:
      return false;
    case FieldValue::Kind::yes:
      return true;
    case FieldValue::Kind::number:
      return value.number;
    case FieldValue::Kind::text:
      return std::string(value.text);
    case FieldValue::Kind::none:
      break;
  }
  return std::monostate();
}

}  // namespace

std::vector<std::string> snippets(const Index& index, std::string_view query, std::span<const std::uint32_t> docids) {
  return with_api_errors([&] {
    Index::Impl& impl = *index.impl();
    const auto analyzer = impl.analyzers.borrow();
    SnippetMaker maker(query, *analyzer);
    std::vector<std::string> out;
    out.reserve(docids.size());
    for (const std::uint32_t docid : docids) {
      const IndexShards::Place place = impl.place(docid);
      const std::string text = impl.texts()[place.shard].text(place.docid);
      // The first line is the title.
      maker.add(std::string_view(text).substr(std::min(text.find('\n'), text.size())));
      out.push_back(maker.finish().text);
    }
    return out;
  });
}

std::vector<std::string> kept_fields(const Index& index) {
  return with_api_errors([&] {
    const std::deque<FieldsReader> fields = fields_of(index.impl()->shards);
    return fields.empty() ? std::vector<std::string>() : fields.front().manifest().names;
  });
}

std::vector<StoredValue> kept_values(const Index& index, std::string_view field,
                                     std::span<const std::uint32_t> docids) {
  return with_api_errors([&] {
    const IndexShards& shards = index.impl()->shards;
    const std::deque<FieldsReader> fields = fields_of(shards);
    // All shards keep the same fields.
    const auto number = fields.empty() ? std::nullopt : fields.front().find(field);
    if (!number)
      throw InvalidArgument(
          "{}: keeps no field '{}'; it keeps {}", shards.name(), field,
          fields.empty() ? "none" : fmt::format("{}", fmt::join(fields.front().manifest().names, ", ")));
    std::vector<FieldBuffers> buffers(fields.size());
    std::vector<StoredValue> out;
    out.reserve(docids.size());
    for (const std::uint32_t docid : docids) {
      const IndexShards::Place place = index.impl()->place(docid);
      out.push_back(stored(fields[place.shard].value(*number, place.docid, buffers[place.shard])));
    }
    return out;
  });
}

}  // namespace quern::api
