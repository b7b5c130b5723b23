#include "ui/profile/profile_page.h"

#include <fmt/format.h>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QListWidget>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedLayout>
#include <QTabWidget>
#include <QTableWidget>
#include <QVBoxLayout>

#include "core/base/json.h"
#include "ui/charts/chart_widget.h"
#include "ui/profile/roofline_chart.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

enum RowColumn { kCall, kPass, kOp, kFloor, kShare, kWall, kBottleneck, kRowColumns };
enum LaunchColumn {
  kLaunchKernel,
  kLaunchPass,
  kLaunchCall,
  kGrid,
  kWarps,
  kStages,
  kRegisters,
  kSpills,
  kShared,
  kLaunchColumns
};
constexpr int kLineRole = Qt::UserRole;

QTableWidgetItem* cell(const QString& text, bool figure) {
  auto* item = new QTableWidgetItem(text);
  item->setFlags(Qt::ItemIsSelectable | Qt::ItemIsEnabled);
  if (figure) {
    item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    item->setFont(code_font());
  }
  return item;
}

QString figure(const Json& row, const char* key, const char* format, double scale = 1) {
  if (!row.contains(key) || !row[key].is_number()) return QStringLiteral("–");
  return QString::fromStdString(fmt::format(fmt::runtime(format), scale * row[key].get<double>()));
}

// The bottleneck's name; the evidence for it is the tooltip.
QString kind_of(const std::string& bottleneck) {
  return QString::fromStdString(bottleneck.substr(0, bottleneck.find(" (")));
}

QWidget* titled(const QString& title, QWidget* content) {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(8, 4, 8, 4);
  column->setSpacing(4);
  auto* label = new QLabel(title);
  label->setFont(strong_font());
  column->addWidget(label);
  column->addWidget(content, 1);
  return box;
}

QListWidget* list(const char* name) {
  auto* widget = new QListWidget;
  widget->setObjectName(QString::fromLatin1(name));
  widget->setFrameShape(QFrame::NoFrame);
  widget->setWordWrap(true);
  widget->setAlternatingRowColors(true);
  return widget;
}

}  // namespace

