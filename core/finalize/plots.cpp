#include "core/finalize/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

constexpr const char* kModelSweep = "model_config";  // x_name of the model sweep
constexpr std::chrono::minutes kDrawLimit{3};

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// The rows of one picture.
struct PlotGroup {
  std::string kernel, metric, mode, config;
  bool models = false;  // the model sweep
  std::vector<const StockRow*> rows;

  std::string name() const {
    return fmt::format("{}_{}_{}{}", kernel, metric, mode, models ? "_model_config" : "");
  }
  bool has_numbers(std::string_view provider) const {
    return std::any_of(rows.begin(), rows.end(), [&](const StockRow* row) {
      return std::isfinite(row->y_50) && row->kernel_provider.starts_with(provider);
    });
  }
};

std::vector<PlotGroup> group_rows(const StockTable& table) {
  std::vector<PlotGroup> groups;
  for (const StockRow& row : table.rows) {
    PlotGroup key{row.kernel_name,           row.metric_name,
                  row.kernel_operation_mode, row.extra_benchmark_config,
                  row.x_name == kModelSweep, {}};
    auto found = std::find_if(groups.begin(), groups.end(), [&](const PlotGroup& group) {
      return group.name() == key.name() && group.config == key.config;
    });
    if (found == groups.end()) found = groups.insert(groups.end(), std::move(key));
    found->rows.push_back(&row);
  }
  return groups;
}

std::string file_name(std::string text) {
  for (char& c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!plain) c = '_';
  }
  return text;
}

// What tells this group's configuration from the others of the same name: "_hidden_size-8192"; ""
// where there is one only.
std::string config_suffix(const PlotGroup& group, const std::vector<PlotGroup>& groups) {
  std::vector<const PlotGroup*> alike;
  for (const PlotGroup& other : groups) {
    if (other.name() == group.name()) alike.push_back(&other);
  }
  if (alike.size() < 2) return {};
  const auto own = parse_json(group.config, "a configuration");
  std::string suffix;
  if (own && own->is_object()) {
    for (const auto& [key, value] : own->items()) {
      const std::string member = key;
      const Json own_value = value;
      const bool varies = std::any_of(alike.begin(), alike.end(), [&](const PlotGroup* other) {
        const auto config = parse_json(other->config, "a configuration");
        return !config || !config->is_object() || !config->contains(member) ||
               (*config)[member] != own_value;
      });
      if (!varies) continue;
      suffix += fmt::format("_{}-{}", member,
                            value.is_string() ? value.get<std::string>() : print_json(value));
    }
  }
  constexpr std::size_t kLongest = 80;
  if (suffix.empty() || suffix.size() > kLongest) {
    const auto number = std::find(alike.begin(), alike.end(), &group) - alike.begin() + 1;
    suffix = fmt::format("_config{}", number);
  }
  return suffix;
}

class Drawer {
 public:
  Drawer(ProcessRunner& runner, const PythonTools& tools, const PlotJob& job)
      : runner_(runner),
        tools_(tools),
        job_(job),
        visualizer_(job.tree / "benchmark" / "benchmarks_visualizer.py"),
        saved_(job.tree / "benchmark" / "visualizations"),
        default_data_(job.tree / "benchmark" / "data" / "all_benchmark_data.csv") {}

  Result<PlotResult> run() {
    table_ = three_way_table(job_.original, job_.winner, job_.reference);
    if (auto written = write_file_atomically(job_.csv, write_stock_csv(table_)); !written) {
      return tl::unexpected(written.error());
    }
    if (table_.rows.empty()) {
      note("No plots were drawn, as this run has no rows of the stock benchmark.");
      return result_;
    }
    auto ready = read_options();
    if (!ready) return tl::unexpected(ready.error());
    if (!*ready) return result_;
    groups_ = group_rows(table_);
    for (const PlotGroup& group : groups_) {
      if (auto drawn = draw(group); !drawn) return tl::unexpected(drawn.error());
    }
    return result_;
  }

 private:
  void note(std::string sentence) {
    if (!contains(result_.notes, sentence)) result_.notes.push_back(std::move(sentence));
  }

  ProcessSpec spec(const std::string& label, std::vector<std::string> arguments) const {
    ProcessSpec made;
    made.label = label;
    made.argv = {tools_.python, visualizer_.string()};
    made.argv.insert(made.argv.end(), arguments.begin(), arguments.end());
    made.env = tools_.environment;
    made.env["MPLBACKEND"] = "Agg";
    made.cwd = job_.tree;
    made.inputs = {visualizer_, job_.csv};
    made.wall_limit = made.silence_limit = kDrawLimit;
    return made;
  }

