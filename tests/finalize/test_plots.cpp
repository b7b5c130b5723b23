#include "core/finalize/plots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/process/child_environment.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kNarrow = R"({"hidden_size": 4096, "dtype": "torch.bfloat16"})";
const char* const kWide = R"({"hidden_size": 8192, "dtype": "torch.bfloat16"})";

StockRow row(const std::string& provider, const std::string& mode, const std::string& metric,
             const std::string& x, double y, const std::string& config = kNarrow) {
  const bool models = x.find_first_not_of("0123456789") != std::string::npos;
  return {"scaled_add",
          provider,
          mode,
          metric,
          metric == "speed" ? "ms" : "MB",
          models ? "model_config" : "T",
          models ? "model" : "token length",
          x,
          y,
          y * 0.9,
          y * 1.1,
          config,
          "NVIDIA Test",
          "2026-01-01 10:00:00",
          "0.0.1"};
}

// One sweep of a script: its own provider at `speed` times the reference's time.
StockTable sweep(double speed,
                 const std::vector<std::string>& modes = {"forward", "backward", "full"}) {
  StockTable table;
  for (const char* provider : {"fast", "reference"}) {
    const double factor = provider == std::string("fast") ? speed : 1;
    for (const char* x : {"1024", "2048", "4096", "8192"}) {
      for (const std::string& mode : modes) {
        table.rows.push_back(row(provider, mode, "speed", x, factor * std::atof(x) / 4096));
      }
      table.rows.push_back(row(provider, "full", "memory", x, factor * std::atof(x) / 8));
    }
  }
  return table;
}

std::vector<std::string> providers(const StockTable& table) {
  std::vector<std::string> names;
  for (const StockRow& each : table.rows) {
    if (std::find(names.begin(), names.end(), each.kernel_provider) == names.end()) {
      names.push_back(each.kernel_provider);
    }
  }
  return names;
}

TEST(ThreeWayTable, NamesTheSides) {
  const StockTable table = three_way_table(sweep(0.5), sweep(0.4), {"reference"});
  EXPECT_THAT(providers(table), ElementsAre("original", "reference", "optimized"));
  EXPECT_EQ(table.rows.size(), 16u + 16u + 16u);
  double optimized = 0, reference = 0;
  for (const StockRow& each : table.rows) {
    if (each.kernel_provider == "optimized" && each.x_value == "4096") optimized = each.y_50;
    if (each.kernel_provider == "reference" && each.metric_name == "speed") ++reference;
  }
  EXPECT_DOUBLE_EQ(optimized, 0.4 * 512);  // its last row at that x: memory
  EXPECT_EQ(reference, 12);                // of the original's run alone
}

TEST(ThreeWayTable, KeepsTheProviderWhereThereAreSeveral) {
  StockTable original, winner;
  original.rows = {row("a", "full", "speed", "1024", 1), row("b", "full", "speed", "1024", 2)};
  winner.rows = {row("a", "full", "speed", "1024", 3)};
  EXPECT_THAT(providers(three_way_table(original, winner, {"reference"})),
              ElementsAre("original a", "original b", "optimized a"));
}

