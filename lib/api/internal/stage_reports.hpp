#pragma once
#include "quern/formats/manifest_settings.hpp"
#include "quern/formats/plan_file.hpp"
#include "quern/index/make_index.hpp"

/// Reports on the stages of an index and on cache plans: remarks for people, and figures as JSON.
namespace quern::api {

/// Takes a remark, whose options still have placeholders (quern/core/error.hpp).
using TakeRemark = std::function<void(const std::string& remark)>;

void remark_on(const ParseReport& report, const TakeRemark& take);
void remark_on(const PagerankReport& report, const TakeRemark& take);
/// `path`: of the index.
void remark_on(const BuildReport& report, const std::string& path, const TakeRemark& take);
void remark_on(const SidecarReports& reports, const TakeRemark& take);
/// The links of pages, or of a file.
void remark_on(const LinkCounts& counts, bool from_file, const TakeRemark& take);

ManifestJson figures_of(const ParseReport& report);
ManifestJson figures_of(const LinkCounts& counts);
ManifestJson figures_of(const PagerankReport& report);
/// An index, with the files beside it.
ManifestJson figures_of(const BuildReport& report, const SidecarReports& beside);
/// The settings and figures of a plan.
ManifestJson figures_of(const PlanManifest& manifest);
/// All stages: what `quern index --json` prints.
ManifestJson figures_of(const IndexReports& reports);

}  // namespace quern::api
