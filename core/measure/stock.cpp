#include "core/measure/stock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

// The tag of our private CSV, by the checkout's own switch LIGER_BENCH_TARGET (field-notes I17).
constexpr const char* kTarget = "lwb";

struct CsvFiles {
  std::filesystem::path shared, ours;
};

CsvFiles csv_files(const std::filesystem::path& tree) {
  const auto data = tree / "benchmark" / "data";
  return {data / "all_benchmark_data.csv",
          data / fmt::format("all_benchmark_data_{}.csv", kTarget)};
}

// The last Python traceback in a text, to its end.
std::string last_traceback(const std::string& text) {
  const std::size_t start = text.rfind("Traceback (most recent call last)");
  constexpr std::size_t kTail = 4000;
  if (start != std::string::npos) return text.substr(start);
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

std::string last_line(const std::string& text) {
  const auto lines = split_lines(text);
  for (auto it = lines.rbegin(); it != lines.rend(); ++it) {
    if (!trim(*it).empty()) return trim(*it);
  }
  return {};
}

bool out_of_memory(const ProcessOutcome& outcome) {
  for (const char* text : {"OutOfMemoryError", "CUDA out of memory", "CUDA error: out of memory"}) {
    if (outcome.err.find(text) != std::string::npos) return true;
  }
  // 128 + SIGKILL, 128 + SIGABRT, as a shell between reports them; the kernel's own OOM killer.
  return (outcome.end == ProcessEnd::kExited && outcome.exit_code == 137) ||
         (outcome.end == ProcessEnd::kSignaled && outcome.signal == 9);
}

std::optional<StockFailure> classify(const StockJob& job, const ProcessOutcome& outcome) {
  if (outcome.ok()) return std::nullopt;
  const std::string script = job.script.filename().string();
  StockFailure failure;
  failure.traceback = last_traceback(outcome.err);
  if (out_of_memory(outcome)) {
    failure.kind = StockFailure::Kind::kOutOfMemory;
    failure.sentence = fmt::format("The benchmark script {} ran out of memory.", script);
  } else if (outcome.end == ProcessEnd::kWallLimit || outcome.end == ProcessEnd::kSilenceLimit) {
    failure.kind = StockFailure::Kind::kTimeLimit;
    failure.sentence =
        fmt::format("The benchmark script {} {} and was ended.", script, describe_end(outcome));
  } else if (outcome.end == ProcessEnd::kSignaled) {
    failure.kind = StockFailure::Kind::kKilled;
    failure.sentence = fmt::format("The benchmark script {} {}.", script, describe_end(outcome));
  } else {
    failure.kind = StockFailure::Kind::kScriptRaised;
    failure.sentence = fmt::format("The benchmark script {} {}: {}", script, describe_end(outcome),
                                   last_line(failure.traceback));
  }
  return failure;
}

// Metrics in the order in which the script began them, from its banners.
std::vector<std::string> begun_metrics(const std::string& out) {
  static const std::regex banner("BENCHMARKING (.+) for (.+)");
  std::vector<std::string> metrics;
  for (const std::string& line : split_lines(out)) {
    std::smatch match;
    if (!std::regex_search(line, match, banner)) continue;
    const std::string metric = to_lower(trim(match[1].str()));
    if (std::find(metrics.begin(), metrics.end(), metric) == metrics.end())
      metrics.push_back(metric);
  }
  return metrics;
}

double number_or_nan(const Json& list, std::size_t index) {
  return index < list.size() && list[index].is_number() ? list[index].get<double>() : std::nan("");
}

std::string x_text(const Json& x) {
  return x.is_string() ? x.get<std::string>() : print_json(x);
}

void add_rows(const Json& data, StockTable& table) {
  const Json& xs = get_array(data, "x_values");
  for (std::size_t i = 0; i < xs.size(); ++i) {
    StockRow row;
    row.kernel_name = get_string(data, "kernel_name");
    row.kernel_provider = get_string(data, "kernel_provider");
    row.kernel_operation_mode = get_string(data, "kernel_operation_mode");
    row.metric_name = get_string(data, "metric_name");
    row.metric_unit = get_string(data, "metric_unit");
    row.x_name = get_string(data, "x_name");
    row.x_label = get_string(data, "x_label");
    row.x_value = x_text(xs[i]);
    row.y_50 = number_or_nan(get_array(data, "y_values_50"), i);
    row.y_20 = number_or_nan(get_array(data, "y_values_20"), i);
    row.y_80 = number_or_nan(get_array(data, "y_values_80"), i);
    row.extra_benchmark_config = get_string(data, "extra_benchmark_config_str");
    row.gpu_name = get_string(data, "gpu_name");
    row.timestamp = get_string(data, "timestamp");
    row.liger_version = get_string(data, "liger_version");
    table.rows.push_back(std::move(row));
  }
}

bool same_value(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-9 * std::abs(a);
}

void cross_check(const StockTable& csv, const StockTable& printed,
                 std::vector<std::string>& notes) {
  std::map<std::string, double> written;
  for (const StockRow& row : csv.rows) written[row.key()] = row.y_50;
  std::map<std::string, double> last;  // two configurations under one key: the last one is written
  for (const StockRow& row : printed.rows) last[row.key()] = row.y_50;
  int absent = 0, different = 0;
  for (const auto& [key, value] : last) {
    const auto found = written.find(key);
    if (found == written.end()) {
      ++absent;
    } else if (!same_value(found->second, value)) {
      ++different;
    }
  }
  if (absent > 0) {
    notes.push_back(fmt::format("{} rows that the script printed are not in its CSV.", absent));
  }
  if (different > 0) {
    notes.push_back(
        fmt::format("{} rows of the script's CSV differ from what it printed.", different));
  }
}

// A CSV that may not be there: then it has no rows.
Result<StockTable> read_if_there(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::exists(file, error)) return StockTable{};
  return read_stock_csv(file);
}