class Plots : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "lwb-plots-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    job_.tree = top_ / "tree";
    job_.csv = top_ / "out/three_way.csv";
    job_.folder = top_ / "out/plots";
    job_.reference = {"reference"};
    job_.original = sweep(0.5);
    job_.winner = sweep(0.4);
    ASSERT_TRUE(write_file_atomically(visualizer(), "print('not really')\n"));
    tools_.environment = child_environment({}, own_environment());
  }
  void TearDown() override {
    std::error_code ignored;
    if (!top_.empty()) fs::remove_all(top_, ignored);
  }

  fs::path visualizer() const { return job_.tree / "benchmark/benchmarks_visualizer.py"; }
  fs::path default_data() const { return job_.tree / "benchmark/data/all_benchmark_data.csv"; }

  // Answers --help with `options`, and saves as the real one does.
  void answer(FakeRunner& runner, const std::string& options) {
    runner.answer = [options](const ProcessSpec& spec) {
      CannedProcess canned;
      if (spec.argv.back() == "--help") {
        canned.lines = {options};
        return canned;
      }
      canned.effect = [](const ProcessSpec& asked) {
        const auto& argv = asked.argv;
        const auto value = [&](const std::string& option) {
          const auto at = std::find(argv.begin(), argv.end(), option);
          return at == argv.end() ? std::string("none") : *(at + 1);
        };
        const std::string name = value("--kernel-name") + "_" + value("--metric-name") + "_" +
                                 value("--kernel-operation-mode") + "_" + value("--sweep-mode");
        EXPECT_TRUE(write_file_atomically(asked.cwd / "benchmark/visualizations" / (name + ".png"),
                                          name + value("--extra-config-filter")));
      };
      return canned;
    };
  }

  std::vector<std::string> names(const PlotResult& result) {
    std::vector<std::string> all;
    for (const fs::path& picture : result.pictures) {
      EXPECT_TRUE(fs::exists(picture)) << picture;
      all.push_back(picture.filename().string());
    }
    return all;
  }

  const std::string all_options_ =
      "--kernel-name --metric-name --kernel-operation-mode --sweep-mode --extra-config-filter "
      "--gpu-filter --data-file --overwrite";
  fs::path top_;
  PlotJob job_;
  PythonTools tools_;
};

TEST_F(Plots, OneExactCallForEachPicture) {
  FakeRunner runner;
  answer(runner, all_options_);
  ASSERT_TRUE(
      write_file_atomically(job_.tree / "benchmark/visualizations/old_speed_full.png", "old"));
  const auto result = draw_three_way(runner, tools_, job_);
  ASSERT_TRUE(result) << result.error().sentence;
  EXPECT_THAT(names(*result),
              ElementsAre("scaled_add_speed_forward.png", "scaled_add_speed_backward.png",
                          "scaled_add_speed_full.png", "scaled_add_memory_full.png"));
  EXPECT_THAT(result->notes, IsEmpty());
  ASSERT_EQ(runner.asked.size(), 5u);
  const ProcessSpec& call = runner.asked[1];
  EXPECT_THAT(
      call.argv,
      ElementsAre("python3", visualizer().string(), "--kernel-name", "scaled_add", "--metric-name",
                  "speed", "--kernel-operation-mode", "forward", "--sweep-mode", "token_length",
                  "--extra-config-filter", kNarrow, "--gpu-filter", "NVIDIA Test", "--data-file",
                  job_.csv.string(), "--overwrite"));
  EXPECT_EQ(call.env.at("MPLBACKEND"), "Agg");
  const auto table = read_stock_csv(job_.csv);
  ASSERT_TRUE(table);
  EXPECT_EQ(write_stock_csv(*table),
            write_stock_csv(three_way_table(job_.original, job_.winner, job_.reference)));
}

TEST_F(Plots, ConfigurationsAndModelsHavePicturesOfTheirOwn) {
  FakeRunner runner;
  answer(runner, all_options_);
  for (StockTable* table : {&job_.original, &job_.winner}) {
    *table = {};
    for (const char* config : {kNarrow, kWide}) {
      table->rows.push_back(row("fast", "full", "speed", "1024", 1, config));
    }
    table->rows.push_back(row("fast", "full", "speed", "small_model", 1));
  }
  const auto result = draw_three_way(runner, tools_, job_);
  ASSERT_TRUE(result);
  EXPECT_THAT(names(*result), ElementsAre("scaled_add_speed_full_hidden_size-4096.png",
                                          "scaled_add_speed_full_hidden_size-8192.png",
                                          "scaled_add_speed_full_model_config.png"));
  EXPECT_THAT(*read_file(result->pictures[1]), HasSubstr(kWide));
  EXPECT_THAT(runner.asked[3].argv, Contains("model_config"));
}

