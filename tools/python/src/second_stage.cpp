#include "bindings.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace quern::python {
namespace {

nb::list feature_list(std::string_view selection) {
  nb::list out;
  for (const api::FeatureInfo& feature : api::features(selection))
    out.append(nb::make_tuple(feature.name, feature.kind, feature.formula));
  return out;
}

/// A float32 array of features, with a row for each result.
nb::ndarray<nb::numpy, float, nb::ndim<2>, nb::c_contig> compute(const api::Features& features, const nb::object& texts,
                                                                 const Results& results) {
  const TextList list(texts, "a query");
  const api::BatchResults& found = results.found;
  if (list.views().size() + 1 != found.offsets.size()) throw nb::value_error("texts and queries differ in number");
  auto values = std::make_unique<std::vector<float>>();
  std::size_t columns = 0;
  {
    const nb::gil_scoped_release without_gil;
    for (std::size_t query = 0; query < list.views().size(); ++query) {
      std::vector<api::Hit> hits;
      for (std::uint64_t i = found.offsets[query]; i < found.offsets[query + 1]; ++i)
        hits.push_back({found.docids[i], found.scores[i]});
      const api::FeatureTable table = features.compute(list.views()[query], hits);
      columns = table.columns;
      values->insert(values->end(), table.values.begin(), table.values.end());
    }
  }
  float* const data = values->data();
  const nb::capsule owner(values.release(), [](void* held) noexcept { delete static_cast<std::vector<float>*>(held); });
  return {data, {found.docids.size(), columns}, owner};
}

void make_reranker(api::Reranker* self, const api::Index& index, const std::string& model, const std::string& selection,
                   std::optional<std::uint32_t> features_from, const std::string& device, unsigned gpu,
                   std::uint64_t gpu_memory, unsigned threads, const nb::object& warn) {
  api::Placement placement;
  placement.device = named(devices, device, "device");
  placement.gpu = gpu;
  if (gpu_memory != 0) placement.gpu_memory_bytes = gpu_memory;
  api::Work work;
  work.threads = threads;
  // As for searchers, an exception in a notice can't be raised anywhere.
  set_callbacks(work, {0, 0, nb::none(), warn}, std::make_shared<CallerFailure>());
  placement.notice = work.warn;
  const nb::gil_scoped_release without_gil;
  new (self) api::Reranker(index, {model, selection, features_from}, placement, work);
}

Results rerank(const api::Reranker& reranker, const nb::object& texts, const Results& results, std::size_t k,
               unsigned threads, const nb::object& progress) {
  const TextList list(texts, "a query");
  InterruptibleWork work({threads, 0, progress, nb::none()});
  return {results.index, work.finish([&] { return reranker.rerank(list.views(), results.found, k, work.work()); })};
}

}  // namespace

void bind_second_stage(nb::module_& module) {
  module.def("feature_list", &feature_list, "selection"_a = "all");
  nb::class_<api::Features>(module, "Features")
      .def(nb::init<const api::Index&, std::string_view>(), "index"_a, "selection"_a = "all")
      .def("compute", &compute, "texts"_a, "results"_a);
  nb::class_<api::Reranker>(module, "Reranker")
      .def("__init__", &make_reranker, "index"_a, "model"_a, "selection"_a = "all", "features_from"_a = nb::none(),
           "device"_a = "cpu", "gpu"_a = 0, "gpu_memory"_a = 0, "threads"_a = 0, "warn"_a = nb::none())
      .def("rerank", &rerank, "texts"_a, "results"_a, "k"_a, "threads"_a = 0, "progress"_a = nb::none());
}

}  // namespace quern::python