// This run's rows: of our private CSV where the checkout knows the switch, else what is new in the
// shared one; what was printed where neither can be read.
void collect(const CsvFiles& files, const StockTable& before, const std::string& out,
             StockResult& result) {
  const StockTable printed = stock_rows_on_stdout(out);
  auto ours = read_if_there(files.ours);
  if (ours && !ours->rows.empty()) {
    result.table = std::move(*ours);
  } else if (auto shared = read_if_there(files.shared); ours && shared) {
    result.table = fresh_rows(before, *shared);
  } else {
    result.notes.push_back((ours ? shared.error() : ours.error()).sentence +
                           " The rows that the script printed are taken.");
    result.table = printed;
    return;
  }
  cross_check(result.table, printed, result.notes);
}

Result<ProcessOutcome> start(ProcessRunner& runner, const PythonTools& tools, const StockJob& job,
                             const CsvFiles& files) {
  ProcessSpec spec;
  spec.label = job.label;
  spec.argv = {tools.python, job.script.string(), "--overwrite"};
  spec.argv.insert(spec.argv.end(), job.arguments.begin(), job.arguments.end());
  spec.env = tools.environment;
  spec.env["LIGER_BENCH_TARGET"] = kTarget;
  spec.env.erase("LIGER_BENCH_PROVIDER_TAG");
  spec.cwd = job.tree;
  spec.inputs = {job.script};
  spec.outputs = {files.ours, files.shared};
  spec.wall_limit = job.wall_limit;
  spec.silence_limit = job.wall_limit;  // a sweep prints nothing until a whole metric is done
  return runner.run(spec);
}

// Puts the shared CSV back to what it was, so that the next run's rows can be told from this one's.
Result<void> restore_shared(const CsvFiles& files, bool existed, const std::string& bytes) {
  std::error_code error;
  if (existed) {
    auto now = read_file(files.shared);
    if (now && *now == bytes) return {};
    return write_file_atomically(files.shared, bytes);
  }
  std::filesystem::remove(files.shared, error);
  return {};
}

bool same_x(const std::string& text, const Json& x) {
  if (x.is_string()) return x.get<std::string>() == text;
  if (!x.is_number()) return false;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0' && value == x.get<double>();
}

}  // namespace

StockTable stock_rows_on_stdout(std::string_view out) {
  StockTable table;
  std::string document;
  bool inside = false;
  for (const std::string& line : split_lines(out)) {
    const std::string plain = trim(line);
    if (plain == "********** Benchmark Data **********") {
      inside = true;
      document.clear();
      continue;
    }
    if (!inside) continue;
    // Python writes NaN, which JSON does not know; on a line of its own, as indent=2 puts each
    // number.
    document += plain == "NaN" ? "null" : plain == "NaN," ? "null," : line;
    document += '\n';
    if (line != "]" && plain != "[]") continue;
    inside = false;
    if (auto list = parse_json(document, "printed benchmark data"); list && list->is_array()) {
      for (const Json& data : *list) add_rows(data, table);
    }
  }
  return table;
}

