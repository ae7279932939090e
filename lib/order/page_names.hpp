#pragma once
#include <cstring>
#include <type_traits>

#include "quern/core/job_pipeline.hpp"
#include "quern/formats/collection.hpp"
#include "quern/io/checksum.hpp"
#include "quern/io/external_sort.hpp"
#include "quern/text/url.hpp"

namespace quern {

/// Calls visit(document, row) for all documents of a collection, in order.
template <class Visit>
void for_each_document(const CollectionReader& collection, Visit&& visit) {
  ChunkBuffers buffers;
  for (std::size_t chunk = 0; chunk < collection.num_chunks(); ++chunk) {
    docid_t document = collection.first_document(chunk);
    for (const DocumentRow& row : collection.documents(chunk, buffers)) visit(document++, row);
  }
}

/// Calls make(row) for all documents of a collection in parallel, and put(document, result) for each in order. Holds
/// `chunks_at_once` chunks in memory.
template <class Make, class Put>
void map_documents(const CollectionReader& collection, std::size_t chunks_at_once, Make&& make, Put&& put) {
  struct Job {
    std::size_t chunk = 0;
    ChunkBuffers buffers;
    std::vector<std::invoke_result_t<Make, const DocumentRow&>> results;
  };
  std::size_t next_chunk = 0;
  const auto next = [&](Job& job) {
    job.chunk = next_chunk++;
    return job.chunk < collection.num_chunks();
  };
  const auto work = [&](Job& job) {
    job.results.clear();
    for (const DocumentRow& row : collection.documents(job.chunk, job.buffers)) job.results.push_back(make(row));
  };
  docid_t document = 0;
  run_jobs(
      chunks_at_once, [] { return std::make_unique<Job>(); }, next, work,
      [&](const Job& job) {
        for (const auto& result : job.results) put(document++, result);
      });
}

/// Maps names to numbers. Stores names as 128-bit hashes: about 30 bytes per name of any length.
class NameTable {
 public:
  /// Maximum bytes per name: with the number of names reserved, and while growing without a reservation.
  static constexpr std::uint64_t name_bytes = 40, growing_name_bytes = 88;

  explicit NameTable(std::size_t expected_names = 0);

  std::size_t size() const { return entries_.size(); }
  /// Assigns the number to the name unless it has one; returns the name's number.
  docid_t add(std::string_view name, docid_t number) { return add(hash_of(name), number); }
  docid_t add(const Hash128& hash, docid_t number);
  /// end_docid if the name was never added.
  docid_t find(const Hash128& hash) const;
  docid_t find(std::string_view name) const { return find(hash_of(name)); }

  static Hash128 hash_of(std::string_view name);

 private:
  struct Entry {
    Hash128 hash;
    docid_t number;
  };
  /// The hash's slot, or the empty slot for it.
  std::size_t slot_of(const Hash128& hash) const;
  void rehash(std::size_t slots);

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> slots_;  ///< index in entries_ + 1, 0 if empty; open addressing, at most half full
};

/// Finds a collection's documents by their URLs. A URL that several documents share belongs to the first.
class PageUrls {
 public:
  /// Reads `chunks_at_once` chunks in parallel; each takes link_reading_bytes().
  explicit PageUrls(const CollectionReader& collection, std::size_t chunks_at_once = 1);
  /// Memory of the table of this collection.
  static std::uint64_t table_bytes(const CollectionReader& collection);

  /// The document whose page_url() has this hash (NameTable::hash_of()); end_docid if there is none.
  docid_t find(const Hash128& page_url_hash) const { return urls_.find(page_url_hash); }
  /// The first document with this document's URL; the document itself if it has none.
  docid_t first_with_url_of(docid_t document) const { return firsts_[document]; }

 private:
  NameTable urls_;
  std::vector<docid_t> firsts_;
};

/// The two meanings of a name as hashes (NameTable::hash_of()): as a docno, and as a page_url().
struct NameHashes {
  Hash128 docno, url;

