#include <nanobind/stl/variant.h>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

using Docid = Named<std::uint32_t, "docid">;
using Docids = Named<std::vector<std::uint32_t>, "docids">;
using Term = Named<std::string_view, "term">;

nb::dict statistics_of(const api::Index& index) {
  using S = api::IndexStatistics;
  return to_dict(index.statistics(), Field{"documents", &S::documents}, Field{"empty_documents", &S::empty_documents},
                 Field{"terms", &S::terms}, Field{"postings", &S::postings}, Field{"tokens", &S::tokens},
                 Field{"blocks", &S::blocks}, Field{"average_length", &S::average_length},
                 Field{"file_bytes", &S::file_bytes}, Field{"codec", &S::codec}, Field{"block_size", &S::block_size},
                 Field{"order", &S::order}, Field{"stemmer", &S::stemmer}, Field{"stopwords", &S::stopwords},
                 Field{"k1", &S::k1}, Field{"b", &S::b}, Field{"quantize_bits", &S::quantize_bits},
                 Field{"impact_bits", &S::impact_bits}, Field{"weights", &S::weights},
                 Field{"has_pagerank", &S::has_pagerank}, Field{"has_global_scores", &S::has_global_scores},
                 Field{"has_forward", &S::has_forward}, Field{"has_texts", &S::has_texts});
}

nb::tuple postings_of(const api::Index& index, Term term) {
  api::PostingArrays lists;
  {
    const nb::gil_scoped_release without_gil;
    lists = index.postings(term);
  }
  return nb::make_tuple(to_array(std::move(lists.docids)), to_array(std::move(lists.frequencies)));
}

nb::list terms_of(const api::Index& index) {
  nb::list terms;
  index.for_each_term([&](std::string_view term, const api::TermInfo& info) {
    // Given terms may have bytes that aren't UTF-8.
    terms.append(nb::make_tuple(decoded(term, "surrogateescape"), info.df, info.cf));
    return true;
  });
  return terms;
}

nb::dict document_of(const api::Index& index, Docid docid) {
  using D = api::DocumentInfo;
  return to_dict(index.document(docid), Field{"docno", &D::docno}, Field{"url", &D::url}, Field{"title", &D::title},
                 Field{"length", &D::length});
}

std::vector<std::string> snippets_of(const api::Index& index, Named<std::string_view, "query"> query,
                                     const Docids& docids) {
  const nb::gil_scoped_release without_gil;
  return api::snippets(index, query, docids.value);
}

std::vector<api::StoredValue> kept_values_of(const api::Index& index, Named<std::string_view, "field"> field,
                                             const Docids& docids) {
  const nb::gil_scoped_release without_gil;
  return api::kept_values(index, field, docids.value);
}

}  // namespace

void bind_index(nb::module_& module) {
  nb::class_<api::Index>(module, "Index", "An open index. Many threads may use it at once.")
      .def(
          "__init__",
          [](api::Index* self, const std::vector<std::string>& paths) {
            new (self) api::Index(api::Index::open_shards(paths));
          },
          "paths"_a)
      .def("__len__", &api::Index::num_documents)
      .def_prop_ro("path", &api::Index::path)
      .def_prop_ro("content_hash", &api::Index::content_hash, "Identifies the contents of the index's files.")
      .def("statistics", &statistics_of)
      .def("manifest", &api::Index::manifest, "The index's own description, as JSON.")
      .def(
          "df",
          [](const api::Index& self, Term term) {
            const auto found = self.term(term);
            return found ? found->df : 0;
          },
          "term"_a, "Number of documents with a term in analyzed form; 0 if there are none.")
      .def(
          "cf",
          [](const api::Index& self, Term term) {
            const auto found = self.term(term);
            return found ? found->cf : 0;
          },
          "term"_a, "Number of a term's occurrences in all documents.")
      .def("postings", &postings_of, "term"_a,
           "A term's posting list: arrays of ascending docIDs and of frequencies, both uint32; empty if the term is "
           "unknown.")
      .def("terms", &terms_of, "All terms in the order of their bytes: tuples of str, df and cf.")
      .def(
          "analyze", [](const api::Index& self, Named<std::string_view, "text"> text) { return self.analyze(text); },
          "text"_a, "The terms of a text, as for queries.")
      .def(
          "docno", [](const api::Index& self, Docid docid) { return self.docno(docid); }, "docid"_a,
          "The name of a document.")
      .def(
          "length", [](const api::Index& self, Docid docid) { return self.length(docid); }, "docid"_a,
          "The number of a document's tokens.")
      .def("document", &document_of, "docid"_a, "docno, url, title and length of a document: a dict.")
      .def(
          "text", [](const api::Index& self, Docid docid) { return self.text(docid); }, "docid"_a,
          "The text of a document, if the index was built with store_text: a line for the title, which may be empty, "
          "and one for each phrase of the body.")
      .def("snippets", &snippets_of, "query"_a, "docids"_a,
           "For each document the passage of its stored text that best shows why the query matches, as quern query "
           "shows it: a list of str. Needs store_text.")
      .def("kept_fields", &api::kept_fields, "The names of the fields that keep_fields stored: a list of str.")
      .def("kept_values", &kept_values_of, "field"_a, "docids"_a,
           "For each document its value of a kept field: a list of str, float and bool; None for a document without "
           "one.")
      .def(
          "find", [](const api::Index& self, Named<std::string_view, "docno"> docno) { return self.find(docno); },
          "docno"_a, "The docID of a docno; None if there is none.")
      .def(
          "check",
          [](const api::Index& self, const nb::object& progress, unsigned threads, std::uint64_t memory) {
            InterruptibleWork work({threads, memory, progress, nb::none()});
            work.finish([&] {
              self.verify(work.work());
              return 0;
            });
          },
          "progress"_a = nb::none(), "threads"_a = 0, "memory"_a = 0);
}

}  // namespace quern::python
