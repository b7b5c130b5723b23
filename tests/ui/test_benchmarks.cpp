// The benchmarks as the window shows them, fed by the journal of a real run (tests/evidence).
#include <gtest/gtest.h>

#include <QComboBox>
#include <QFile>
#include <QImage>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <cmath>
#include <filesystem>

#include "core/base/files.h"
#include "ui/benchmarks/benchmark_board.h"
#include "ui/benchmarks/benchmarks_panel.h"
#include "ui/benchmarks/heat_model.h"
#include "ui/frame/headroom_bars.h"
#include "ui/profile/roofline_chart.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;

const ChartLine* line_of(const Chart& chart, int key) {
  for (const ChartLine& line : chart.lines) {
    if (line.key == key) return &line;
  }
  return nullptr;
}

class Benchmarks : public ::testing::Test {
 protected:
  void SetUp() override {
    workspace_ = fs::path(folder_.path().toStdString()) / "optimization/rms_norm";
    fs::create_directories(workspace_);
    run_.open(folder_.path(), QStringLiteral("rms_norm"));
    panel_.resize(1100, 260);
    panel_.show();
  }
  // Up to the line that `until` accepts, or the whole.
  void play(const std::function<bool(const std::string&)>& until = {}) {
    auto text = read_file(fs::path(LWB_SOURCE_DIR) / "tests/evidence/rms_norm/journal.jsonl");
    ASSERT_TRUE(text);
    std::size_t length = text->size();
    if (until) {
      for (std::size_t at = 0; at < text->size();) {
        const std::size_t end = text->find('\n', at) + 1;
        if (until(text->substr(at, end - at))) {
          length = at;
          break;
        }
        at = end;
      }
      ASSERT_LT(length, text->size());
    }
    ASSERT_TRUE(write_file_atomically(workspace_ / "journal.jsonl", text->substr(0, length)));
    bool changed = false;
    const auto connection =
        QObject::connect(&board_, &BenchmarkBoard::changed, [&] { changed = true; });
    ASSERT_TRUE(QTest::qWaitFor(
        [&] {
          // A journal cut short ends with its last samples; a whole one says that it is finished.
          return changed && run_.follower().is_idle() && (until || run_.state().finished);
        },
        20000));
    QTest::qWait(150);  // the last of the throttled refreshes
    QObject::disconnect(connection);
  }
  QTemporaryDir folder_;
  fs::path workspace_;
  RunView run_;
  BenchmarkBoard board_{run_};
  BenchmarksPanel panel_{run_, board_};
};

TEST_F(Benchmarks, HeatTableHasTheVerdictsOfTheRecords) {
  HeatModel model(board_);
  EXPECT_EQ(model.rowCount(), 0);
  play();
  ASSERT_EQ(run_.state().variants.size(), 2u);
  ASSERT_EQ(model.columnCount(), HeatModel::kFirstVariant + 2);
  int seen = 0;
  for (const Json& row : get_array(run_.state().variants.at(2), "verdicts")) {
    const CellVerdict verdict = cell_verdict_from_json(row);
    for (int i = 0; i < model.rowCount(); ++i) {
      if (model.cell(i) != SampleTable::Cell{verdict.call, verdict.pass}) continue;
      ++seen;
      const QModelIndex index = model.index(i, HeatModel::kFirstVariant + 1);
      const QString words = verdict_words(QString::fromStdString(to_string(verdict.verdict.kind)));
      EXPECT_EQ(index.data().toString().left(1), words.left(1));
      EXPECT_NEAR(index.data().toString().mid(2).chopped(1).toDouble(), verdict.ratio.ratio, 0.006);
      EXPECT_EQ(index.data(Qt::BackgroundRole).isValid(),
                verdict.verdict.kind != VerdictKind::kSame);
      EXPECT_TRUE(index.data(Qt::ToolTipRole).toString().contains(words));
    }
  }
  EXPECT_EQ(seen, model.rowCount());
  EXPECT_GT(seen, 0);
}

