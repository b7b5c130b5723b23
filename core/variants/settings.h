// Launch settings: knobs, candidates, and the shape-dependent settings function that a variant
// file carries (spec section 5: buckets of neighbouring measured values, never a table of shapes).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/base/result.h"

namespace lwb {

// A free number of a launch. `name` is the key in the settings dict: "num_warps", "num_stages",
// "maxnreg", "loop_stages", "programs_per_sm", "round_robin", "BLOCK_SIZE".
struct Knob {
  std::string name;
  std::vector<Json> values;  // candidates; integers or booleans
  Json original;  // the value that means "as the original": null when it is the launch's own
  std::string technique;  // id of the technique that brings it
};

using Settings = std::map<std::string, Json>;  // empty: the original's path

// One point of the sweep (lwb_sweep.py's `point`).
struct SweepPoint {
  std::string hook;
  std::string call;
  Settings settings;
  std::string
      status;  // T4 invalidity: correct, compile, runtime, timeout, constraints, correctness
  double median_us = 0;
  std::vector<double> us;
  int registers = 0, spills = 0;
  long long shared_bytes = 0;
  std::string message;
};

// What a settings function decides by, at one call: the values of its feature arguments.
struct ShapePoint {
  std::string call;
  std::map<std::string, long long> features;  // host variable → value, e.g. n_rows, n_cols
  std::string dtype;                          // "bfloat16"
};

// One decided bucket: the settings at one measured shape (several calls may share it).
struct BucketChoice {
  std::map<std::string, long long> features;
  std::string dtype;
  Settings settings;       // empty: the original's path is kept there
  double original_us = 0;  // geometric means over the calls of this shape
  double best_us = 0;      // of the chosen settings
  // Of the chosen settings, a thread; the most over the calls. 0: not known.
  int registers = 0, spills = 0;
};

struct SettingsTable {
  std::string function;               // name of the settings function
  std::vector<std::string> features;  // its arguments, in this order; dtype and device follow
  std::vector<BucketChoice> buckets;  // sorted by dtype, then by the values of `features`
  int capability_major = 0, capability_minor = 0;
  std::string gpu_name;

  // Some bucket leaves the original's path.
  bool changes_anything() const;
};

// Chooses per measured shape the settings with the best geometric mean over its calls. To keep the
// function small and stable, among settings within `tolerance` of the best at a shape the one is
// taken that is best elsewhere too (fewest distinct settings, greedily). The original's path is
// kept where the gain is below `min_gain`, and where a call of the shape has no time for it.
SettingsTable choose_settings(const std::string& function, const std::vector<std::string>& features,
                              const std::vector<ShapePoint>& shapes,
                              const std::vector<SweepPoint>& points, double tolerance = 0.015,
                              double min_gain = 0.01);

// The function as Python source. Bucket borders lie at the geometric middle between neighbouring
// measured values; outside the measured range, for other dtypes and architectures it returns None.
// Neighbouring buckets with the same settings become one. The file has to import
// torch and, where settings_function_caches(), functools.
std::string settings_function_source(const SettingsTable& table, const std::string& kernel);

// Whether the function has settings to give, so that its answers are cached.
bool settings_function_caches(const SettingsTable& table);

Json to_json(const SettingsTable&);
Result<SettingsTable> settings_table_from_json(const Json&);

}  // namespace lwb