ProfilePage::ProfilePage(RunView& run, QWidget* parent)
    : QWidget(parent),
      run_(run),
      diagnosis_(new QLabel),
      gpu_(new QLabel),
      rows_(new QTableWidget(0, kRowColumns)),
      roofline_(new ChartWidget),
      launches_(new QTableWidget(0, kLaunchColumns)),
      order_(list("order")),
      opportunities_(list("opportunities")),
      pages_(new QStackedLayout(this)) {
  diagnosis_->setObjectName(QStringLiteral("diagnosis"));
  diagnosis_->setFont(strong_font());
  diagnosis_->setWordWrap(true);
  diagnosis_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  gpu_->setObjectName(QStringLiteral("gpuCard"));
  gpu_->setForegroundRole(QPalette::PlaceholderText);
  gpu_->setWordWrap(true);
  rows_->setObjectName(QStringLiteral("baseline"));
  set_up_table(rows_);
  rows_->setHorizontalHeaderLabels({tr("Call"), tr("Pass"), tr("Op time, µs"), tr("Floor, µs"),
                                    tr("Of the roof, %"), tr("Wall, µs"), tr("Bottleneck")});
  const QStringList tips = {
      tr("The captured call of the op: x and the configuration of the stock script"),
      tr("Forward, backward, or full where the forward computes the gradients"),
      tr("GPU time of the op's own calls, L2 flushed and launch cost hidden; median"),
      tr("The least that the hardware allows: counted bytes at the measured copy rate"),
      tr("Floor over op time: near 100 % there is nothing left to gain. Above 100 %: faster than "
         "the copy of this size, as small working sets can be"),
      tr("Time of the call with Python and launches: where it is far above op time, launch cost "
         "dominates"),
      tr("First rule that holds, from op time and counted bytes")};
  for (int i = 0; i < kRowColumns; ++i) {
    rows_->horizontalHeaderItem(i)->setToolTip(tips[i]);
    if (i >= kOp && i <= kWall) {
      rows_->horizontalHeaderItem(i)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    }
  }
  rows_->horizontalHeader()->setSectionResizeMode(kCall, QHeaderView::Stretch);
  for (const int column : {kOp, kFloor, kShare, kWall}) rows_->setColumnWidth(column, 104);
  rows_->setColumnWidth(kBottleneck, 200);
  connect(opportunities_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    if (const int line = item->data(kLineRole).toInt(); line > 0) Q_EMIT run_.line_wanted(line);
  });

  launches_->setObjectName(QStringLiteral("launches"));
  set_up_table(launches_);
  launches_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  launches_->setHorizontalHeaderLabels({tr("Kernel"), tr("Pass"), tr("Call"), tr("Grid"),
                                        tr("Warps"), tr("Stages"), tr("Regs"), tr("Spills"),
                                        tr("Shared, B")});
  const QStringList launch_tips = {
      tr("The @triton.jit function; activate to see where it is launched"),
      tr("The pass that launches it"),
      tr("The captured call"),
      tr("Programs of the launch: fewer than the multiprocessors leave some idle"),
      tr("num_warps: warps of 32 threads in a program"),
      tr("num_stages: loads in flight ahead of the loop; 0: not set by the launch"),
      tr("Registers a thread: fewer let more warps run at once; 0: not known"),
      tr("Registers that did not fit and went to memory: 0 is good"),
      tr("Shared memory of a program, bytes")};
  for (int i = 0; i < kLaunchColumns; ++i) {
    launches_->horizontalHeaderItem(i)->setToolTip(launch_tips[i]);
    if (i > kGrid) {
      launches_->horizontalHeaderItem(i)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
      launches_->setColumnWidth(i, i == kShared ? 84 : 56);
    }
  }
  launches_->horizontalHeader()->setSectionResizeMode(kLaunchKernel, QHeaderView::Stretch);
  launches_->setColumnWidth(kLaunchPass, 70);
  launches_->setColumnWidth(kLaunchCall, 180);
  launches_->setColumnWidth(kGrid, 84);
  connect(launches_, &QTableWidget::cellActivated, this, [this](int row) {
    const int line = launches_->item(row, kLaunchKernel)->data(kLineRole).toInt();
    if (line > 0) Q_EMIT run_.line_wanted(line);
  });
  auto* tables = new QTabWidget;
  tables->setDocumentMode(true);
  auto* lists = new QSplitter(Qt::Horizontal);
  lists->addWidget(titled(tr("Bandwidth reached, against the measured roof"), roofline_));
  lists->addWidget(titled(tr("Strategy order"), order_));
  lists->addWidget(titled(tr("Opportunities"), opportunities_));
  auto* panes = new QSplitter(Qt::Vertical);
  tables->addTab(rows_, tr("Baseline and headroom"));
  tables->addTab(launches_, tr("Launch configuration"));
  panes->addWidget(tables);
  panes->addWidget(lists);
  panes->setStretchFactor(0, 1);
  panes->setStretchFactor(1, 1);
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(8, 8, 8, 8);
  column->addWidget(diagnosis_);
  column->addWidget(gpu_);
  column->addWidget(panes, 1);
  pages_->addWidget(
      empty_label(tr("The profile appears here when the kernel's calls have been "
                     "captured, traced and measured.")));
  pages_->addWidget(content);
  connect(&Theme::instance(), &Theme::changed, this, &ProfilePage::refresh);
  connect(&run_, &RunView::restarted, this, &ProfilePage::refresh);
  connect(&run_, &RunView::folded, this, [this](const std::vector<Event>& events) {
    for (const Event& event : events) {
      if (event.type == "profile" || event.type == "run_started") return refresh();
    }
  });
  refresh();
}

void ProfilePage::refresh() {
  const Json& profile = run_.state().profile;
  pages_->setCurrentIndex(profile.empty() ? 0 : 1);
  if (profile.empty()) return;
  diagnosis_->setText(
      QString::fromStdString(get_string(get_object(profile, "roofline"), "diagnosis")));
  fill_gpu();
  fill_rows();
  fill_launches();
  fill_lists();
  roofline_->show_chart(roofline_chart(profile));
}

