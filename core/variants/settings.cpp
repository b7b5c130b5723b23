#include "core/variants/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "core/base/text.h"

namespace lwb {
namespace {

// One measured shape with every settings' geometric mean over the shape's calls.
struct Shape {
  BucketChoice bucket;
  std::set<std::string> calls;
  std::map<Settings, double> us;
  std::map<Settings, std::pair<int, int>> resources;  // registers and spills
  double best_us = 0;
  bool decided = false;
};

std::vector<Shape> shapes_of(const std::vector<std::string>& features,
                             const std::vector<ShapePoint>& points) {
  std::map<std::pair<std::string, std::vector<long long>>, Shape> shapes;
  for (const ShapePoint& point : points) {
    std::vector<long long> values;
    for (const std::string& feature : features) {
      const auto found = point.features.find(feature);
      values.push_back(found == point.features.end() ? 0 : found->second);
    }
    Shape& shape = shapes[{point.dtype, values}];
    shape.bucket.features = point.features;
    shape.bucket.dtype = point.dtype;
    shape.calls.insert(point.call);
  }
  std::vector<Shape> result;
  for (auto& [key, shape] : shapes) result.push_back(std::move(shape));
  return result;
}

// Only settings that were timed at every call of the shape can be compared.
void take_times(Shape& shape, const std::vector<SweepPoint>& points) {
  struct Sum {
    double logs = 0;
    std::set<std::string> calls;
  };
  std::map<Settings, Sum> sums;
  for (const SweepPoint& point : points) {
    if (point.status != "correct" || !(point.median_us > 0) || !shape.calls.count(point.call))
      continue;
    auto& [registers, spills] = shape.resources[point.settings];
    registers = std::max(registers, point.registers);
    spills = std::max(spills, point.spills);
    Sum& sum = sums[point.settings];
    if (sum.calls.insert(point.call).second) sum.logs += std::log(point.median_us);
  }
  for (const auto& [settings, sum] : sums) {
    if (sum.calls.size() != shape.calls.size()) continue;
    const double us = std::exp(sum.logs / static_cast<double>(sum.calls.size()));
    shape.us[settings] = us;
    shape.best_us = shape.best_us > 0 ? std::min(shape.best_us, us) : us;
  }
  const auto original = shape.us.find(Settings{});
  shape.bucket.original_us = shape.bucket.best_us =
      original == shape.us.end() ? 0 : original->second;
}

// How far `settings` is from the best at an undecided shape where it is good enough, else -1.
double distance(const Shape& shape, const Settings& settings, double tolerance, double min_gain) {
  const auto found = shape.us.find(settings);
  if (shape.decided || found == shape.us.end()) return -1;
  const bool near = found->second <= shape.best_us * (1 + tolerance);
  const bool gains = found->second * (1 + min_gain) <= shape.bucket.original_us;
  return near && gains ? found->second / shape.best_us - 1 : -1;
}

// ------------------------------------------------------------------------------------- Python

std::string python(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  return value.dump();
}

std::string python(const Settings& settings) {
  std::string text;
  for (const auto& [key, value] : settings) {
    text += (text.empty() ? "\"" : ", \"") + key + "\": " + python(value);
  }
  return "{" + text + "}";
}

// The smallest integer that belongs to the upper of two neighbouring measured values.
long long border(long long low, long long high) {
  if (low <= 0) return low + (high - low + 1) / 2;
  // The least b with b² >= low · high; the floating point root may be off by one.
  const double product = static_cast<double>(low) * static_cast<double>(high);
  auto b = static_cast<long long>(std::sqrt(product));
  while (static_cast<double>(b) * static_cast<double>(b) < product) ++b;
  return std::clamp(b, low + 1, high);
}

using Buckets = std::vector<const BucketChoice*>;

class SettingsSource {
 public:
  explicit SettingsSource(const SettingsTable& table) : table_(table) {
    for (const BucketChoice& bucket : table.buckets) {
      for (const auto& [feature, value] : bucket.features) grid_[feature].insert(value);
    }
    // The feature with the fewest values outermost gives the fewest lines.
    order_ = table.features;
    std::stable_sort(order_.begin(), order_.end(), [&](const auto& a, const auto& b) {
      return grid_[a].size() < grid_[b].size();
    });
  }

