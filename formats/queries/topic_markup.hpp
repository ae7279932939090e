#pragma once
#include "quern/formats/queries/query_file.hpp"

/// Topics between tags: TREC's SGML-like files, where tags are rarely closed, and the web track's XML. One forgiving
/// scanner reads both; see section "Topics between tags" of query_file.md.
namespace quern {

/// The tags of one kind of topic file.
struct TopicMarkup {
  QueryFormat format;
  std::string_view topic_tag;
  std::string_view id_tag;
  std::vector<std::string_view> id_attributes;   ///< of topic_tag; empty if the ID is only in id_tag
  std::vector<std::string_view> query_tags;      ///< the first of these in a topic contains its query
  std::vector<std::string_view> leading_labels;  ///< in lower case: with a colon, they may open a field
};

/// TREC: <top> <num> Number: 51 <title> Topic: ...
const TopicMarkup& trec_markup();
/// Web track: <topic number="1"> <query>...</query>
const TopicMarkup& webtrack_markup();

/// The markup of a file that begins with a tag and contains topics; null for other files. `release` as in
/// for_each_query().
const TopicMarkup* detect_topic_markup(std::string_view bytes, const TextRelease& release = {});

/// Calls visit(id, text) for all topics of a file. Throws CorruptFile, with the line, if a topic has no ID or a field
/// of more than max_written_bytes, or if the last topic isn't closed but others are. `release` as in for_each_query().
void for_each_topic(std::string_view bytes, const TopicMarkup& markup, std::string_view name, const QueryVisitor& visit,
                    const TextRelease& release = {});

}  // namespace quern