TEST_F(Plots, OfAVisualizerThatReadsOneFileOnly) {
  FakeRunner runner;
  answer(runner, "--kernel-name --metric-name --kernel-operation-mode --display --overwrite");
  const auto drawn = runner.answer;
  std::vector<std::size_t> rows;
  runner.answer = [&](const ProcessSpec& spec) {
    if (spec.argv.back() != "--help") rows.push_back(read_stock_csv(default_data())->rows.size());
    return drawn(spec);
  };
  ASSERT_TRUE(write_file_atomically(default_data(), "as it was"));
  EXPECT_EQ(names(*draw_three_way(runner, tools_, job_)).size(), 4u);
  EXPECT_THAT(rows, ElementsAre(12, 12, 12, 12));
  EXPECT_EQ(*read_file(default_data()), "as it was");
  fs::remove(default_data());
  EXPECT_EQ(names(*draw_three_way(runner, tools_, job_)).size(), 4u);
  EXPECT_FALSE(fs::exists(default_data()));
}

TEST_F(Plots, WhatCannotBeDrawnIsANote) {
  FakeRunner runner;
  answer(runner, all_options_);
  const auto drawn = runner.answer;
  runner.answer = [&](const ProcessSpec& spec) {
    CannedProcess canned = drawn(spec);
    if (std::find(spec.argv.begin(), spec.argv.end(), "backward") == spec.argv.end()) return canned;
    return CannedProcess{
        .lines = {}, .exit_code = 1, .err = "Traceback\nValueError: No data found\n"};
  };
  for (StockRow& each : job_.winner.rows) {
    if (each.metric_name == "memory") each.y_50 = std::nan("");
  }
  job_.original.rows.push_back(row("fast", "no_grad", "speed", "1024", std::nan("")));
  const auto result = draw_three_way(runner, tools_, job_);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->pictures.size(), 3u);
  EXPECT_THAT(
      result->notes,
      ElementsAre("scaled_add_speed_backward was not drawn, as it exited with code 1: "
                  "ValueError: No data found.",
                  HasSubstr("scaled_add_memory_full shows nothing of \"optimized\""),
                  HasSubstr("scaled_add_speed_no_grad was not drawn, as none of its rows")));
}

TEST_F(Plots, APictureOfAnotherPassIsNotTaken) {
  FakeRunner runner;
  runner.answer = [](const ProcessSpec& spec) {
    CannedProcess canned;
    if (spec.argv.back() == "--help") canned.lines = {"--data-file --kernel-operation-mode"};
    canned.effect = [](const ProcessSpec& asked) {
      EXPECT_TRUE(write_file_atomically(
          asked.cwd / "benchmark/visualizations/scaled_add_memory_full.png", "x"));
    };
    return canned;
  };
  job_.winner = {};
  job_.original.rows = {row("fast", "forward", "memory", "1024", 1)};
  const auto result = draw_three_way(runner, tools_, job_);
  ASSERT_TRUE(result);
  EXPECT_THAT(result->pictures, IsEmpty());
  EXPECT_THAT(result->notes, Contains(HasSubstr("saved no picture of that pass")));
}

TEST_F(Plots, AMissingPackageIsSaidOnce) {
  FakeRunner runner;
  runner.answer = [](const ProcessSpec&) {
    return CannedProcess{
        .lines = {}, .exit_code = 1, .err = "ModuleNotFoundError: No module named 'seaborn'\n"};
  };
  const auto result = draw_three_way(runner, tools_, job_);
  ASSERT_TRUE(result);
  EXPECT_EQ(runner.asked.size(), 1u);
  EXPECT_THAT(result->notes, ElementsAre(HasSubstr("No module named 'seaborn'")));
  EXPECT_TRUE(fs::exists(job_.csv));
}