  std::string body() {
    std::map<std::string, Buckets> by_dtype;
    for (const BucketChoice& bucket : table_.buckets) by_dtype[bucket.dtype].push_back(&bucket);
    std::map<std::string, std::vector<std::string>> dtypes;  // code → dtypes with just that code
    for (const auto& [dtype, buckets] : by_dtype) {
      const std::string code = level(buckets, 0, 2);
      if (!code.empty() && !dtype.empty()) dtypes[code].push_back("torch." + dtype);
    }
    std::string text;
    for (const auto& [code, names] : dtypes) {
      text += names.size() == 1 ? "    if dtype == " + names.front() + ":\n"
                                : "    if dtype in (" + join(names, ", ") + "):\n";
      text += code;
    }
    return text;
  }

 private:
  // The code for these buckets from the feature at `depth` on; "" where all keep the original.
  std::string level(const Buckets& buckets, std::size_t depth, std::size_t indent) const {
    const std::string margin(4 * indent, ' ');
    if (depth == order_.size()) {
      const Settings& settings = buckets.front()->settings;
      return settings.empty() ? "" : margin + "return " + python(settings) + "\n";
    }
    const std::string& feature = order_[depth];
    const std::set<long long>& set = grid_.at(feature);
    const std::vector<long long> grid(set.begin(), set.end());
    std::vector<std::string> codes;  // by value of the grid
    for (const long long value : grid) {
      Buckets here;
      std::copy_if(
          buckets.begin(), buckets.end(), std::back_inserter(here),
          [&](const BucketChoice* bucket) { return bucket->features.at(feature) == value; });
      codes.push_back(here.empty() ? "" : level(here, depth + 1, indent + 1));
    }
    std::string text;
    for (std::size_t i = 0; i < grid.size();) {
      std::size_t j = i + 1;
      while (j < grid.size() && codes[j] == codes[i]) ++j;
      if (!codes[i].empty()) text += margin + condition(feature, grid, i, j - 1) + codes[i];
      i = j;
    }
    return text;
  }

  // Grid values first to last with half the (geometric) way to their neighbours.
  static std::string condition(const std::string& feature, const std::vector<long long>& grid,
                               std::size_t first, std::size_t last) {
    if (grid.size() == 1) return fmt::format("if {} == {}:\n", feature, grid.front());
    const long long from = first == 0 ? grid.front() : border(grid[first - 1], grid[first]);
    if (last + 1 == grid.size())
      return fmt::format("if {} <= {} <= {}:\n", from, feature, grid.back());
    return fmt::format("if {} <= {} < {}:\n", from, feature, border(grid[last], grid[last + 1]));
  }

