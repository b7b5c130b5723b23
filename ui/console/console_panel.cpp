#include "ui/console/console_panel.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSortFilterProxyModel>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>

#include "ui/console/console_model.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kMostLines = 20000;

QPlainTextEdit* text_pane(const char* name, const QString& placeholder) {
  auto* pane = new QPlainTextEdit;
  pane->setObjectName(QString::fromLatin1(name));
  pane->setReadOnly(true);
  pane->setFont(code_font());
  pane->setMaximumBlockCount(kMostLines);
  pane->setLineWrapMode(QPlainTextEdit::NoWrap);
  pane->setPlaceholderText(placeholder);
  return pane;
}

}  // namespace

ConsolePanel::ConsolePanel(RunView& run, QWidget* parent)
    : QWidget(parent),
      model_(new ConsoleModel(run, this)),
      filtered_(new QSortFilterProxyModel(this)),
      search_(new QLineEdit),
      table_(new QTableView),
      details_(text_pane("childDetails", tr("Select a child to see its command line and, where it "
                                            "failed, what it wrote last."))),
      output_(text_pane("runOutput", tr("What lwb prints while it runs appears here."))) {
  output_->setLineWrapMode(QPlainTextEdit::WidgetWidth);
  filtered_->setSourceModel(model_);
  filtered_->setFilterKeyColumn(-1);
  filtered_->setFilterCaseSensitivity(Qt::CaseInsensitive);
  search_->setObjectName(QStringLiteral("consoleSearch"));
  search_->setPlaceholderText(tr("Search labels, ends and command lines"));
  search_->setClearButtonEnabled(true);
  connect(search_, &QLineEdit::textChanged, filtered_, &QSortFilterProxyModel::setFilterFixedString);
  table_->setObjectName(QStringLiteral("children"));
  table_->setModel(filtered_);
  set_up_table(table_);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setColumnWidth(ConsoleModel::kStatus, 28);
  table_->setColumnWidth(ConsoleModel::kLabel, 240);
  table_->setColumnWidth(ConsoleModel::kEnd, 240);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &ConsolePanel::show_details);
  auto* copy = new QAction(tr("Copy Command Line"), table_);
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, [this] {
    const QModelIndex index = filtered_->mapToSource(table_->currentIndex());
    if (index.isValid()) QApplication::clipboard()->setText(model_->command(index.row()));
  });
  table_->addAction(copy);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);

  auto* texts = new QSplitter(Qt::Vertical);
  texts->addWidget(details_);
  texts->addWidget(output_);
  auto* panes = new QSplitter(Qt::Horizontal);
  panes->addWidget(table_);
  panes->addWidget(texts);
  panes->setStretchFactor(0, 3);
  panes->setStretchFactor(1, 2);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(search_);
  column->addWidget(panes, 1);
}

void ConsolePanel::append_output(const QString& text) {
  QString lines = text;
  if (lines.endsWith(QLatin1Char('\n'))) lines.chop(1);
  output_->appendPlainText(lines);
}

void ConsolePanel::clear_output() {
  output_->clear();
}

void ConsolePanel::show_details() {
  const QModelIndex index = filtered_->mapToSource(table_->currentIndex());
  if (!index.isValid()) return;
  const QString tail = model_->tail(index.row());
  details_->setPlainText(model_->command(index.row()) +
                         (tail.isEmpty() ? QString() : QStringLiteral("\n\n") + tail));
}

}  // namespace lwb