TEST_F(Benchmarks, AVariantNotYetJudgedIsHollowAndHasItsLiveRatio) {
  play([](const std::string& line) { return get_string(Json::parse(line), "type") == "variant"; });
  ASSERT_TRUE(run_.state().variants.empty() ||
              !get_bool(run_.state().variants.begin()->second, "measured"));
  HeatModel model(board_);
  ASSERT_EQ(model.variant(model.columnCount() - 1), 1);
  EXPECT_TRUE(
      model.index(0, HeatModel::kFirstVariant).data().toString().startsWith(QStringLiteral("…")));
  ChartChoice choice;
  choice.pass = Pass::kBackward;
  const Chart chart = quantity_chart(board_, choice);
  ASSERT_NE(line_of(chart, 0), nullptr);
  ASSERT_NE(line_of(chart, 1), nullptr);
  for (const ChartPoint& point : line_of(chart, 0)->points) EXPECT_TRUE(point.is_settled);
  for (const ChartPoint& point : line_of(chart, 1)->points) EXPECT_FALSE(point.is_settled);
}

TEST_F(Benchmarks, ChartsHoldEveryCallWithItsIntervalAndTheRoof) {
  play();
  const BenchmarkBoard& board = board_;
  ChartChoice all;
  all.pass = Pass::kBackward;
  all.is_logarithmic = false;
  const Chart chart = quantity_chart(board, all);
  std::size_t calls = 0;
  for (const auto& cell : board.table().cells()) calls += cell.pass == Pass::kBackward;
  ASSERT_NE(line_of(chart, kRoofKey), nullptr);
  for (const int key : {0, 1, 2}) {
    const ChartLine* line = line_of(chart, key);
    ASSERT_NE(line, nullptr);
    EXPECT_EQ(line->points.size(), calls);
    for (const ChartPoint& point : line->points) {
      EXPECT_LE(point.low, point.y);
      EXPECT_GE(point.high, point.y);
      EXPECT_GE(point.low, chart.y_min);
      EXPECT_LE(point.high, chart.y_max);
      EXPECT_FALSE(point.tip.isEmpty());
    }
  }
  // The same on a logarithmic axis.
  all.is_logarithmic = true;
  const Chart log = quantity_chart(board, all);
  EXPECT_NEAR(std::pow(10, line_of(log, 2)->points[0].y), line_of(chart, 2)->points[0].y, 1e-6);
  // One shape alone: x by its logarithm, ascending.
  for (const std::string& shape : board.shapes()) {
    ChartChoice one = all;
    one.shape = shape;
    const Chart part = quantity_chart(board, one);
    for (std::size_t i = 1; i < part.x_ticks.size(); ++i) {
      EXPECT_GT(part.x_ticks[i].at, part.x_ticks[i - 1].at);
    }
  }
  const Chart gains = gain_chart(board, all);
  EXPECT_TRUE(line_of(gains, 0)->is_dashed);
  EXPECT_EQ(line_of(gains, 0)->points[0].y, 1);
  for (std::size_t i = 0; i < calls; ++i) {
    EXPECT_GT(line_of(gains, 2)->points[i].y, 1);
  }
  all.quantity = Quantity::kMemory;
  EXPECT_FALSE(line_of(quantity_chart(board, all), 2)->points.empty());
}

TEST_F(Benchmarks, AClickInTheHeatTableSelectsTheVariantAndThePass) {
  play();
  run_.select_variant(1);
  auto* heat = panel_.findChild<QTableView*>(QStringLiteral("heat"));
  auto* model = qobject_cast<HeatModel*>(heat->model());
  ASSERT_NE(model, nullptr);
  int row = 0;
  while (model->cell(row).pass != Pass::kForward) ++row;
  Q_EMIT heat->clicked(model->index(row, HeatModel::kFirstVariant + 1));
  EXPECT_EQ(run_.selected_variant(), 2);
  EXPECT_EQ(panel_.findChild<QComboBox*>(QStringLiteral("pass"))->currentText(),
            QStringLiteral("forward"));
}

