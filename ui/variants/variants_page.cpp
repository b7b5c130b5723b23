#include "ui/variants/variants_page.h"

#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QStackedLayout>
#include <QTableView>
#include <QVBoxLayout>

#include "core/base/json.h"
#include "ui/benchmarks/benchmark_board.h"
#include "ui/benchmarks/benchmarks_panel.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"
#include "ui/variants/variant_diff.h"
#include "ui/variants/variant_model.h"

namespace lwb {

namespace {
// Where the window is narrow these go, the first one first.
constexpr VariantModel::Column kFirstToGo[] = {VariantModel::kAuthor, VariantModel::kSpills,
                                               VariantModel::kRegisters, VariantModel::kInterval,
                                               VariantModel::kMemory};
constexpr int kLeastTechniques = 200;  // px
constexpr int kTableHeight = 150, kDiffHeight = 330, kBenchmarksHeight = 260;
}  // namespace

VariantsPage::VariantsPage(RunView& run, const BenchmarkBoard& board, QWidget* parent)
    : QWidget(parent),
      run_(run),
      board_(board),
      model_(new VariantModel(run, this)),
      sorted_(new QSortFilterProxyModel(this)),
      title_(new QLabel),
      table_(new QTableView),
      diff_(new VariantDiff(run)),
      benchmarks_(new BenchmarksPanel(run, board)),
      panes_(new QSplitter(Qt::Vertical)),
      pages_(new QStackedLayout(this)) {
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(VariantModel::kSortRole);
  table_->setObjectName(QStringLiteral("variants"));
  table_->setModel(sorted_);
  set_up_table(table_);
  table_->setSortingEnabled(true);
  table_->sortByColumn(VariantModel::kName, Qt::AscendingOrder);
  table_->setColumnWidth(VariantModel::kMark, 28);
  table_->setColumnWidth(VariantModel::kName, 68);
  table_->setColumnWidth(VariantModel::kAuthor, 80);
  table_->setColumnWidth(VariantModel::kVerdict, 118);
  table_->setColumnWidth(VariantModel::kInterval, 124);
  for (const int column : {VariantModel::kScore, VariantModel::kForward, VariantModel::kBackward,
                           VariantModel::kMemory}) {
    table_->setColumnWidth(column, 88);
  }
  table_->setColumnWidth(VariantModel::kMemory, 104);
  table_->setColumnWidth(VariantModel::kRegisters, 56);
  table_->setColumnWidth(VariantModel::kSpills, 64);
  table_->horizontalHeader()->setSectionResizeMode(VariantModel::kTechniques, QHeaderView::Stretch);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (!now.isValid() || selecting_) return;
            follows_ = false;
            run_.select_variant(now.data(VariantModel::kNumberRole).toInt());
          });
  connect(&run_, &RunView::restarted, this, [this] { follows_ = true; });
  connect(&run_, &RunView::variant_selected, this, &VariantsPage::select);
  connect(&run_, &RunView::line_wanted, diff_, &VariantDiff::go_to_line);

  auto* top = new QWidget;
  auto* column = new QVBoxLayout(top);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  title_->setObjectName(QStringLiteral("variantsTitle"));
  title_->setFont(strong_font());
  title_->setContentsMargins(8, 6, 8, 6);
  column->addWidget(title_);
  column->addWidget(table_, 1);
  panes_->addWidget(top);
  panes_->addWidget(diff_);
  panes_->addWidget(benchmarks_);
  panes_->setStretchFactor(0, 0);
  panes_->setStretchFactor(1, 1);
  panes_->setStretchFactor(2, 1);
  panes_->setSizes({kTableHeight, kDiffHeight, kBenchmarksHeight});
  pages_->addWidget(
      empty_label(tr("Variants appear here when the profile has been approved: each "
                     "with its techniques, its verdict and what it gains.")));
  pages_->addWidget(panes_);
  // After the table has taken the reset in.
  connect(model_, &QAbstractItemModel::modelReset, this, &VariantsPage::refresh,
          Qt::QueuedConnection);
  connect(&board_, &BenchmarkBoard::changed, this, [this] {
    if (pages_->currentIndex() == 0) refresh();  // the first samples, before there is a variant
  });
  refresh();
}

void VariantsPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  hide_what_does_not_fit();
}

void VariantsPage::hide_what_does_not_fit() {
  for (const int column : kFirstToGo) table_->setColumnHidden(column, false);
  const auto missing = [this] {
    int wanted = kLeastTechniques;
    for (int i = 0; i < VariantModel::kColumns; ++i) {
      if (i != VariantModel::kTechniques && !table_->isColumnHidden(i)) {
        wanted += table_->columnWidth(i);
      }
    }
    return wanted > width();
  };
  for (const int column : kFirstToGo) {
    if (missing()) table_->setColumnHidden(column, true);
  }
}

void VariantsPage::refresh() {
  const bool any = model_->rowCount() > 1 || !board_.table().empty();
  pages_->setCurrentIndex(any ? 1 : 0);
  if (!any) return;
  title_->setText(tr("Variants"));
  const std::string winner = get_string(run_.state().winner, "variant");
  int number = run_.selected_variant();
  if (follows_ || model_->row_of(number) < 0) {
    number = winner.empty() ? model_->number(model_->rowCount() - 1)
                            : QString::fromStdString(winner).mid(1).toInt();
  }
  run_.select_variant(number);
  select(number);
}

void VariantsPage::select(int number) {
  const int row = model_->row_of(number);
  if (row < 0) return;
  const QModelIndex index = sorted_->mapFromSource(model_->index(row, 0));
  selecting_ = true;
  if (table_->currentIndex().row() != index.row()) table_->selectRow(index.row());
  selecting_ = false;
  diff_->show_variants(0, number == 0 && model_->rowCount() > 1 ? model_->number(1) : number);
}

}  // namespace lwb
