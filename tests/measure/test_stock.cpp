#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "core/base/files.h"
#include "core/base/text.h"
#include "core/measure/stock.h"
#include "tests/measure/fake_runner.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kHeader =
    "kernel_name,kernel_provider,kernel_operation_mode,metric_name,metric_unit,x_name,x_label,x_"
    "value,"
    "y_value_50,y_value_20,y_value_80,extra_benchmark_config_str,gpu_name,timestamp,liger_"
    "version\r\n";

std::string row(const std::string& mode, const std::string& metric, const std::string& x,
                const std::string& y, const std::string& time = "2026-01-01 10:00:00",
                int width = 4096) {
  const std::string unit = metric == "speed" ? "ms" : "MB";
  return "scaled_add,ours," + mode + "," + metric + "," + unit + ",T,token length," + x + "," + y +
         "," + y + "," + y + ",\"{\"\"hidden_size\"\": " + std::to_string(width) +
         ", \"\"dtype\"\": \"\"torch.bfloat16\"\", \"\"eps\"\": 1e-06}\",NVIDIA Test," + time +
         ",0.0.1\r\n";
}

TEST(StockTable, ReadsQuotedFieldsAndWritesTheSameBytes) {
  const std::string text =
      kHeader + row("full", "speed", "2048", "0.039") + row("full", "speed", "llama_3_8b", "16.0") +
      row("full", "memory", "4096", "nan") + row("forward", "speed", "1", "1e-05");
  const auto table = parse_stock_csv(text, "x.csv");
  ASSERT_TRUE(table) << table.error().sentence;
  ASSERT_EQ(table->rows.size(), 4u);
  EXPECT_EQ(table->rows[0].extra_benchmark_config,
            R"({"hidden_size": 4096, "dtype": "torch.bfloat16", "eps": 1e-06})");
  EXPECT_TRUE(table->rows[0].single_sample());
  EXPECT_EQ(table->rows[1].x_value, "llama_3_8b");
  EXPECT_TRUE(std::isnan(table->rows[2].y_50));
  EXPECT_EQ(write_stock_csv(*table), text);
}

TEST(StockTable, LineEndsInsideQuotesAndBareLf) {
  const auto table = parse_stock_csv(
      replace_all(
          kHeader + replace_all(row("full", "speed", "1", "2"), "token length", "\"a\r\nb\""),
          "0.0.1\r\n", "0.0.1\n"),
      "x.csv");
  ASSERT_TRUE(table);
  EXPECT_EQ(table->rows[0].x_label, "a\r\nb");
}

TEST(StockTable, SaysWhereATruncatedFileEnds) {
  const std::string text =
      kHeader + row("full", "speed", "1", "2") + row("full", "speed", "2", "2");
  auto table = parse_stock_csv(text.substr(0, text.size() - 70), "The CSV");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().sentence,
              HasSubstr("The CSV ends inside a quoted field that begins at line 3"));
  table = parse_stock_csv(text.substr(0, text.size() - 9), "The CSV");
  ASSERT_FALSE(table);
  EXPECT_EQ(table.error().sentence, "The CSV has 14 fields at line 3, where its header has 15.");
  table = parse_stock_csv("a,b\r\n", "The CSV");
  ASSERT_FALSE(table);
  EXPECT_THAT(table.error().sentence, HasSubstr("no column \"kernel_name\""));
  EXPECT_FALSE(parse_stock_csv("", "The CSV"));
}

TEST(StockTable, FreshRowsAreTheNewAndTheChanged) {
  const auto before = *parse_stock_csv(
      kHeader + row("full", "speed", "1", "2.0") + row("full", "speed", "2", "3.0"), "b");
  const auto after = *parse_stock_csv(kHeader + row("full", "speed", "1", "2.0") +
                                          row("full", "speed", "2", "3.0", "2026-01-02 10:00:00") +
                                          row("full", "speed", "4", "5.0"),
                                      "a");
  const auto fresh = fresh_rows(before, after);
  ASSERT_EQ(fresh.rows.size(), 2u);
  EXPECT_EQ(fresh.rows[0].x_value, "2");
  EXPECT_EQ(fresh.rows[1].x_value, "4");
}