TEST_F(Plots, NoVisualizerNoRowsAStoppedRun) {
  FakeRunner runner;
  runner.answer = [](const ProcessSpec&) {
    return CannedProcess{.lines = {}, .end = ProcessEnd::kCancelled};
  };
  EXPECT_EQ(draw_three_way(runner, tools_, job_).error().kind, ErrorKind::kStopped);
  fs::remove(visualizer());
  EXPECT_THAT(draw_three_way(runner, tools_, job_)->notes,
              ElementsAre(HasSubstr("no benchmark/benchmarks_visualizer.py")));
  job_.original = job_.winner = {};
  EXPECT_THAT(draw_three_way(runner, tools_, job_)->notes, ElementsAre(HasSubstr("has no rows")));
}

TEST_F(Plots, TravelThroughJson) {
  PlotResult result;
  result.pictures = {"/a/b.png"};
  result.notes = {"Sentence."};
  EXPECT_EQ(to_json(plot_result_from_json(to_json(result))), to_json(result));
}

// The real one ------------------------------------------------------------------------------------

// The value of an environment variable, or the reason why it is not set.
std::string required(const std::string& name, std::string& reason) {
  const char* value = std::getenv(name.c_str());
  if (value != nullptr && *value != 0) return value;
  const char* why = std::getenv((name + "_REASON").c_str());
  reason = why != nullptr && *why != 0 ? why : name + " is not set";
  return {};
}

class RealPlots : public Plots {
 protected:
  // Draws with `from`'s visualizer. LWB_KEEP_PLOTS keeps a copy of the pictures, for a look.
  void draw(const fs::path& from) {
    std::string reason;
    tools_.python = required("LWB_TEST_PYTHON", reason);
    if (!reason.empty()) GTEST_SKIP() << reason;
    fs::remove(visualizer());
    fs::copy_file(from / "benchmark/benchmarks_visualizer.py", visualizer());
    add_configurations();
    SystemRunner runner;
    const auto result = draw_three_way(runner, tools_, job_);
    ASSERT_TRUE(result) << result.error().sentence;
    EXPECT_THAT(result->notes, IsEmpty());
    EXPECT_THAT(
        names(*result),
        ElementsAre("scaled_add_speed_forward.png", "scaled_add_speed_backward.png",
                    "scaled_add_speed_full_hidden_size-4096.png", "scaled_add_memory_full.png",
                    "scaled_add_speed_full_hidden_size-8192.png",
                    "scaled_add_speed_full_model_config.png"));
    std::vector<std::string> pictures;
    for (const fs::path& picture : result->pictures) {
      pictures.push_back(read_file(picture).value_or(""));
      EXPECT_TRUE(pictures.back().starts_with("\x89PNG")) << picture;
    }
    // The two configurations are not the same picture.
    EXPECT_NE(pictures[2], pictures[4]);
    if (const char* keep = std::getenv("LWB_KEEP_PLOTS")) {
      fs::copy(job_.folder, keep,
               fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    }
  }

  void add_configurations() {
    for (StockTable* table : {&job_.original, &job_.winner}) {
      const double speed = table == &job_.original ? 0.5 : 0.4;
      for (const char* provider : {"fast", "reference"}) {
        const double factor = provider == std::string("fast") ? speed : 1;
        for (const char* x : {"1024", "4096"}) {
          table->rows.push_back(row(provider, "full", "speed", x, factor * 9, kWide));
        }
        table->rows.push_back(row(provider, "full", "speed", "small_model", factor));
        table->rows.push_back(row(provider, "full", "speed", "large_model", factor * 3));
      }
    }
  }
};

TEST_F(RealPlots, ByTheReleasesVisualizer) {
  std::string reason;
  const std::string root = required("LWB_TEST_LIGER", reason);
  if (!reason.empty()) GTEST_SKIP() << reason;
  draw(root);
}

TEST_F(RealPlots, ByTheSamplesVisualizer) {
  draw(fs::path(LWB_SOURCE_DIR) / "resources/sample");
}

}  // namespace
}  // namespace lwb
