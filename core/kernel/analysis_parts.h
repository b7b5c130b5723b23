// The parts that analyse() is made of. Internal to core/kernel.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/analysis.h"
#include "core/kernel/queries.h"

namespace lwb::analysis {

// What a call computes, by the last part of its name.
bool is_reduction(const Call& call);
bool is_transcendental(const Call& call);
bool is_dot(const Call& call);

// Names that a parameter is also called in host code: its argument in one launch, "" when none.
const Expr* bound_value(const Launch& launch, const std::string& parameter);

// The kernel of a launch, when it stands in this file.
const Function* kernel_of(const SourceModel& model, const Launch& launch);

// Parameters that the kernel (with its helpers, as far as they are given pointers by the kernel's
// own parameter names) loads, stores, or changes by atomics.
std::vector<std::string> loaded(const Function& kernel);
std::vector<std::string> stored(const Function& kernel);
std::vector<std::string> changed_by_atomics(const Function& kernel);

KernelAnalysis analyse_kernel(const SourceModel& model, const Function& kernel);
LaunchConfiguration analyse_launch(const SourceModel& model, const Launch& launch);

// Where a value of `function` comes from, in words: "calculate_settings(n_cols)", "constant 16",
// "argument default 4096", "ctx.num_warps: calculate_settings(n_cols)".
std::string describe_source(const SourceModel& model, const Function& function, const Expr& value,
                            int depth = 0);

// Whether the grid counts multiprocessors.
bool is_persistent(const SourceModel& model, const Launch& launch);

void add_kernel_patterns(const SourceModel& model, const Function& kernel, SourceAnalysis& result);
void add_kernel_opportunities(const SourceModel& model, const Function& kernel,
                              SourceAnalysis& result);
void add_kernel_warnings(const SourceModel& model, const Function& kernel, SourceAnalysis& result);
void add_host_findings(const SourceModel& model, SourceAnalysis& result);

}  // namespace lwb::analysis