  Result<ProcessOutcome> start(const ProcessSpec& made) {
    auto outcome = runner_.run(made);
    if (outcome && outcome->end == ProcessEnd::kCancelled) {
      return fail(ErrorKind::kStopped,
                  fmt::format("Stopped during \"{}\"; start the run again to go on.", made.label));
    }
    return outcome;
  }

  static std::string reason(const ProcessOutcome& outcome) {
    const auto lines = split_lines(outcome.err);
    for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
      if (!trim(*line).empty()) return fmt::format("it {}: {}", describe_end(outcome), trim(*line));
    }
    return "it " + describe_end(outcome);
  }

  // Which options this checkout's visualizer has; it changed from release to release. Whether it
  // starts at all (matplotlib, pandas and seaborn may be missing) is seen here too.
  Result<bool> read_options() {
    std::error_code error;
    if (!fs::is_regular_file(visualizer_, error)) {
      note(
          "No plots by the checkout's visualizer, as it has no "
          "benchmark/benchmarks_visualizer.py.");
      return false;
    }
    auto help = start(spec("options of the visualizer", {"--help"}));
    if (!help) return tl::unexpected(help.error());
    if (!help->ok()) {
      note(
          fmt::format("No plots by the checkout's visualizer, as {}; its packages are matplotlib, "
                      "pandas and seaborn.",
                      reason(*help)));
      return false;
    }
    for (const char* option : {"--data-file", "--sweep-mode", "--extra-config-filter",
                               "--gpu-filter", "--kernel-operation-mode"}) {
      if (help->out.find(option) != std::string::npos) options_.insert(option);
    }
    return true;
  }

  Result<void> draw(const PlotGroup& group) {
    const std::string name = group.name() + config_suffix(group, groups_);
    if (!say_what_is_missing(group, name)) return {};
    remove_saved();
    auto outcome = options_.contains("--data-file") ? start(drawing(group, name))
                                                    : draw_from_default(group, name);
    if (!outcome) return tl::unexpected(outcome.error());
    std::vector<fs::path> pictures = saved_pictures();
    if (!outcome->ok()) {
      note(fmt::format("{} was not drawn, as {}.", name, reason(*outcome)));
      return {};
    }
    // Some draw one pass only of a metric, whichever they are asked for.
    std::erase_if(pictures, [&](const fs::path& picture) {
      return picture.stem().string().find("_" + group.mode) == std::string::npos;
    });
    if (pictures.size() != 1) {
      note(
          fmt::format("{} was not drawn: the visualizer ended without an error and saved no "
                      "picture of that pass.",
                      name));
      return {};
    }
    auto picture = read_file(pictures.front());
    if (!picture) return tl::unexpected(picture.error());
    const fs::path target = job_.folder / (file_name(name) + pictures.front().extension().string());
    if (auto written = write_file_atomically(target, *picture); !written) return written;
    result_.pictures.push_back(target);
    return {};
  }

  // Notes what the picture will lack; false where there is nothing to draw.
  bool say_what_is_missing(const PlotGroup& group, const std::string& name) {
    if (!group.has_numbers("")) {
      note(fmt::format("{} was not drawn, as none of its rows has a number.", name));
      return false;
    }
    for (const char* side : {"original", "optimized"}) {
      if (group.has_numbers(side)) continue;
      note(fmt::format("{} shows nothing of \"{}\": this run has no number of it.", name, side));
    }
    std::set<std::string> gpus, xs;
    for (const StockRow* row : group.rows) {
      gpus.insert(row->gpu_name);
      xs.insert(row->x_name);
    }
    if (gpus.size() > 1) {
      note(fmt::format("{} shows the rows of {} alone; this run has rows of {} GPUs.", name,
                       gpu_of(group), gpus.size()));
    }
    if (xs.size() > 1) {
      note(fmt::format("{} mixes sweeps over {}, which the visualizer cannot tell apart.", name,
                       join({xs.begin(), xs.end()}, " and ")));
    }
    return true;
  }

  // The GPU of the newest row.
  static std::string gpu_of(const PlotGroup& group) {
    const auto newest = std::max_element(
        group.rows.begin(), group.rows.end(),
        [](const StockRow* a, const StockRow* b) { return a->timestamp < b->timestamp; });
    return (*newest)->gpu_name;
  }

  ProcessSpec drawing(const PlotGroup& group, const std::string& name) const {
    std::vector<std::string> arguments = {"--kernel-name", group.kernel, "--metric-name",
                                          group.metric};
    const std::vector<std::pair<std::string, std::string>> filters = {
        {"--kernel-operation-mode", group.mode},
        {"--sweep-mode", group.models ? kModelSweep : "token_length"},
        // The whole text: it is in no other configuration of these rows.
        {"--extra-config-filter", group.config},
        {"--gpu-filter", gpu_of(group)},
        {"--data-file", fs::absolute(job_.csv).string()}};
    for (const auto& [option, value] : filters) {
      if (!options_.contains(option) || value.empty()) continue;
      arguments.insert(arguments.end(), {option, value});
    }
    arguments.emplace_back("--overwrite");
    ProcessSpec made = spec("plot " + name, std::move(arguments));
    made.outputs = {saved_};
    return made;
  }

  // A visualizer that reads one file only: the sandbox's copy of it holds this picture's rows
  // meanwhile.
  Result<ProcessOutcome> draw_from_default(const PlotGroup& group, const std::string& name) {
    std::error_code error;
    const bool existed = fs::exists(default_data_, error);
    std::string kept;
    if (existed) {
      auto bytes = read_file(default_data_);
      if (!bytes) return tl::unexpected(bytes.error());
      kept = std::move(*bytes);
    }
    StockTable rows;
    for (const StockRow* row : group.rows) rows.rows.push_back(*row);
    if (auto put = write_file_atomically(default_data_, write_stock_csv(rows)); !put) {
      return tl::unexpected(put.error());
    }
    ProcessSpec made = drawing(group, name);
    made.inputs = {visualizer_, default_data_};
    auto outcome = start(made);
    if (!existed) {
      fs::remove(default_data_, error);
    } else if (auto back = write_file_atomically(default_data_, kept); !back) {
      return tl::unexpected(back.error());
    }
    return outcome;
  }

  std::vector<fs::path> saved_pictures() const {
    std::vector<fs::path> pictures;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(saved_, error)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".png" || extension == ".svg") pictures.push_back(entry.path());
    }
    return pictures;
  }

  // Pictures that came with the checkout, or of the call before: what is there afterwards is new.
  void remove_saved() const {
    std::error_code ignored;
    for (const fs::path& picture : saved_pictures()) fs::remove(picture, ignored);
  }

  ProcessRunner& runner_;
  const PythonTools& tools_;
  const PlotJob& job_;
  fs::path visualizer_, saved_, default_data_;
  StockTable table_;
  std::vector<PlotGroup> groups_;
  std::set<std::string> options_;
  PlotResult result_;
};

}  // namespace

