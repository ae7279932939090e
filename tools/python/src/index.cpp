#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <quern/api/quern.hpp>

#include <memory>
#include <optional>
#include <string>

#include "arrays.hpp"
#include "bindings.hpp"
#include "work.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

nb::dict statistics_of(const api::Index& index) {
  const api::IndexStatistics found = index.statistics();
  nb::dict out;
  out["documents"] = found.documents;
  out["empty_documents"] = found.empty_documents;
  out["terms"] = found.terms;
  out["postings"] = found.postings;
  out["tokens"] = found.tokens;
  out["blocks"] = found.blocks;
  out["average_length"] = found.average_length;
  out["file_bytes"] = found.file_bytes;
  out["codec"] = found.codec;
  out["block_size"] = found.block_size;
  out["order"] = found.order;
  out["stemmer"] = found.stemmer;
  out["stopwords"] = found.stopwords;
  out["k1"] = found.k1;
  out["b"] = found.b;
  out["quantize_bits"] = found.quantize_bits;
  out["impact_bits"] = found.impact_bits;
  out["has_pagerank"] = found.has_pagerank;
  out["has_global_scores"] = found.has_global_scores;
  out["has_forward"] = found.has_forward;
  out["has_texts"] = found.has_texts;
  return out;
}

nb::tuple postings_of(const api::Index& index, std::string_view term) {
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
    terms.append(nb::make_tuple(nb::bytes(term.data(), term.size()), info.df, info.cf));
    return true;
  });
  return terms;
}

nb::dict document_of(const api::Index& index, std::uint32_t docid) {
  const api::DocumentInfo found = index.document(docid);
  nb::dict out;
  out["docno"] = found.docno;
  out["url"] = found.url;
  out["title"] = found.title;
  out["length"] = found.length;
  return out;
}

}  // namespace

void bind_index(nb::module_& module) {
  nb::class_<api::Index>(module, "Index", "An open index. Many threads may use it at once.")
      .def(
          "__init__", [](api::Index* self, const std::string& path) { new (self) api::Index(api::Index::open(path)); },
          "path"_a)
      .def("__len__", &api::Index::num_documents)
      .def_prop_ro("path", &api::Index::path)
      .def("statistics", &statistics_of)
      .def("manifest", &api::Index::manifest, "The index's own description, as JSON.")
      .def(
          "df",
          [](const api::Index& self, std::string_view term) {
            const auto found = self.term(term);
            return found ? found->df : 0;
          },
          "term"_a, "Number of documents with a term in analyzed form; 0 if there are none.")
      .def(
          "cf",
          [](const api::Index& self, std::string_view term) {
            const auto found = self.term(term);
            return found ? found->cf : 0;
          },
          "term"_a, "Number of a term's occurrences in all documents.")
      .def("postings", &postings_of, "term"_a,
           "A term's posting list: arrays of ascending docIDs and of frequencies, both uint32; empty if the term is "
           "unknown.")
      .def("terms", &terms_of, "All terms in the order of their bytes: tuples of bytes, df and cf.")
      .def("analyze", &api::Index::analyze, "text"_a, "The terms of a text, as for queries.")
      .def("docno", &api::Index::docno, "docid"_a, "The name of a document.")
      .def("length", &api::Index::length, "docid"_a, "The number of a document's tokens.")
      .def("document", &document_of, "docid"_a, "docno, url, title and length of a document: a dict.")
      .def("text", &api::Index::text, "docid"_a,
           "The text of a document, if the index was built with store_text: a line for the title, which may be empty, "
           "and one for each phrase of the body.")
      .def("find", &api::Index::find, "docno"_a, "The docID of a docno; None if there is none.")
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
