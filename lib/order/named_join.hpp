#pragma once
#include <cstdint>

#include "quern/core/resources.hpp"
#include "quern/formats/collection.hpp"
#include "quern/order/name_join.hpp"
#include "quern/order/page_names.hpp"
#include "quern/text/url.hpp"

namespace quern {

/// What NamedDocuments does, by sorting (name_join.hpp): finds documents by docno or URL, and a name that is the docno
/// of one document and the URL of another is taken as the docno.
template <class Question>
class NamedJoin {
 public:
  /// Reads the names of the collection's documents.
  NamedJoin(const CollectionReader& collection, const Resources& resources, std::uint64_t memory_bytes)
      : docnos_(resources.tmp_folder, memory_bytes / 2), urls_(resources.tmp_folder, memory_bytes / 2) {
    ChunkBuffers buffers;
    for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
      docid_t document = collection.first_document(chunk);
      for (const DocumentRow& row : collection.documents(chunk, buffers)) {
        docnos_.add_document(NameTable::hash_of(row.docno), document);
        if (!row.url.empty()) urls_.add_document(NameTable::hash_of(page_url(row.url)), document);
        ++document;
      }
    }
  }

  void ask(const NameHashes& name, const Question& question) { docnos_.ask(name.docno, {name.url, question}); }

  /// Calls visit(document, question) for each question, in another order: end_docid if no document has the name. To be
  /// called once.
  template <class Visit>
  void answer(Visit&& visit) {
    docnos_.answer([&](docid_t document, const AskedTwice& asked, bool, ByteView) {
      if (document != end_docid) {
        visit(document, asked.question);
      } else {
        urls_.ask(asked.url, asked.question);
      }
    });
    urls_.answer([&](docid_t document, const Question& question, bool, ByteView) { visit(document, question); });
  }

 private:
  struct AskedTwice {
    Hash128 url;
    Question question;
  };

  NameJoin<AskedTwice> docnos_;
  NameJoin<Question> urls_;
};

}  // namespace quern
