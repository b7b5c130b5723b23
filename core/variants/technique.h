// A technique: one source transformation of the catalog (design rule 5).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/source_model.h"
#include "core/measure/calls.h"
#include "core/profile/launch_trace.h"
#include "core/variants/edits.h"
#include "core/variants/settings.h"

namespace lwb {

// Where a technique applies: one launch of one kernel, or one host statement.
struct Site {
  std::string kernel;         // jit function; "" for host-only sites
  std::string host_function;  // qualified name
  std::size_t launch = 0;     // index into SourceModel::launches
  int line = 0;
  std::string what;           // "row loop of …, line 157"
};

struct Applicability {
  std::vector<Site> sites;           // where it applies; empty: nowhere
  std::vector<std::string> reasons;  // why not, one per place looked at ("_k: pointers advance in the loop, line 40")
  bool applies() const { return !sites.empty(); }
};

// What a technique wants from one launch: collected over all techniques and written once by the
// variant builder (so that techniques combine).
struct LaunchPlan {
  std::vector<Knob> knobs;
  // New constexpr parameters of the kernel: name, default (the original's behaviour), settings key.
  struct KernelParameter {
    std::string name;
    std::string default_text;
    std::string settings_key;
  };
  std::vector<KernelParameter> parameters;
};

// What techniques see.
struct TechniqueContext {
  const SourceModel& model;
  const LaunchTrace& trace;  // what really launched, with values; may be empty (then static proof only)
  std::string triton_version;
};

struct Hypothesis {
  std::string text;           // tied to the diagnosis
  double expected_gain = 1;   // old/new of the affected pass, quantitative; 1: none expected
  std::string basis;          // the numbers it was computed from
  bool no_effect = false;     // it does nothing at the call asked for (a path that is not taken)
};

class Technique {
 public:
  virtual ~Technique() = default;
  virtual std::string id() const = 0;       // "loop-pipelining"
  virtual std::string title() const = 0;    // "Loop pipelining by tl.range(num_stages)"
  virtual std::string section() const = 0;  // the seed catalog's number, "3.6"
  // The oldest Triton that has what its edits use; asked by applicability_of().
  virtual std::string min_triton() const { return "2.0.0"; }
  virtual Applicability applicability(const TechniqueContext& context) const = 0;
  // Edits and knobs at one site, on the original text. Settings are read in host code as
  // `settings.get("key", original)`, where `settings_variable` names the dict; the builder inserts
  // its definition before `plan`'s first use.
  virtual Result<std::vector<Edit>> edits(const TechniqueContext& context, const Site& site,
                                          const std::string& settings_variable,
                                          LaunchPlan& plan) const = 0;
  // One call's numbers in the pass of `site`; floor_us is 0 where it is not known.
  struct PassFacts {
    std::string call;
    Pass pass = Pass::kForward;
    double op_us = 0, floor_us = 0, read_bytes = 0, written_bytes = 0;
    double copy_rate = 0;  // bytes per second
  };
  virtual Hypothesis hypothesis(const TechniqueContext& context, const Site& site,
                                const PassFacts& facts) const = 0;
};

// Where the technique applies with the Triton at hand, which is taken as new enough where it is not
// known. To be asked instead of applicability(), which looks at the source alone.
Applicability applicability_of(const Technique& technique, const TechniqueContext& context);

// All techniques of this program, in catalog order.
const std::vector<std::unique_ptr<Technique>>& catalog();
const Technique* find_technique(const std::string& id);

}  // namespace lwb
