#include <array>
#include <string>

#include "quern/core/error.hpp"
#include "quern/index/exchange/interchange_format.hpp"
#include "quern/index/verify_index.hpp"

#include "../corpus/temporary_folder.hpp"
#include "../index/pipeline/use_index.hpp"
#include "container_fuzzing.hpp"
#include "work_folder.hpp"

/// For any contents of its sections, an index is exported to every format or refused with a library error. Exported
/// files are imported into a valid index, or refused because a term has two lists.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern;
  static const testing::TemporaryFolder folder;
  const Resources resources = fuzz::fuzz_resources();
  const std::string path = folder.path("exported");
  testing::allow_errors([&] {
    const IndexReader index = fuzz::index_around({data, size});
    for (const InterchangeFormat& format : all_interchange_formats())
      testing::allow_errors([&] {
        format.write(index, path, true, resources);
        File file = File::anonymous(resources.tmp_folder);
        ImportOptions options{path, std::string(format.name), {}, {}};
        options.build.impacts = index.manifest().impacts;
        import_index([&](InvertedSink& sink) { format.read(path, sink, resources); }, options, resources, file);
        verify_index(IndexReader(ContainerReader(std::make_shared<const File>(std::move(file)), FileKind::index)),
                     resources);
      });
  });
  return 0;
}