  const SettingsTable& table_;
  std::map<std::string, std::set<long long>> grid_;  // the measured values of each feature
  std::vector<std::string> order_;
};

}  // namespace

bool SettingsTable::changes_anything() const {
  return std::any_of(buckets.begin(), buckets.end(),
                     [](const BucketChoice& bucket) { return !bucket.settings.empty(); });
}

SettingsTable choose_settings(const std::string& function, const std::vector<std::string>& features,
                              const std::vector<ShapePoint>& shapes,
                              const std::vector<SweepPoint>& points, double tolerance,
                              double min_gain) {
  std::vector<Shape> measured = shapes_of(features, shapes);
  std::set<Settings> all;
  for (Shape& shape : measured) {
    take_times(shape, points);
    for (const auto& [settings, us] : shape.us) all.insert(settings);
  }
  all.erase(Settings{});
  for (;;) {
    const Settings* best = nullptr;
    int most = 0;
    double least = 0;
    for (const Settings& settings : all) {
      int covered = 0;
      double sum = 0;
      for (const Shape& shape : measured) {
        const double away = distance(shape, settings, tolerance, min_gain);
        if (away < 0) continue;
        ++covered;
        sum += away;
      }
      if (covered == 0 || covered < most || (covered == most && sum >= least)) continue;
      best = &settings;
      most = covered;
      least = sum;
    }
    if (!best) break;
    for (Shape& shape : measured) {
      if (distance(shape, *best, tolerance, min_gain) < 0) continue;
      shape.bucket.settings = *best;
      shape.bucket.best_us = shape.us.at(*best);
      shape.decided = true;
    }
  }
  SettingsTable table;
  table.function = function;
  table.features = features;
  for (Shape& shape : measured) {
    std::tie(shape.bucket.registers, shape.bucket.spills) = shape.resources[shape.bucket.settings];
    table.buckets.push_back(std::move(shape.bucket));
  }
  return table;
}

std::string settings_function_source(const SettingsTable& table, const std::string& kernel) {
  std::string arguments;
  for (const std::string& feature : table.features) arguments += feature + ", ";
  std::string text = "def " + table.function + "(" + arguments + "dtype, device):\n";
  const std::string body = SettingsSource(table).body();
  if (body.empty()) {
    return text + "    \"\"\"Settings of " + kernel +
           " by shape; None: as the launch says.\"\"\"\n" + "    return None\n";
  }
  text += fmt::format("    \"\"\"Settings of {} by shape, measured on {} (SM {}.{}).\n\n", kernel,
                      table.gpu_name.empty() ? "one GPU" : table.gpu_name, table.capability_major,
                      table.capability_minor);
  text +=
      "    None, as the launch says: other GPUs, dtypes and shapes outside of what was measured.\n"
      "    \"\"\"\n";
  // Asked at every launch: one look into a dictionary instead of a walk through the buckets.
  text.insert(0, "@functools.lru_cache(maxsize=1024)\n");
  text += fmt::format(
      "    if device.type != \"cuda\" or torch.cuda.get_device_capability(device) != "
      "({}, {}):\n        return None\n",
      table.capability_major, table.capability_minor);
  return text + body + "    return None\n";
}

bool settings_function_caches(const SettingsTable& table) {
  return !SettingsSource(table).body().empty();
}

Json to_json(const SettingsTable& table) {
  Json buckets = Json::array();
  for (const BucketChoice& bucket : table.buckets) {
    buckets.push_back({{"features", bucket.features},
                       {"dtype", bucket.dtype},
                       {"settings", Json(bucket.settings)},
                       {"original_us", bucket.original_us},
                       {"best_us", bucket.best_us},
                       {"registers", bucket.registers},
                       {"spills", bucket.spills}});
  }
  return {{"function", table.function},
          {"features", table.features},
          {"buckets", buckets},
          {"capability", {table.capability_major, table.capability_minor}},
          {"gpu", table.gpu_name}};
}

Result<SettingsTable> settings_table_from_json(const Json& json) {
  SettingsTable table;
  table.function = get_string(json, "function");
  if (table.function.empty()) {
    return fail(ErrorKind::kInternal,
                "A settings table in the journal names no function; the journal "
                "was written by another program or damaged.");
  }
  for (const Json& item : get_array(json, "features")) {
    if (item.is_string()) table.features.push_back(item.get<std::string>());
  }
  for (const Json& item : get_array(json, "buckets")) {
    BucketChoice bucket;
    for (const auto& [name, value] : get_object(item, "features").items()) {
      if (value.is_number_integer()) bucket.features[name] = value.get<long long>();
    }
    bucket.dtype = get_string(item, "dtype");
    for (const auto& [name, value] : get_object(item, "settings").items())
      bucket.settings[name] = value;
    bucket.original_us = get_number(item, "original_us");
    bucket.best_us = get_number(item, "best_us");
    bucket.registers = static_cast<int>(get_integer(item, "registers"));
    bucket.spills = static_cast<int>(get_integer(item, "spills"));
    table.buckets.push_back(std::move(bucket));
  }
  const Json& capability = get_array(json, "capability");
  if (capability.size() == 2) {
    table.capability_major = capability[0].is_number_integer() ? capability[0].get<int>() : 0;
    table.capability_minor = capability[1].is_number_integer() ? capability[1].get<int>() : 0;
  }
  table.gpu_name = get_string(json, "gpu");
  return table;
}

}  // namespace lwb