class Stock : public testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::temp_directory_path() /
        ("lwb_stock_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    fs::create_directories(root_ / "benchmark" / "data");
    job_.tree = root_;
    job_.script = root_ / "benchmark" / "scripts" / "benchmark_scaled_add.py";
    job_.label = "stock benchmark v0";
    job_.csv = root_ / "v0_baseline.csv";
    shared_ = root_ / "benchmark" / "data" / "all_benchmark_data.csv";
    ours_ = root_ / "benchmark" / "data" / "all_benchmark_data_lwb.csv";
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(file, text));
  }
  Result<StockResult> run(CannedProcess canned) {
    runner_.answers.push_back(std::move(canned));
    return run_stock(runner_, tools_, job_);
  }

  fs::path root_, shared_, ours_;
  StockJob job_;
  PythonTools tools_;
  FakeRunner runner_;
};

std::vector<std::string> printed(const std::string& metric, const std::string& y) {
  return {
      "     BENCHMARKING " + std::string(metric == "speed" ? "SPEED" : "MEMORY") +
          " for SCALED_ADD",
      "********** Benchmark Data **********",
      "[",
      "  {",
      "    \"kernel_name\": \"scaled_add\",",
      "    \"kernel_provider\": \"ours\",",
      "    \"metric_name\": \"" + metric + "\",",
      "    \"metric_unit\": \"" + std::string(metric == "speed" ? "ms" : "MB") + "\",",
      "    \"gpu_name\": \"NVIDIA Test\",",
      "    \"x_name\": \"T\",",
      "    \"x_label\": \"token length\",",
      "    \"x_values\": [",
      "      2048",
      "    ],",
      "    \"y_values_50\": [",
      "      " + y,
      "    ],",
      "    \"y_values_20\": [",
      "      " + y,
      "    ],",
      "    \"y_values_80\": [",
      "      " + y,
      "    ],",
      "    \"timestamp\": \"2026-01-01 10:00:00\",",
      "    \"kernel_operation_mode\": \"full\",",
      R"(    "extra_benchmark_config_str": "{\"hidden_size\": 4096, \"dtype\": \"torch.bfloat16\", \"eps\": 1e-06}",)",
      "    \"liger_version\": \"0.0.1\"",
      "  }",
      "]"};
}

std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_F(Stock, TakesThePrivateCsvWhereTheCheckoutKnowsIt) {
  write(shared_, kHeader + row("full", "speed", "2048", "9.0", "2024-01-01 10:00:00"));
  const std::string rows =
      row("full", "speed", "2048", "0.04") + row("full", "memory", "2048", "64.0");
  CannedProcess canned;
  canned.lines = printed("speed", "0.04") + printed("memory", "64.0");
  canned.effect = [&](const ProcessSpec&) { write(ours_, kHeader + rows); };
  const auto result = run(canned);
  ASSERT_TRUE(result) << result.error().sentence;
  EXPECT_FALSE(result->failure);
  EXPECT_EQ(result->table.rows.size(), 2u);
  EXPECT_TRUE(result->notes.empty()) << result->notes.front();
  EXPECT_EQ(*read_file(job_.csv), kHeader + rows);
  EXPECT_EQ(runner_.asked[0].env.at("LIGER_BENCH_TARGET"), "lwb");
  EXPECT_THAT(runner_.asked[0].argv, ElementsAre("python3", job_.script.string(), "--overwrite"));
  EXPECT_EQ(runner_.asked[0].cwd, root_);
}

TEST_F(Stock, OnAnOlderCheckoutTakesWhatIsNewInTheSharedCsvAndPutsItBack) {
  const std::string old = kHeader + row("full", "speed", "1024", "9.0", "2024-01-01 10:00:00");
  write(shared_, old);
  CannedProcess canned;
  canned.lines = printed("speed", "0.04");
  canned.effect = [&](const ProcessSpec&) {
    write(shared_, old + row("full", "speed", "2048", "0.05"));
  };
  const auto result = run(canned);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->table.rows.size(), 1u);
  EXPECT_EQ(result->table.rows[0].x_value, "2048");
  EXPECT_THAT(result->notes,
              ElementsAre("1 rows of the script's CSV differ from what it printed."));
  EXPECT_EQ(*read_file(shared_), old);
}

TEST_F(Stock, KeepsTheSpeedRowsWhenMemoryRunsOut) {
  CannedProcess canned;
  canned.exit_code = 1;
  canned.lines = printed("speed", "0.04");
  canned.lines.push_back("     BENCHMARKING MEMORY for SCALED_ADD");
  canned.err =
      "Traceback (most recent call last):\n  File x\ntorch.OutOfMemoryError: CUDA out of memory.\n";
  canned.effect = [&](const ProcessSpec&) {
    write(ours_, kHeader + row("full", "speed", "2048", "0.04"));
  };
  const auto result = run(canned);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->kind, StockFailure::Kind::kOutOfMemory);
  EXPECT_THAT(result->missing_metrics, ElementsAre("memory"));
  EXPECT_EQ(result->table.rows.size(), 1u);
}

