// Tables for a terminal, or one JSON document.
#pragma once

#include <vector>

#include "core/pipeline/pipeline.h"

namespace lwb {

void print_kernels(const std::vector<KernelEntry>& kernels, bool json);
void print_preflight(const Preflight& preflight, bool json);
// One table a measurement; after several, how often each verdict was given.
void print_comparisons(const std::vector<FileComparison>& comparisons, bool json);

}  // namespace lwb
