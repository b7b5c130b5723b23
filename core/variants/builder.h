// Building a variant file: original text plus the edits of a set of techniques plus settings.
#pragma once

#include <string>
#include <vector>

#include "core/variants/settings.h"
#include "core/variants/technique.h"

namespace lwb {

// A settings function of a variant, before it is tuned: what the sweep has to try.
struct Hook {
  std::string function;  // "_scale_rows_backward_settings"
  std::string kernel;
  std::string host_function;
  std::size_t launch = 0;
  Pass pass = Pass::kForward;
  std::vector<std::string> features;  // host variables that it decides by, defined before its first use
  std::vector<Knob> knobs;
  std::vector<ShapePoint> shapes;  // where its launch ran in the trace
};

struct VariantPlan {
  std::string name;                     // "v2"
  std::string based_on;                 // "v1" or "v0"
  std::vector<std::string> techniques;  // ids, besides the sweep's own knobs
  std::vector<SettingsTable> tables;    // by hook; a hook without one returns None (original's path)
  std::vector<std::string> changes;     // lines for the header
};

struct BuiltVariant {
  std::string text;
  std::vector<Hook> hooks;
  std::vector<Edit> edits;
};

// The launches that can be tuned, each with its own knobs (num_warps, num_stages where a loop makes
// it matter, maxnreg, block size where free) and those of `techniques`. Launches that never ran in
// `context.trace` get no hook. Why a launch is left out is told in `left_out`.
// The file is a complete drop-in: same public names and signatures, every comment and docstring kept, with a
// header comment that names the variant, what it is based on and what changed, and a comment at each change.
Result<BuiltVariant> build_variant(const TechniqueContext& context, const VariantPlan& plan,
                                   std::vector<std::string>* left_out = nullptr);

// All combinations of a hook's knobs, the original's path first; combinations that cannot differ are left out.
std::vector<Settings> candidates(const Hook& hook, std::size_t limit = 400);

// A text that was not built, as variant file: with such a header, in place of one that it has.
std::string with_variant_header(const std::string& text, const VariantPlan& plan);

// The file without the header comment that build_variant put on it.
std::string strip_variant_header(const std::string& text);

}  // namespace lwb