  static NameHashes from_name(std::string_view name);
};

/// Finds a collection's documents by docno or URL. A name that is the docno of one document and the URL of another
/// means the docno.
class NamedDocuments {
 public:
  explicit NamedDocuments(const CollectionReader& collection);
  /// Memory of the tables of this collection.
  static std::uint64_t table_bytes(const CollectionReader& collection);

  /// end_docid if no document has this name.
  docid_t find(std::string_view name) const;

 private:
  NameTable docnos_;
  PageUrls urls_;
};

/// Finds documents by name by sorting, for names that do not fit in memory. Takes all names and questions first, then
/// answers all questions in another order. `Question` is returned with the answer.
template <class Question>
class NameJoin {
  static_assert(std::is_trivially_copyable_v<Question> && std::has_unique_object_representations_v<Question>,
                "questions are compared by their bytes");

 public:
  NameJoin(const std::string& tmp_folder, std::uint64_t memory_bytes) : rows_(tmp_folder, memory_bytes) {}

  /// A name shared by several documents belongs to the one with the lowest number.
  void add_document(const Hash128& name, docid_t document) {
    rows_.add(SortKey(name.low, name.high, document_row, document).view(), {});
  }

  /// `payload` is returned with the answer.
  void ask(const Hash128& name, const Question& question, ByteView payload = {}) {
    const SortKey key(name.low, name.high, question_row);
    std::uint8_t row[key_bytes + sizeof question];
    std::memcpy(row, key.view().data(), key_bytes);
    std::memcpy(row + key_bytes, &question, sizeof question);
    rows_.add({reinterpret_cast<const char*>(row), sizeof row}, payload);
  }

  /// Calls visit(document, question, is_repeated, payload) for each question: document is end_docid if no document has
  /// the name; is_repeated means that the same question came before. Call once.
  template <class Visit>
  void answer(Visit&& visit) {
    std::string name, question_before;
    docid_t document = end_docid;
    rows_.merge([&](std::string_view row, ByteView payload) {
      if (row.substr(0, name_bytes) != name) {
        name = row.substr(0, name_bytes);
        question_before.clear();
        document = end_docid;
      }
      if (row[name_bytes] == document_row) {
        document = std::min(document, number_in_key<docid_t>(row, key_bytes));
        return;
      }
      const std::string_view asked = row.substr(key_bytes);
      Question question;
      std::memcpy(&question, asked.data(), sizeof question);
      visit(document, question, asked == question_before, payload);
      question_before = asked;
    });
  }

 private:
  /// Documents sort before the questions about them.
  enum Kind : std::uint8_t { document_row, question_row };
  static constexpr std::size_t name_bytes = sizeof(Hash128), key_bytes = name_bytes + 1;

  ExternalSort rows_;
};

/// NamedDocuments by sorting: finds documents by docno or URL; a name that is the docno of one document and the URL of
/// another means the docno.
template <class Question>
class NamedJoin {
 public:
  /// Reads the names of the collection's documents.
  NamedJoin(const CollectionReader& collection, const Resources& resources, std::uint64_t memory_bytes)
      : docnos_(resources.tmp_folder, memory_bytes / 2), urls_(resources.tmp_folder, memory_bytes / 2) {
    for_each_document(collection, [&](docid_t document, const DocumentRow& row) {
      docnos_.add_document(NameTable::hash_of(row.docno), document);
      if (!row.url.empty()) urls_.add_document(NameTable::hash_of(page_url(row.url)), document);
    });
  }

  void ask(const NameHashes& name, const Question& question) { docnos_.ask(name.docno, {name.url, question}); }

  /// Calls visit(document, question) for each question, in another order: document is end_docid if no document has the
  /// name. Call once.
  template <class Visit>
  void answer(Visit&& visit) {
    docnos_.answer([&](docid_t document, const AskedTwice& asked, bool, ByteView) {
      if (document != end_docid)
        visit(document, asked.question);
      else
        urls_.ask(asked.url, asked.question);
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
