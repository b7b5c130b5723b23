// A whole run clicked through, from New run to the summary: the sample's recording, played by the
// real `lwb` in a process of its own.
#include <gtest/gtest.h>

#include <QAction>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTableView>
#include <QTabWidget>
#include <QTest>
#include <filesystem>

#include "core/base/files.h"
#include "ui/main_window.h"
#include "ui/setup/new_run_page.h"
#include "ui/setup/request_form.h"
#include "ui/variants/variant_model.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;
constexpr int kPatienceMs = 60000;

class ReplayedRun : public ::testing::Test {
 protected:
  void SetUp() override {
    qputenv("LWB_PROGRAM", LWB_TERMINAL_PROGRAM);
    window_.show();
    OpenRequest request;
    request.sample = true;
    window_.open(request);
    // Also where there is a GPU: the recording.
    auto* page = window_.findChild<NewRunPage*>();
    checkout_ = page->checkout();
    page->open(checkout_, QStringLiteral("scale_norm"), LWB_RECORDING);
    page->form()->prepare_sample();
    start_ = button("start");
    ASSERT_TRUE(QTest::qWaitFor([this] { return start_->isEnabled(); }, kPatienceMs)) << error();
  }
  QPushButton* button(const char* name) {
    return window_.findChild<QPushButton*>(QString::fromUtf8(name));
  }
  std::string error() const {
    return window_.findChild<QLabel*>(QStringLiteral("error"))->text().toStdString();
  }
  bool wait_for_question(const std::string& id) {
    return QTest::qWaitFor(
        [&] {
          const auto& pending = window_.run().state().pending;
          return !pending.empty() && pending.front().id == id && window_.run().is_running();
        },
        kPatienceMs);
  }
  void choose(const char* name) {
    ASSERT_TRUE(window_.review_pending());
    auto* choice = window_.dialog()->findChild<QPushButton*>(QString::fromUtf8(name));
    ASSERT_NE(choice, nullptr) << name;
    choice->click();
    ASSERT_TRUE(QTest::qWaitFor([this] { return window_.dialog() == nullptr; }));
  }
  std::string kernel_file() const {
    auto text = read_file(fs::path(checkout_.toStdString()) / "src/liger_kernel/ops/scale_norm.py");
    return text ? *text : "";
  }
  MainWindow window_;
  QString checkout_;
  QPushButton* start_ = nullptr;
};

TEST_F(ReplayedRun, IsClickedThroughFromNewRunToTheSummary) {
  const std::string original = kernel_file();
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
  choose("Go on with this strategy order");
  ASSERT_TRUE(wait_for_question("winner")) << error();
  EXPECT_EQ(kernel_file(), original);
  // What is decided is shown in full before the choice.
  ASSERT_TRUE(window_.review_pending());
  auto* tabs = window_.dialog()->findChild<QTabWidget*>();
  ASSERT_GE(tabs->count(), 3);
  window_.dialog()
      ->findChild<QLineEdit*>(QStringLiteral("comment"))
      ->setText(QStringLiteral("looks right"));
  choose("Approve winner v2");
  ASSERT_TRUE(wait_for_question("finalize")) << error();
  EXPECT_EQ(kernel_file(), original);
  choose("Apply v2");
  ASSERT_TRUE(wait_for_question("pull_request")) << error();
  EXPECT_NE(kernel_file(), original);
  choose("Leave the branch unsent");
  ASSERT_TRUE(wait_for_question("result")) << error();
  choose("Keep the change");
  ASSERT_TRUE(QTest::qWaitFor([this] { return window_.run().state().finished; }, kPatienceMs));
  EXPECT_EQ(window_.run().state().outcome, "APPLIED");
  bool commented = false;
  for (const Json& answer : window_.run().state().answers) {
    EXPECT_EQ(get_string(answer, "by"), "window");
    commented = commented || get_string(answer, "comment") == "looks right";
  }
  EXPECT_TRUE(commented);
  // In a narrow window columns go, in their order; nothing is cut off.
  auto* table = window_.findChild<QTableView*>(QStringLiteral("variants"));
  window_.stay_at(Stage::kOptimize);
  window_.resize(1100, 700);
  ASSERT_TRUE(QTest::qWaitFor([&] { return table->isColumnHidden(VariantModel::kAuthor); }));
  EXPECT_FALSE(table->isColumnHidden(VariantModel::kVerdict));
  EXPECT_LE(table->horizontalHeader()->length(), table->viewport()->width());
  window_.resize(1500, 900);
  EXPECT_TRUE(QTest::qWaitFor([&] { return !table->isColumnHidden(VariantModel::kAuthor); }));
  const auto* summary = window_.findChild<QPlainTextEdit*>(QStringLiteral("summary"));
  EXPECT_TRUE(summary->toPlainText().contains(QStringLiteral("recorded on NVIDIA H200")));
  EXPECT_EQ(window_.findChild<QLabel*>(QStringLiteral("provenance"))->text(),
            QStringLiteral("recorded on NVIDIA H200"));
  EXPECT_GE(window_.findChild<QListWidget*>(QStringLiteral("gates"))->count(), 3);
}