Result<StockResult> run_stock(ProcessRunner& runner, const PythonTools& tools,
                              const StockJob& job) {
  const CsvFiles files = csv_files(job.tree);
  std::error_code error;
  std::filesystem::remove(files.ours, error);
  const bool existed = std::filesystem::exists(files.shared, error);
  std::string shared_bytes;
  if (existed) {
    auto bytes = read_file(files.shared);
    if (!bytes) return tl::unexpected(bytes.error());
    shared_bytes = std::move(*bytes);
  }
  StockTable before;
  if (existed) {
    auto table = parse_stock_csv(shared_bytes, "The benchmark CSV " + files.shared.string());
    if (table) before = std::move(*table);
  }

  auto outcome = start(runner, tools, job, files);
  if (!outcome) return tl::unexpected(outcome.error());
  StockResult result;
  result.wall_seconds = std::chrono::duration<double>(outcome->wall).count();
  result.recorded_on = outcome->recorded_on;
  result.failure = classify(job, *outcome);
  collect(files, before, outcome->out, result);
  if (auto restored = restore_shared(files, existed, shared_bytes); !restored) {
    return tl::unexpected(restored.error());
  }
  if (outcome->end == ProcessEnd::kCancelled) {
    return fail(ErrorKind::kStopped,
                fmt::format("Stopped during \"{}\"; start the run again to go on.", job.label));
  }
  std::set<std::string> written;
  for (const StockRow& row : result.table.rows) written.insert(row.metric_name);
  for (const std::string& metric : begun_metrics(outcome->out)) {
    if (written.count(metric) == 0) result.missing_metrics.push_back(metric);
  }
  if (result.table.rows.empty() && !result.failure) {
    result.failure = StockFailure{StockFailure::Kind::kScriptRaised,
                                  fmt::format("The benchmark script {} ended without an error and "
                                              "wrote no row.",
                                              job.script.filename().string()),
                                  last_traceback(outcome->err)};
  }
  if (!job.csv.empty()) {
    auto written_file = write_file_atomically(job.csv, write_stock_csv(result.table));
    if (!written_file) return tl::unexpected(written_file.error());
  }
  return result;
}

std::vector<StockRow> rows_of_cell(const StockTable& table, const Cell& cell,
                                   const std::string& metric) {
  std::vector<StockRow> rows;
  for (const StockRow& row : table.rows) {
    if (row.metric_name != metric || row.kernel_name != cell.kernel_name ||
        row.kernel_provider != cell.provider || row.x_name != cell.x_name ||
        !same_x(row.x_value, cell.x)) {
      continue;
    }
    // Members may come in another order: compared as sets of members.
    const auto config = parse_json(row.extra_benchmark_config, "configuration of a row");
    if (config && nlohmann::json(*config) == nlohmann::json(cell.config)) rows.push_back(row);
  }
  return rows;
}

std::vector<MemoryPeak> stock_memory_peaks(const StockTable& table,
                                           const std::vector<CapturedCall>& calls,
                                           const std::string& side) {
  constexpr double kMegabyte = 1024.0 * 1024.0;
  std::vector<MemoryPeak> peaks;
  for (const CapturedCall& call : calls) {
    if (call.by_hand) continue;
    double peak = 0;
    bool full = false;
    for (const StockRow& row : rows_of_cell(table, call.cell, "memory")) {
      if (!(row.y_50 > 0)) continue;
      const bool is_full = row.kernel_operation_mode == "full";
      if (full && !is_full) continue;
      peak = is_full && !full ? row.y_50 : std::max(peak, row.y_50);
      full = full || is_full;
    }
    if (peak > 0) peaks.push_back({call.id, side, peak * kMegabyte});
  }
  return peaks;
}

std::vector<MemoryPeak> merge_memory(const std::vector<MemoryPeak>& measured,
                                     const std::vector<MemoryPeak>& stock) {
  std::map<std::string, std::set<std::string>> measured_sides, stock_sides;
  for (const MemoryPeak& peak : measured) measured_sides[peak.call].insert(peak.side);
  for (const MemoryPeak& peak : stock) stock_sides[peak.call].insert(peak.side);
  const auto from_stock = [&](const std::string& call) {
    const auto have = stock_sides.find(call);
    if (have == stock_sides.end()) return false;
    const auto& need = measured_sides[call];
    return std::includes(have->second.begin(), have->second.end(), need.begin(), need.end());
  };
  std::vector<MemoryPeak> merged;
  for (const MemoryPeak& peak : measured) {
    if (!from_stock(peak.call)) merged.push_back(peak);
  }
  for (const MemoryPeak& peak : stock) {
    if (from_stock(peak.call)) merged.push_back(peak);
  }
  return merged;
}

}  // namespace lwb
