// The models of the panels, fed by the journal of a real run (tests/evidence, without source).
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "core/base/files.h"
#include "ui/console/console_model.h"
#include "ui/run/run_view.h"
#include "ui/setup/kernel_model.h"
#include "ui/variants/variant_model.h"

namespace lwb {
namespace {

namespace fs = std::filesystem;

int faults = 0;
void count_fault(QtMsgType, const QMessageLogContext& context, const QString& text) {
  if (QString::fromLatin1(context.category) == QLatin1String("qt.modeltest")) {
    ++faults;
    std::fprintf(stderr, "%s\n", qPrintable(text));
  }
}

// In its usual mode the tester reports to QTest alone, which is not running here.
class Models : public ::testing::Test {
 protected:
  void SetUp() override {
    faults = 0;
    usual_ = qInstallMessageHandler(count_fault);
    workspace_ = fs::path(folder_.path().toStdString()) / "optimization/rms_norm";
    fs::create_directories(workspace_);
    run_.open(folder_.path(), QStringLiteral("rms_norm"));
  }
  void TearDown() override {
    qInstallMessageHandler(usual_);
    EXPECT_EQ(faults, 0);
  }
  void test(QAbstractItemModel& model) {
    new QAbstractItemModelTester(&model, QAbstractItemModelTester::FailureReportingMode::Warning,
                                 &model);
  }
  // The journal grows in parts, as it does while a run goes on.
  void play() {
    auto text = read_file(fs::path(LWB_SOURCE_DIR) / "tests/evidence/rms_norm/journal.jsonl");
    ASSERT_TRUE(text);
    const std::size_t middle = text->find('\n', text->size() / 2) + 1;
    for (const std::size_t length : {middle, text->size()}) {
      ASSERT_TRUE(write_over(text->substr(0, length)));
      ASSERT_TRUE(QTest::qWaitFor([&] {
        run_.follower().look();
        return run_.follower().is_idle() && run_.has_run() &&
               (length == middle || run_.state().finished);
      }));
    }
  }
  // In place: the same file, longer.
  bool write_over(const std::string& text) {
    FILE* file = std::fopen((workspace_ / "journal.jsonl").c_str(), "a");
    const auto at = static_cast<std::size_t>(std::ftell(file));
    const bool good = std::fwrite(text.data() + at, 1, text.size() - at, file) == text.size() - at;
    return std::fclose(file) == 0 && good;
  }
  static QString text(const QAbstractItemModel& model, int row, int column) {
    return model.index(row, column).data().toString();
  }
  QTemporaryDir folder_;
  fs::path workspace_;
  RunView run_;
  QtMessageHandler usual_ = nullptr;
};

TEST_F(Models, VariantsAreRowsWithTheWinnerMarked) {
  VariantModel model(run_);
  test(model);
  EXPECT_EQ(model.rowCount(), 0);
  play();
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_EQ(text(model, 0, VariantModel::kName), QStringLiteral("v0"));
  EXPECT_EQ(text(model, 1, VariantModel::kMark), QString());
  EXPECT_EQ(text(model, 2, VariantModel::kMark), QStringLiteral("★"));
  EXPECT_EQ(text(model, 2, VariantModel::kVerdict), QStringLiteral("▲ ACCEPTED"));
  const Json& score = get_object(run_.state().variants.at(2), "score");
  EXPECT_NEAR(text(model, 2, VariantModel::kScore).remove(QStringLiteral("×")).toDouble(),
              get_number(score, "ratio"), 0.005);
  EXPECT_EQ(model.row_of(2), 2);
  EXPECT_EQ(model.row_of(7), -1);
}

TEST_F(Models, ConsoleListsEveryChildWithItsCommandLine) {
  ConsoleModel model(run_);
  test(model);
  play();
  ASSERT_EQ(model.rowCount(), static_cast<int>(run_.state().processes.size()));
  int found = -1;
  for (int row = 0; row < model.rowCount(); ++row) {
    if (text(model, row, ConsoleModel::kLabel) == QLatin1String("tests of v2")) found = row;
  }
  ASSERT_GE(found, 0);
  EXPECT_TRUE(model.command(found).contains(QStringLiteral("-m pytest")));
  EXPECT_EQ(text(model, found, ConsoleModel::kStatus), QStringLiteral("✓"));
}

TEST_F(Models, KernelsSayWhyTheyAreNotReady) {
  KernelModel model;
  test(model);
  KernelEntry ready, other;
  ready.name = "a";
  ready.ready = true;
  ready.jit_kernels = {"_a_kernel"};
  other.name = "b";
  other.reason = "it has no @triton.jit kernel";
  model.set_kernels({ready, other});
  EXPECT_EQ(text(model, 0, KernelModel::kState), QStringLiteral("✓ ready"));
  EXPECT_TRUE(text(model, 1, KernelModel::kReason).contains(QStringLiteral("no @triton.jit")));
  EXPECT_EQ(model.row_of(QStringLiteral("b")), 1);
}

}  // namespace
}  // namespace lwb
