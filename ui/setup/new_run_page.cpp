#include "ui/setup/new_run_page.h"

#include <QComboBox>
#include <QDir>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTableView>
#include <QVBoxLayout>
#include <QtConcurrent>

#include "core/base/json.h"
#include "core/pipeline/pipeline.h"
#include "ui/run/run_view.h"
#include "ui/setup/kernel_model.h"
#include "ui/setup/request_form.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr int kFormWidth = 460;

QLabel* heading(const QString& text) {
  auto* label = new QLabel(text);
  label->setFont(strong_font());
  return label;
}

QString sign_of(const std::string& state) {
  if (state == "ok") return QStringLiteral("✓");
  if (state == "failed") return QStringLiteral("✗");
  return state == "warning" ? QStringLiteral("!") : QStringLiteral("·");
}

}  // namespace

NewRunPage::NewRunPage(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      checkouts_(new QComboBox),
      problem_(new QLabel),
      form_(new RequestForm),
      start_(new QPushButton(tr("Start Run"))),
      kernels_(new KernelModel(this)),
      table_(new QTableView),
      checks_(new QListWidget) {
  checkouts_->setObjectName(QStringLiteral("checkouts"));
  checkouts_->setToolTip(tr("The Liger-Kernel checkout; recent ones are in the list"));
  checkouts_->setPlaceholderText(tr("No checkout is open"));
  problem_->setObjectName(QStringLiteral("problem"));
  problem_->setWordWrap(true);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  start_->setObjectName(QStringLiteral("start"));
  set_primary(start_);
  table_->setObjectName(QStringLiteral("kernels"));
  table_->setModel(kernels_);
  set_up_table(table_);
  table_->setColumnWidth(KernelModel::kState, 92);
  table_->setColumnWidth(KernelModel::kName, 220);
  table_->horizontalHeader()->setStretchLastSection(true);
  checks_->setObjectName(QStringLiteral("checks"));
  checks_->setWordWrap(true);
  checks_->setFrameShape(QFrame::NoFrame);

  auto* open = new QPushButton(tr("Open…"));
  open->setObjectName(QStringLiteral("open"));
  auto* sample = new QPushButton(tr("Try the Sample"));
  sample->setObjectName(QStringLiteral("sample"));
  sample->setToolTip(tr("A small checkout that comes with the program; without a GPU its recording "
                        "is played"));
  auto* chooser = new QHBoxLayout;
  chooser->addWidget(checkouts_, 1);
  chooser->addWidget(open);
  chooser->addWidget(sample);
  auto* left = new QWidget;
  left->setFixedWidth(kFormWidth);
  auto* form = new QVBoxLayout(left);
  form->setContentsMargins(16, 12, 12, 12);
  form->setSpacing(8);
  form->addWidget(heading(tr("New run")));
  form->addLayout(chooser);
  form->addWidget(problem_);
  form->addWidget(form_);
  form->addWidget(start_, 0, Qt::AlignRight);
  form->addStretch();
  auto* scroll = new QScrollArea;
  scroll->setWidget(left);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFixedWidth(kFormWidth + 16);

  auto* lists = new QSplitter(Qt::Vertical);
  for (const auto& [title, view] :
       {std::pair<QString, QWidget*>{tr("Kernels of the checkout"), table_},
        {tr("Pre-flight"), checks_}}) {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(8, 12, 12, 4);
    column->addWidget(heading(title));
    column->addWidget(view, 1);
    lists->addWidget(box);
  }
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(scroll);
  row->addWidget(lists, 1);

  connect(open, &QPushButton::clicked, this, [this] { Q_EMIT checkout_wanted({}); });
  connect(sample, &QPushButton::clicked, this, &NewRunPage::sample_wanted);
  connect(checkouts_, &QComboBox::activated, this,
          [this](int index) { Q_EMIT checkout_wanted(checkouts_->itemText(index)); });
  connect(&lister_, &QFutureWatcher<Listing>::finished, this,
          [this] { take(lister_.result()); });
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& now) {
            if (now.isValid()) {
              form_->set_kernel(kernels_->index(now.row(), KernelModel::kName).data().toString());
            }
          });
  connect(form_, &RequestForm::kernel_chosen, this, [this](const QString& name) {
    const int shown = kernels_->row_of(name);
    if (shown >= 0 && table_->currentIndex().row() != shown) table_->selectRow(shown);
    Q_EMIT kernel_chosen(name);
  });
  connect(form_, &RequestForm::changed, this, &NewRunPage::refresh);
  connect(start_, &QPushButton::clicked, this, [this] { Q_EMIT start_wanted(arguments()); });
  connect(&Theme::instance(), &Theme::changed, this, &NewRunPage::show_checks);
  connect(&run_, &RunView::restarted, this, &NewRunPage::show_checks);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.type == "preflight") return show_checks();
    }
  });
  connect(&run_, &RunView::running_changed, this, &NewRunPage::refresh);
  show_checks();
  refresh();
}

