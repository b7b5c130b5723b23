// The panels beside the work area, and a variant edited by hand.
#include <gtest/gtest.h>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QTest>
#include <QToolButton>
#include <filesystem>

#include "core/base/files.h"
#include "core/run/journal.h"
#include "core/run/offers.h"
#include "ui/frame/header.h"
#include "ui/frame/notifier.h"
#include "ui/gpu/gpu_monitor.h"
#include "ui/gpu/gpu_panel.h"
#include "ui/history/history_panel.h"
#include "ui/notes/notes_panel.h"
#include "ui/report/markdown_view.h"
#include "ui/run/run_view.h"
#include "ui/variants/diff/edit_pane.h"
#include "ui/variants/variant_diff.h"
#include "ui/variants/variant_editor.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;

TEST(Gpu, PanelAndHeaderShowWhatTheDriverSays) {
  GpuMonitor monitor(LWB_FAKE_NVML);
  RunView run;
  GpuPanel panel(monitor);
  Header header(run, monitor);
  panel.resize(1000, 300);
  panel.show();
  ASSERT_TRUE(QTest::qWaitFor([&] { return monitor.samples().size() >= 2; }));
  const QString facts = panel.findChild<QLabel*>(QStringLiteral("gpuFacts"))->text();
  EXPECT_TRUE(facts.contains(QStringLiteral("sw power cap"))) << qPrintable(facts);
  EXPECT_TRUE(facts.contains(QStringLiteral("process 11"))) << qPrintable(facts);
  EXPECT_EQ(clock_temperature_power(*monitor.latest()), QStringLiteral("1980 MHz · 61 °C · 413 W"));
  EXPECT_EQ(header.findChild<QLabel*>(QStringLiteral("throttling"))->text(),
            QStringLiteral("throttled"));
}

TEST(Gpu, WithoutADriverThePanelSaysSo) {
  GpuMonitor monitor("/nonexistent.so");
  GpuPanel panel(monitor);
  EXPECT_TRUE(panel.findChild<QLabel*>(QStringLiteral("empty"))
                  ->text()
                  .contains(QStringLiteral("no NVIDIA driver")));
}

// A run that goes on, with one variant; written by hand, no process behind it.
class LiveRun : public ::testing::Test {
 protected:
  void SetUp() override {
    workspace_ = {fs::path(folder_.path().toStdString()) / "optimization/k", "k"};
    fs::create_directories(workspace_.root);
    put(workspace_.original(), "a = 1\nb = 2\n");
    put(workspace_.variant(1), "a = 1\nb = 3\n");
    put(workspace_.notes(1), "# v1\nbecause");
    auto journal = Journal::open(workspace_.journal());
    ASSERT_TRUE(journal);
    journal_ = std::move(*journal);
    append("run_started", {{"kernel", "k"}, {"request", Json::object()}});
    append("variant", {{"number", 1}, {"author", "catalog"}, {"based_on", "v0"}});
    run_.open(folder_.path(), QStringLiteral("k"));
    ASSERT_TRUE(QTest::qWaitFor([this] { return !run_.state().variants.empty(); }));
  }
  static void put(const fs::path& file, const std::string& text) {
    ASSERT_TRUE(write_file_atomically(file, text));
  }
  void append(const char* type, const Json& data) { ASSERT_TRUE(journal_.append(type, data)); }

  QTemporaryDir folder_;
  Workspace workspace_;
  Journal journal_;
  RunView run_;
};

TEST_F(LiveRun, AnEditedVariantIsOfferedToTheRun) {
  VariantDiff diff(run_);
  diff.resize(900, 400);
  diff.show();
  diff.show_variants(0, 1);
  auto* edit = diff.findChild<QToolButton*>(QStringLiteral("edit"));
  auto* editor = diff.findChild<VariantEditor*>();
  auto* save = diff.findChild<QPushButton*>(QStringLiteral("saveVariant"));
  ASSERT_TRUE(edit->isEnabled()) << qPrintable(edit->toolTip());
  edit->click();
  ASSERT_TRUE(editor->isVisible());
  EXPECT_EQ(editor->text(), "a = 1\nb = 3\n");
  EXPECT_FALSE(diff.has_unsaved_edit());
  EXPECT_FALSE(save->isEnabled());
  editor->pane()->setText(QStringLiteral("a = 1\nb = 4\n"));
  EXPECT_TRUE(diff.has_unsaved_edit());
  diff.findChild<QLineEdit*>(QStringLiteral("changeTitle"))->setText(QStringLiteral("four"));
  ASSERT_TRUE(save->isEnabled());
  save->click();
  EXPECT_FALSE(editor->isVisible());
  EXPECT_FALSE(diff.has_unsaved_edit());
  EXPECT_TRUE(diff.findChild<QLabel*>(QStringLiteral("offered"))->isVisible());
  auto offer = take_offer(journal_, workspace_.inbox(), 2);
  ASSERT_TRUE(offer && *offer);
  EXPECT_EQ((*offer)->text, "a = 1\nb = 4\n");
  EXPECT_EQ((*offer)->title, "four");
  EXPECT_EQ((*offer)->based_on, "v1");
  EXPECT_EQ((*offer)->author, "engineer");
}

