// What a variant has to pass before it is measured: the smoke test (spec section 5), and where
// another architecture was asked for, its compiler.
#pragma once

#include <vector>

#include "core/optimize/loop.h"

namespace lwb {

struct VariantChecks {
  ProcessRunner& runner;
  const PythonTools& tools;
  const Side& original;
  const std::vector<CapturedCall>& calls;
  const LaunchTrace& trace;
  TargetGpu gpu = TargetGpu::kAuto;
};

// In float32, where a wrong formula shows best, and in the calls' own dtypes at the smallest and
// the largest of each kind, where the tuned settings apply.
Result<CheckReport> check_variant(const VariantChecks& checks, const Side& variant);

}  // namespace lwb