void ProfilePage::fill_gpu() {
  const Json& profile = run_.state().profile;
  const Json& gpu = get_object(profile, "gpu");
  const Json& roofline = get_object(profile, "roofline");
  gpu_->setText(
      tr("%1 · %2 multiprocessors · L2 %3 MB · best measured copy rate %4 TB/s · tier %5 · from %6")
          .arg(run_.measured_on())
          .arg(get_integer(gpu, "sm_count"))
          .arg(get_number(gpu, "l2_bytes") / 1e6, 0, 'f', 1)
          .arg(get_number(roofline, "best_copy_rate") / 1e12, 0, 'f', 2)
          .arg(QString::fromStdString(get_string(profile, "tier")),
               QString::fromStdString(get_string(roofline, "source"))));
}

void ProfilePage::fill_rows() {
  const Json& rows = get_array(get_object(run_.state().profile, "roofline"), "rows");
  rows_->setRowCount(static_cast<int>(rows.size()));
  int at = 0;
  for (const Json& row : rows) {
    rows_->setItem(at, kCall, cell(QString::fromStdString(get_string(row, "call")), false));
    rows_->setItem(at, kPass, cell(QString::fromStdString(get_string(row, "pass")), false));
    rows_->setItem(at, kOp, cell(figure(row, "op_us", "{:.1f}"), true));
    rows_->setItem(at, kFloor, cell(figure(row, "floor_us", "{:.1f}"), true));
    rows_->setItem(at, kShare, cell(figure(row, "share", "{:.1f}", 100), true));
    rows_->setItem(at, kWall, cell(figure(row, "wall_us", "{:.0f}"), true));
    const std::string bottleneck = get_string(row, "bottleneck");
    QString kind = kind_of(bottleneck);
    if (get_bool(row, "launch_bound")) kind += tr(", launch-bound");
    auto* item = cell(kind, false);
    item->setToolTip(QString::fromStdString(bottleneck));
    rows_->setItem(at++, kBottleneck, item);
  }
}

void ProfilePage::fill_launches() {
  const Json& launches = get_array(run_.state().profile, "launches");
  launches_->setRowCount(static_cast<int>(launches.size()));
  int at = 0;
  for (const Json& launch : launches) {
    const auto text = [&](const char* key) {
      return QString::fromStdString(get_string(launch, key));
    };
    auto* kernel = cell(text("kernel"), false);
    kernel->setData(kLineRole, static_cast<int>(get_integer(launch, "line")));
    launches_->setItem(at, kLaunchKernel, kernel);
    launches_->setItem(at, kLaunchPass, cell(text("pass"), false));
    launches_->setItem(at, kLaunchCall, cell(text("call"), false));
    launches_->setItem(at, kGrid, cell(text("grid"), true));
    for (const auto& [column, key] : {std::pair{kWarps, "warps"},
                                      {kStages, "stages"},
                                      {kRegisters, "registers"},
                                      {kSpills, "spills"},
                                      {kShared, "shared"}}) {
      launches_->setItem(at, column, cell(figure(launch, key, "{:.0f}"), true));
    }
    ++at;
  }
}

void ProfilePage::fill_lists() {
  const Json& profile = run_.state().profile;
  order_->clear();
  order_->addItem(tr("1. settings sweep (always first)"));
  for (const Json& item : get_array(profile, "order")) {
    order_->addItem(
        tr("%1. %2, %3, expected %4\n%5")
            .arg(get_integer(item, "number"))
            .arg(QString::fromStdString(get_string(item, "technique")) +
                     (get_string(item, "section").empty()
                          ? QString()
                          : tr(" (catalog %1)")
                                .arg(QString::fromStdString(get_string(item, "section")))),
                 QString::fromStdString(get_string(item, "pass")),
                 QString::fromStdString(get_string(item, "expected")),
                 QString::fromStdString(get_string(item, "hypothesis"))));
  }
  opportunities_->clear();
  for (const Json& item : get_array(profile, "opportunities")) {
    const int line = static_cast<int>(get_integer(item, "line"));
    auto* entry =
        new QListWidgetItem(tr("%1:%2  %3")
                                .arg(QString::fromStdString(get_string(item, "file")))
                                .arg(line)
                                .arg(QString::fromStdString(get_string(item, "message"))));
    entry->setData(kLineRole, line);
    entry->setToolTip(tr("Activate to see the line"));
    opportunities_->addItem(entry);
  }
}

}  // namespace lwb