QStringList NewRunPage::arguments() const {
  QStringList list{QStringLiteral("run"), QStringLiteral("--checkout"), checkout_};
  list += form_->arguments();
  if (!replay_.isEmpty()) list << QStringLiteral("--replay") << replay_;
  return list;
}

void NewRunPage::set_recent(const QStringList& checkouts) {
  const QSignalBlocker quiet(checkouts_);
  checkouts_->clear();
  checkouts_->addItems(checkouts);
  checkouts_->setCurrentIndex(checkouts_->findText(checkout_));
}

void NewRunPage::open(const QString& checkout, const QString& kernel, const QString& replay) {
  checkout_ = checkout;
  wanted_kernel_ = kernel;
  replay_ = replay;
  kernels_->set_kernels({});
  form_->set_kernels({});
  const QSignalBlocker quiet(checkouts_);
  if (!checkout.isEmpty() && checkouts_->findText(checkout) < 0) checkouts_->insertItem(0, checkout);
  checkouts_->setCurrentIndex(checkouts_->findText(checkout));
  ++generation_;
  refresh();
  if (checkout.isEmpty()) return;
  RunOptions options;
  options.checkout = checkout.toStdString();
  options.replay_file = replay.toStdString();
  lister_.setFuture(QtConcurrent::run([options, generation = generation_] {
    static const CancelToken never;
    return Listing{generation, kernels_of(options, never)};
  }));
}

void NewRunPage::take(const Listing& listing) {
  if (listing.generation != generation_ || !listing.kernels) return;
  if (!*listing.kernels) {
    problem_->setText(QString::fromStdString(listing.kernels->error().sentence));
    problem_->show();
    return;
  }
  std::vector<std::string> names;
  for (const KernelEntry& kernel : **listing.kernels) names.push_back(kernel.name);
  kernels_->set_kernels(**listing.kernels);
  form_->set_kernels(names);
  QString first = wanted_kernel_;
  for (const KernelEntry& kernel : kernels_->kernels()) {
    if (first.isEmpty() && kernel.ready) first = QString::fromStdString(kernel.name);
  }
  form_->set_kernel(first);
  if (const int row = kernels_->row_of(first); row >= 0) table_->selectRow(row);
  Q_EMIT kernel_chosen(form_->kernel());
  refresh();
}

void NewRunPage::refresh() {
  QString problem;
  bool startable = false;
  if (checkout_.isEmpty()) {
    problem = tr("Open the folder of a Liger-Kernel checkout, or try the sample.");
  } else if (kernels_->rowCount() == 0) {
    problem = tr("Reading the kernels of %1…").arg(QDir::toNativeSeparators(checkout_));
  } else {
    problem = form_->problem();
    const int row = kernels_->row_of(form_->kernel());
    if (problem.isEmpty() && row >= 0 && !kernels_->kernels()[static_cast<std::size_t>(row)].ready) {
      problem = tr("%1 cannot be optimized: %2.")
                    .arg(form_->kernel(),
                         QString::fromStdString(
                             kernels_->kernels()[static_cast<std::size_t>(row)].reason));
    }
    if (problem.isEmpty() && run_.is_running()) {
      problem = tr("A run of %1 goes on; it can be followed at the left.").arg(run_.kernel());
    }
    startable = problem.isEmpty();
  }
  problem_->setText(problem);
  problem_->setVisible(!problem.isEmpty());
  start_->setEnabled(startable);
}

void NewRunPage::show_checks() {
  checks_->clear();
  for (const Json& check : get_array(run_.state().preflight, "checks")) {
    const std::string state = get_string(check, "state");
    const std::string fix = get_string(check, "fix");
    QString text = QStringLiteral("%1  %2: %3")
                       .arg(sign_of(state), QString::fromStdString(get_string(check, "title")),
                            QString::fromStdString(get_string(check, "sentence")));
    if (!fix.empty()) text += QStringLiteral("\n     → ") + QString::fromStdString(fix);
    auto* item = new QListWidgetItem(text);
    item->setToolTip(QString::fromStdString(get_string(check, "details")));
    if (state == "failed") item->setForeground(tokens().bad);
    if (state == "warning") item->setForeground(tokens().caution);
    checks_->addItem(item);
  }
  if (checks_->count() == 0) {
    auto* item = new QListWidgetItem(
        tr("The checks of the checkout and of this machine appear here when a run starts."));
    item->setForeground(tokens().secondary);
    checks_->addItem(item);
  }
}

void NewRunPage::show_failure(const QString& text) {
  checks_->clear();
  for (const QString& line : text.split(QLatin1Char('\n'), Qt::SkipEmptyParts)) {
    if (line.startsWith(QLatin1Char('['))) continue;  // progress
    auto* item = new QListWidgetItem(line);
    if (line.startsWith(QLatin1String("failed:")) || line.startsWith(QLatin1String("lwb:"))) {
      item->setForeground(tokens().bad);
    }
    checks_->addItem(item);
  }
}

}  // namespace lwb
