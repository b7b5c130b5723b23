// profile.md and profile.json: what the profile stage found, for people and for programs.
#pragma once

#include <string>

#include "core/pipeline/profile_stage.h"

namespace lwb {

// A row for each call and pass, formatted for the templates.
Json roof_rows(const Roofline& roof);
Json profile_json(const ProfileInputs& inputs, const ProfileResult& result);
Result<std::string> profile_document(const Session& session, const ProfileInputs& inputs,
                                     const ProfileResult& result);

// The full stock benchmark of variant `number` (0: baseline) with what is in the sandbox's tree.
Result<CheckReport> run_stock_benchmark(Workbench& bench, const Sandbox& sandbox,
                                        const KernelEntry& kernel, const Workspace& workspace,
                                        int number);

}  // namespace lwb