Json to_json(const PlotResult& result) {
  Json pictures = Json::array();
  for (const fs::path& picture : result.pictures) pictures.push_back(picture.string());
  return {{"pictures", pictures}, {"notes", result.notes}};
}

PlotResult plot_result_from_json(const Json& json) {
  PlotResult result;
  for (const Json& picture : get_array(json, "pictures")) {
    if (picture.is_string()) result.pictures.emplace_back(picture.get<std::string>());
  }
  for (const Json& sentence : get_array(json, "notes")) {
    if (sentence.is_string()) result.notes.push_back(sentence.get<std::string>());
  }
  return result;
}

StockTable three_way_table(const StockTable& original, const StockTable& winner,
                           const std::vector<std::string>& reference) {
  std::set<std::string> under_test;
  for (const StockTable* table : {&original, &winner}) {
    for (const StockRow& row : table->rows) {
      if (!contains(reference, row.kernel_provider)) under_test.insert(row.kernel_provider);
    }
  }
  StockTable joined;
  const auto add = [&](const StockRow& row, const std::string& side) {
    joined.rows.push_back(row);
    std::string& provider = joined.rows.back().kernel_provider;
    provider = under_test.size() > 1 ? side + " " + provider : side;
  };
  for (const StockRow& row : original.rows) {
    if (contains(reference, row.kernel_provider)) {
      joined.rows.push_back(row);
    } else {
      add(row, "original");
    }
  }
  for (const StockRow& row : winner.rows) {
    if (!contains(reference, row.kernel_provider)) add(row, "optimized");
  }
  return joined;
}

Result<PlotResult> draw_three_way(ProcessRunner& runner, const PythonTools& tools,
                                  const PlotJob& job) {
  return Drawer(runner, tools, job).run();
}

}  // namespace lwb