TEST_F(Benchmarks, AreSavedAsPictureDrawingAndTable) {
  play();
  const QString png = folder_.filePath(QStringLiteral("a.png"));
  EXPECT_EQ(panel_.save(png), QString());
  const QImage picture(png);
  ASSERT_EQ(picture.size(), QSize(2400, 840));
  // Charts in both halves: more than the ground and the caption.
  for (const int from : {0, 1200}) {
    int other = 0;
    for (int x = from; x < from + 1200; x += 3) {
      for (int y = 80; y < 840; y += 3) {
        other += picture.pixelColor(x, y) != tokens().surface ? 1 : 0;
      }
    }
    EXPECT_GT(other, 500) << from;
  }
  const QString svg = folder_.filePath(QStringLiteral("a.svg"));
  EXPECT_EQ(panel_.save(svg), QString());
  QFile drawing(svg);
  ASSERT_TRUE(drawing.open(QIODevice::ReadOnly));
  const QByteArray text = drawing.readAll();
  EXPECT_TRUE(text.contains("<svg"));
  EXPECT_TRUE(text.contains("NVIDIA H200"));
  const QString csv = folder_.filePath(QStringLiteral("a.csv"));
  EXPECT_EQ(panel_.save(csv), QString());
  QFile table(csv);
  ASSERT_TRUE(table.open(QIODevice::ReadOnly));
  EXPECT_EQ(table.readAll().toStdString(), to_csv(board_.table()));
  EXPECT_TRUE(
      panel_.save(QStringLiteral("/nonexistent/a.png")).contains(QStringLiteral("cannot write")));
  EXPECT_TRUE(
      panel_.save(folder_.filePath(QStringLiteral("a.txt"))).contains(QStringLiteral(".csv")));
}

TEST_F(Benchmarks, ForgetsEverythingWithAnotherRun) {
  play();
  run_.open(folder_.path(), QStringLiteral("swiglu"));
  EXPECT_TRUE(board_.table().empty());
  EXPECT_FALSE(board_.verdict({"T=2048 hidden_size=4096", Pass::kBackward}, 2));
}

TEST_F(Benchmarks, RooflineHasAPointForEachRowUnderItsRoof) {
  play();
  const Json& profile = run_.state().profile;
  const Chart chart = roofline_chart(profile);
  const std::size_t rows = get_array(get_object(profile, "roofline"), "rows").size();
  std::size_t points = 0;
  for (const ChartLine& line : chart.lines) {
    if (line.is_dashed) {
      EXPECT_EQ(line.points.size(), rows);
    } else {
      points += line.points.size();
    }
  }
  EXPECT_EQ(points, rows);
  EXPECT_TRUE(roofline_chart(Json::object()).lines.empty());
}

TEST_F(Benchmarks, HeadroomIsThatOfTheCellWithTheMostToGain) {
  EXPECT_FALSE(headroom_of(RunState{}));
  play();
  const RunState& state = run_.state();
  const auto headroom = headroom_of(state);
  ASSERT_TRUE(headroom);
  double least = 2;
  for (const Json& row : get_array(get_object(state.profile, "roofline"), "rows")) {
    if (get_bool(row, "large")) least = std::min(least, get_number(row, "share"));
  }
  EXPECT_EQ(headroom->original, least);
  EXPECT_EQ(headroom->variant, 2);
  ASSERT_TRUE(headroom->best);
  EXPECT_GT(*headroom->best, headroom->original);
}

TEST(ChartTicks, AreRoundAndCoverTheRange) {
  double low = 3, high = 118;
  const auto ticks = nice_ticks(low, high, 5);
  EXPECT_EQ(low, 0);
  EXPECT_EQ(high, 150);
  ASSERT_EQ(ticks.size(), 4u);
  EXPECT_EQ(ticks[1].label, QStringLiteral("50"));
  low = 7;
  high = 130;
  const auto powers = nice_log_ticks(low, high);
  EXPECT_EQ(low, 5);
  EXPECT_EQ(high, 200);
  EXPECT_NEAR(powers.front().at, std::log10(5), 1e-12);
  EXPECT_EQ(powers.back().label, QStringLiteral("200"));
  low = high = 4;  // one value is a range too
  EXPECT_GE(nice_ticks(low, high, 5).size(), 2u);
  EXPECT_LT(low, high);
}

}  // namespace
}  // namespace lwb