TEST_F(Stock, ShowsTheTracebackOfAScriptThatRaises) {
  CannedProcess canned;
  canned.exit_code = 1;
  canned.err =
      "noise\nTraceback (most recent call last):\n  File \"b.py\", line 3\nTypeError: no such "
      "option\n";
  const auto result = run(canned);
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_EQ(result->failure->kind, StockFailure::Kind::kScriptRaised);
  EXPECT_EQ(
      result->failure->sentence,
      "The benchmark script benchmark_scaled_add.py exited with code 1: TypeError: no such option");
  EXPECT_THAT(result->failure->traceback, testing::StartsWith("Traceback"));
  EXPECT_TRUE(result->table.rows.empty());
}

TEST_F(Stock, TakesThePrintedRowsWhenTheCsvIsCutOff) {
  CannedProcess canned;
  canned.lines = printed("speed", "0.04");
  canned.effect = [&](const ProcessSpec&) { write(ours_, kHeader + "scaled_add,ours,\"fu"); };
  const auto result = run(canned);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->table.rows.size(), 1u);
  EXPECT_THAT(result->notes, ElementsAre(HasSubstr("cut off")));
}

TEST_F(Stock, AScriptThatWritesNothingIsAFailure) {
  const auto result = run({});
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->failure);
  EXPECT_THAT(result->failure->sentence, HasSubstr("wrote no row"));
}

TEST(StockRows, PrintedNanBecomesNan) {
  const auto table = stock_rows_on_stdout(join(printed("speed", "NaN"), "\n") + "\n");
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_TRUE(std::isnan(table.rows[0].y_50));
}

TEST(StockRows, MemoryOfACellIsThatOfItsFullMode) {
  const auto table = *parse_stock_csv(
      kHeader + row("forward", "memory", "2048", "100.0") + row("full", "memory", "2048", "64.0") +
          row("full", "memory", "2048", "640.0", "2026-01-01 10:00:00", 8192),
      "x");
  std::vector<CapturedCall> calls = {*call_from_json(call_json("a"), "call"),
                                     *call_from_json(call_json("b", 4096), "call")};
  const auto peaks = stock_memory_peaks(table, calls, "v0");
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].call, "a");
  EXPECT_EQ(peaks[0].peak_bytes, 64.0 * 1024 * 1024);
  // A call keeps one source for both sides.
  const std::vector<MemoryPeak> measured = {
      {"a", "v0", 1}, {"a", "v1", 2}, {"b", "v0", 3}, {"b", "v1", 4}};
  auto merged = merge_memory(measured, peaks);
  EXPECT_EQ(merged.size(), 4u);
  EXPECT_EQ(merged[0].peak_bytes, 1);
  auto both = peaks;
  both.push_back({"a", "v1", 99});
  merged = merge_memory(measured, both);
  ASSERT_EQ(merged.size(), 4u);
  EXPECT_EQ(merged[3].peak_bytes, 99);
}

TEST(MergeStockRows, ReplacesItsOwnKeyAppendsTheRestAndKeepsEveryOtherByte) {
  StockRow row;
  row.kernel_name = "k";
  row.kernel_provider = "liger";
  row.metric_name = "speed";
  row.x_value = "1";
  row.y_50 = 5;
  StockRow other = row;
  other.x_value = "2";
  StockTable table{{row, other}};
  std::string text = replace_all(write_stock_csv(table), "\r\n", "\n");
  const auto lines = split_lines(text);
  StockRow fresh = other;
  fresh.y_50 = 3;
  StockRow added = row;
  added.x_value = "4";
  const auto merged = merge_stock_rows(text, {{fresh, added}}, "the CSV");
  ASSERT_TRUE(merged) << merged.error().sentence;
  const auto now = split_lines(*merged);
  ASSERT_EQ(now.size(), 4u);
  EXPECT_EQ(now[0], lines[0]);
  EXPECT_EQ(now[1], lines[1]);
  EXPECT_NE(now[2], lines[2]);
  EXPECT_EQ(merged->find('\r'), std::string::npos) << "the file's own line ends";
  const auto back = parse_stock_csv(*merged, "the CSV");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->rows[1].y_50, 3);
  EXPECT_EQ(back->rows[2].x_value, "4");
}

}  // namespace
}  // namespace lwb