// All techniques struck leaves the sweep, which is recorded; a pause asked for meanwhile is kept.
TEST_F(ReplayedRun, StruckTechniquesAreNotTriedAndAPauseIsHeeded) {
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
  auto* pause = window_.findChild<QAction*>(QStringLiteral("pause"));
  ASSERT_TRUE(pause->isEnabled());
  pause->trigger();
  ASSERT_TRUE(window_.review_pending());
  auto* order = window_.dialog()->findChild<QListWidget*>(QStringLiteral("order"));
  ASSERT_NE(order, nullptr);
  ASSERT_GE(order->count(), 3);
  for (int row = 0; row < order->count(); ++row) order->item(row)->setCheckState(Qt::Unchecked);
  choose("Go on with this strategy order");
  ASSERT_TRUE(wait_for_question("pause-0")) << error();
  choose("Go on");
  ASSERT_TRUE(QTest::qWaitFor([this] { return window_.run().state().finished; }, kPatienceMs));
  EXPECT_EQ(window_.run().state().outcome, "NO_WINNER");
  EXPECT_EQ(window_.run().state().variants.size(), 1U);
}

// As one that was started in a terminal: by its process, which the lock names.
TEST_F(ReplayedRun, IsStoppedByItsProcessAndCanBeGoneOnWith) {
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
  QString problem;
  EXPECT_TRUE(window_.run().stop(problem)) << problem.toStdString();
  ASSERT_TRUE(QTest::qWaitFor([this] { return !window_.run().is_running(); }, kPatienceMs));
  EXPECT_TRUE(window_.run().stop(problem)) << "nothing runs: nothing to stop";
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
}

TEST_F(ReplayedRun, EnterAndEscapeDecideNothing) {
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
  for (const Qt::Key key : {Qt::Key_Return, Qt::Key_Escape}) {
    ASSERT_TRUE(window_.review_pending());
    QTest::keyClick(window_.dialog(), key);
    ASSERT_TRUE(QTest::qWaitFor([this] { return window_.dialog() == nullptr; }));
    QTest::qWait(300);
    ASSERT_FALSE(window_.run().state().pending.empty());
    EXPECT_TRUE(window_.run().state().answers.empty());
  }
  EXPECT_TRUE(button("review")->isVisible());
  button("review")->click();
  choose("Stop here");
  ASSERT_TRUE(QTest::qWaitFor([this] { return !window_.run().is_running(); }, kPatienceMs));
  EXPECT_TRUE(window_.run().state().variants.empty());
}

TEST_F(ReplayedRun, ClosingWhileItGoesOnAsks) {
  start_->click();
  ASSERT_TRUE(wait_for_question("profile")) << error();
  EXPECT_FALSE(window_.close());
  auto* box = window_.findChild<QDialog*>(QStringLiteral("closing"));
  ASSERT_NE(box, nullptr);
  for (auto* choice : box->findChildren<QPushButton*>()) {
    if (choice->text().remove(QLatin1Char('&')) == QLatin1String("Stop It")) choice->click();
  }
  EXPECT_FALSE(window_.isVisible());
  ASSERT_TRUE(QTest::qWaitFor([this] { return !window_.run().is_running(); }, kPatienceMs));
}

TEST_F(ReplayedRun, WordsFillTheForm) {
  window_.findChild<QLineEdit*>(QStringLiteral("sentence"))
      ->setText(QStringLiteral("just optimize scale_norm backward for speed, at most 5 variants"));
  const QString arguments = window_.findChild<RequestForm*>()->arguments().join(QLatin1Char(' '));
  for (const char* part : {"--kernel scale_norm", "--goal speed", "--scope backward",
                           "--max-variants 5", "--autonomous"}) {
    EXPECT_TRUE(arguments.contains(QLatin1String(part))) << part << ": " << qPrintable(arguments);
  }
}

}  // namespace
}  // namespace lwb