TEST_F(LiveRun, AFinishedRunTakesNoVariantAndSaysSo) {
  VariantDiff diff(run_);
  append("run_finished", {{"outcome", "NO_WINNER"}});
  ASSERT_TRUE(QTest::qWaitFor([this] { return run_.state().finished; }));
  auto* edit = diff.findChild<QToolButton*>(QStringLiteral("edit"));
  EXPECT_FALSE(edit->isEnabled());
  EXPECT_TRUE(edit->toolTip().contains(QStringLiteral("is finished")));
}

TEST(History, TwoRunsAreComparedCellByCell) {
  const auto run = [](const char* goal, double us) {
    HistoryEntry entry;
    entry.kernel = QStringLiteral("k");
    entry.request = {{"optimization_goal", goal}, {"scope", "general"}};
    CellVerdict verdict;
    verdict.call = "T=1";
    verdict.pass = Pass::kBackward;
    verdict.new_us = us;
    verdict.ratio.ratio = 100 / us;
    entry.winner = {verdict};
    return entry;
  };
  HistoryEntry newer = run("memory", 40);
  newer.winner.push_back(newer.winner[0]);
  newer.winner[1].call = "T=2";
  const auto rows = compare_runs(run("speed", 50), newer);
  const auto row = [&](const QString& name) {
    for (const HistoryRow& r : rows) {
      if (r.name == name) return r;
    }
    return HistoryRow{};
  };
  EXPECT_EQ(row(QStringLiteral("optimization goal")).second, QStringLiteral("memory"));
  EXPECT_TRUE(row(QStringLiteral("scope")).name.isEmpty()) << "equal in both";
  EXPECT_EQ(row(QStringLiteral("T=1 backward")).first, QStringLiteral("50.0 µs, 2.00×"));
  EXPECT_EQ(row(QStringLiteral("T=1 backward")).change, QStringLiteral("1.25×"));
  EXPECT_EQ(row(QStringLiteral("T=2 backward")).first, QStringLiteral("–"));
  EXPECT_TRUE(row(QStringLiteral("T=2 backward")).change.isEmpty());
}

TEST_F(LiveRun, TwoKeptRunsAreChosenAndComparedInThePanel) {
  const fs::path kept = workspace_.root / "runs/20260101-000000";
  fs::create_directories(kept);
  fs::copy_file(workspace_.journal(), kept / "journal.jsonl");
  HistoryPanel panel(run_);
  panel.show();
  panel.refresh();
  auto* table = panel.findChild<QTableWidget*>(QStringLiteral("history"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return table->rowCount() == 2; }));
  auto* button = panel.findChild<QPushButton*>(QStringLiteral("compareRuns"));
  EXPECT_FALSE(button->isEnabled());
  table->selectAll();
  ASSERT_TRUE(button->isEnabled());
  button->click();
  auto* comparison = panel.findChild<QTableWidget*>(QStringLiteral("comparison"));
  EXPECT_TRUE(comparison->isVisible());
  EXPECT_GE(comparison->rowCount(), 3);
}

TEST_F(LiveRun, NotesFollowTheSelectedVariant) {
  NotesPanel notes(run_);
  run_.select_variant(1);
  EXPECT_TRUE(notes.findChild<MarkdownView*>(QStringLiteral("notesView"))
                  ->toPlainText()
                  .contains(QStringLiteral("because")));
  run_.select_variant(0);
  EXPECT_TRUE(notes.findChild<QLabel*>(QStringLiteral("empty"))
                  ->text()
                  .contains(QStringLiteral("no notes")));
}

TEST_F(LiveRun, APersonIsToldOnceOfAQuestionWhenTheWindowIsNotInFront) {
  QWidget window;
  auto* notifier = new Notifier(run_, window);
  QSignalSpy told(notifier, &Notifier::told);
  // The run's lock says that a process works on it: this one.
  auto file = checkout_lock_file(folder_.path().toStdString());
  ASSERT_TRUE(file);
  const CancelToken never;
  auto lock = Lock::take(*file, "k", never);
  ASSERT_TRUE(lock);
  ASSERT_TRUE(QTest::qWaitFor([this] { return run_.is_running(); }));
  append("approval_requested", {{"id", "winner"}, {"question", "Approve the winner?"}});
  ASSERT_TRUE(QTest::qWaitFor([&] { return told.count() == 1; }));
  EXPECT_EQ(told[0][1].toString(), QStringLiteral("Approve the winner?"));
  append("samples", Json::object());
  QTest::qWait(300);
  EXPECT_EQ(told.count(), 1);
}

}  // namespace
}  // namespace lwb
