#include "ui/benchmarks/benchmarks_panel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QSaveFile>
#include <QSplitter>
#include <QStackedLayout>
#include <QSvgGenerator>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "ui/benchmarks/benchmark_board.h"
#include "ui/benchmarks/heat_model.h"
#include "ui/run/run_view.h"
#include "ui/theme/theme.h"

namespace lwb {

namespace {

constexpr QSize kPicture(1200, 420);
constexpr int kPictureScale = 2;
constexpr int kCaptionHeight = 28;
constexpr int kPassWidth = 74, kRatioWidth = 70, kCallWidth = 176;

// The pass that takes the most time is the one to look at first.
Pass longest_pass(const BenchmarkBoard& board) {
  std::map<Pass, double> total;
  for (const auto& cell : board.table().cells()) {
    if (const auto summary = board.table().summary(cell, 0)) total[cell.pass] += summary->median_us;
  }
  const auto longest = std::max_element(
      total.begin(), total.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return longest == total.end() ? Pass::kForward : longest->first;
}

// The shape with the longest line; none where no line has two points.
int longest_shape(const BenchmarkBoard& board, const std::vector<std::string>& shapes) {
  std::size_t most = 1;
  int longest = -1;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::map<double, int> xs;
    for (const auto& cell : board.table().cells()) {
      const CallName name = split_call_name(cell.call);
      if (name.has_x && name.rest == shapes[i]) ++xs[name.x];
    }
    if (xs.size() > most) {
      most = xs.size();
      longest = static_cast<int>(i);
    }
  }
  return longest;
}

QWidget* under_title(const QString& title, QWidget* content) {
  auto* box = new QWidget;
  auto* column = new QVBoxLayout(box);
  column->setContentsMargins(4, 0, 4, 4);
  column->setSpacing(2);
  auto* label = new QLabel(title);
  label->setForegroundRole(QPalette::PlaceholderText);
  column->addWidget(label);
  column->addWidget(content, 1);
  return box;
}

QComboBox* choice_box(const char* name, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(QString::fromLatin1(name));
  box->setToolTip(tip);
  box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  return box;
}

}  // namespace

BenchmarksPanel::BenchmarksPanel(RunView& run, const BenchmarkBoard& board, QWidget* parent)
    : QWidget(parent),
      run_(run),
      board_(board),
      model_(new HeatModel(board, this)),
      quantity_(choice_box("quantity", tr("What the charts show"))),
      pass_(choice_box("pass", tr("Forward, backward, or full"))),
      shape_(choice_box("shape", tr("What the calls have in common beside x"))),
      logarithmic_(new QCheckBox(tr("Log"))),
      values_(new ChartWidget),
      gains_(new ChartWidget),
      heat_(new QTableView),
      pages_(new QStackedLayout(this)) {
  setObjectName(QStringLiteral("benchmarks"));
  quantity_->addItem(tr("op time"), static_cast<int>(Quantity::kOpTime));
  quantity_->addItem(tr("wall time"), static_cast<int>(Quantity::kWallTime));
  quantity_->addItem(tr("memory"), static_cast<int>(Quantity::kMemory));
  logarithmic_->setChecked(true);
  logarithmic_->setToolTip(tr("Logarithmic scale of the quantity"));
  heat_->setObjectName(QStringLiteral("heat"));
  heat_->setModel(model_);
  set_up_table(heat_);
  heat_->setSelectionMode(QAbstractItemView::NoSelection);
  heat_->setAlternatingRowColors(false);  // the ground says the verdict here
  connect(heat_, &QTableView::clicked, this, [this](const QModelIndex& index) {
    const auto& cell = model_->cell(index.row());
    pass_->setCurrentIndex(pass_->findData(static_cast<int>(cell.pass)));
    follows_pass_ = false;
    if (const int number = model_->variant(index.column()); number >= 0)
      run_.select_variant(number);
  });
  const auto set_widths = [this] {
    heat_->setColumnWidth(HeatModel::kCall, kCallWidth);
    heat_->setColumnWidth(HeatModel::kPass, kPassWidth);
    for (int i = HeatModel::kOriginal; i < model_->columnCount(); ++i) {
      heat_->setColumnWidth(i, kRatioWidth);
    }
  };
  connect(model_, &QAbstractItemModel::modelReset, this, set_widths);
  set_widths();
  for (ChartWidget* chart : {values_, gains_}) {
    connect(chart, &ChartWidget::clicked, this, [this](int key) {
      if (key != kRoofKey) run_.select_variant(key);
    });
  }
  auto* export_button = new QToolButton;
  export_button->setObjectName(QStringLiteral("export"));
  export_button->setText(tr("Export"));
  export_button->setToolTip(tr("The charts as a picture, or all numbers"));
  export_button->setPopupMode(QToolButton::InstantPopup);
  auto* menu = new QMenu(export_button);
  menu->addAction(tr("&PNG…"), this,
                  [this] { ask_and_save(QStringLiteral("png"), tr("Picture (*.png)")); });
  menu->addAction(tr("&SVG…"), this,
                  [this] { ask_and_save(QStringLiteral("svg"), tr("Drawing (*.svg)")); });
  menu->addAction(tr("&CSV…"), this,
                  [this] { ask_and_save(QStringLiteral("csv"), tr("Table (*.csv)")); });
  export_button->setMenu(menu);

  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 4, 8, 4);
  auto* title = new QLabel(tr("Benchmarks"));
  title->setFont(strong_font());
  bar->addWidget(title);
  bar->addStretch(1);
  for (QWidget* part :
       std::initializer_list<QWidget*>{quantity_, pass_, shape_, logarithmic_, export_button}) {
    bar->addWidget(part);
  }
  auto* parts = new QSplitter(Qt::Horizontal);
  parts->addWidget(under_title(tr("Over x; bands are 95 % intervals"), values_));
  parts->addWidget(under_title(tr("Gain; bands are the verdicts' intervals"), gains_));
  parts->addWidget(under_title(tr("Every cell against the original, op time"), heat_));
  parts->setSizes({320, 290, 560});
  parts->setStretchFactor(0, 1);
  parts->setStretchFactor(1, 1);
  parts->setStretchFactor(2, 0);  // the table keeps its columns in sight
  auto* content = new QWidget;
  auto* column = new QVBoxLayout(content);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addLayout(bar);
  column->addWidget(parts, 1);
  pages_->addWidget(
      empty_label(tr("Measurements appear here as they are taken, one point for each "
                     "call and variant.")));
  pages_->addWidget(content);

  connect(&board_, &BenchmarkBoard::changed, this, &BenchmarksPanel::refresh);
  connect(&run_, &RunView::restarted, this, [this] { follows_pass_ = follows_shape_ = true; });
  connect(&run_, &RunView::variant_selected, this, [this] {
    draw();
    show_selected_column();
  });
  connect(&Theme::instance(), &Theme::changed, this, &BenchmarksPanel::draw);
  connect(pass_, &QComboBox::activated, this, [this] { follows_pass_ = false; });
  connect(shape_, &QComboBox::activated, this, [this] { follows_shape_ = false; });
  for (QComboBox* box : {quantity_, pass_, shape_}) {
    connect(box, &QComboBox::currentIndexChanged, this, &BenchmarksPanel::draw);
  }
  connect(logarithmic_, &QCheckBox::toggled, this, &BenchmarksPanel::draw);
  refresh();
}

ChartChoice BenchmarksPanel::choice() const {
  ChartChoice choice;
  choice.quantity = static_cast<Quantity>(quantity_->currentData().toInt());
  choice.pass = static_cast<Pass>(pass_->currentData().toInt());
  if (shape_->currentData().isValid())
    choice.shape = shape_->currentData().toString().toStdString();
  choice.is_logarithmic = logarithmic_->isChecked();
  choice.selected = run_.selected_variant();
  return choice;
}

void BenchmarksPanel::refresh() {
  const bool any = !board_.table().empty();
  pages_->setCurrentIndex(any ? 1 : 0);
  if (!any) return;
  fill_choices();
  draw();
}

void BenchmarksPanel::fill_choices() {
  const std::vector<Pass> passes = board_.passes();
  const std::vector<std::string> shapes = board_.shapes();
  {
    const QSignalBlocker quiet_pass(pass_), quiet_shape(shape_);
    if (pass_->count() != static_cast<int>(passes.size())) {
      const QVariant chosen = pass_->currentData();
      pass_->clear();
      for (const Pass pass : passes) {
        pass_->addItem(QString::fromStdString(to_string(pass)), static_cast<int>(pass));
      }
      pass_->setCurrentIndex(std::max(0, pass_->findData(chosen)));
    }
    if (shape_->count() != static_cast<int>(shapes.size()) + 1) {
      const QVariant chosen = shape_->currentData();
      shape_->clear();
      for (const std::string& shape : shapes) {
        const QString name = QString::fromStdString(shape);
        shape_->addItem(name.isEmpty() ? tr("every x") : name, name);
      }
      shape_->addItem(tr("all calls"));
      const int kept = chosen.isValid() ? shape_->findData(chosen) : shape_->count() - 1;
      shape_->setCurrentIndex(std::max(0, kept));
    }
    if (follows_pass_) {
      pass_->setCurrentIndex(pass_->findData(static_cast<int>(longest_pass(board_))));
    }
    if (follows_shape_) {
      const int longest = longest_shape(board_, shapes);
      shape_->setCurrentIndex(longest < 0 ? shape_->count() - 1 : longest);
    }
  }
}

void BenchmarksPanel::show_selected_column() {
  for (int i = HeatModel::kFirstVariant; i < model_->columnCount(); ++i) {
    if (model_->variant(i) != run_.selected_variant()) continue;
    heat_->scrollTo(model_->index(std::max(0, heat_->rowAt(0)), i));
  }
}

void BenchmarksPanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  show_selected_column();
}

void BenchmarksPanel::draw() {
  if (board_.table().empty()) return;
  values_->show_chart(quantity_chart(board_, choice()));
  gains_->show_chart(gain_chart(board_, choice()));
}

QString BenchmarksPanel::caption() const {
  return QStringList{run_.kernel(), pass_->currentText(), quantity_->currentText(),
                     shape_->currentText(), run_.measured_on()}
      .join(QStringLiteral(" · "));
}

QString BenchmarksPanel::save(const QString& file) {
  const QString problem =
      tr("cannot write %1: choose a folder that can be written and a name that ends in .png, .svg "
         "or .csv.")
          .arg(file);
  if (file.endsWith(QLatin1String(".csv"))) {
    QSaveFile out(file);
    const QByteArray text = QByteArray::fromStdString(to_csv(board_.table()));
    const bool good = out.open(QIODevice::WriteOnly) && out.write(text) == text.size();
    return good && out.commit() ? QString() : problem;
  }
  const auto paint = [this](QPainter& painter) {
    const QRect whole(QPoint(0, 0), kPicture);
    painter.fillRect(whole, tokens().surface);
    painter.setPen(tokens().text);
    painter.setFont(strong_font());
    painter.drawText(
        whole.adjusted(8, 0, 0, 0).intersected(QRect(0, 0, whole.width(), kCaptionHeight)),
        Qt::AlignVCenter | Qt::AlignLeft, caption());
    const QRectF charts(0, kCaptionHeight, whole.width(), whole.height() - kCaptionHeight);
    values_->render(painter, charts.adjusted(0, 0, -charts.width() / 2, 0));
    gains_->render(painter, charts.adjusted(charts.width() / 2, 0, 0, 0));
  };
  if (file.endsWith(QLatin1String(".svg"))) {
    QSaveFile out(file);
    if (!out.open(QIODevice::WriteOnly)) return problem;
    QSvgGenerator drawing;
    drawing.setOutputDevice(&out);
    drawing.setSize(kPicture);
    drawing.setViewBox(QRect(QPoint(0, 0), kPicture));
    drawing.setTitle(caption());
    QPainter painter(&drawing);
    paint(painter);
    painter.end();
    return out.commit() ? QString() : problem;
  }
  if (!file.endsWith(QLatin1String(".png"))) return problem;
  QImage picture(kPicture * kPictureScale, QImage::Format_RGB32);
  picture.setDevicePixelRatio(kPictureScale);
  QPainter painter(&picture);
  painter.setRenderHint(QPainter::Antialiasing);
  paint(painter);
  painter.end();
  return picture.save(file) ? QString() : problem;
}

void BenchmarksPanel::ask_and_save(const QString& suffix, const QString& filter) {
  auto* dialog = new QFileDialog(this, tr("Export Benchmarks"), QString(), filter);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  dialog->setAcceptMode(QFileDialog::AcceptSave);
  dialog->setDefaultSuffix(suffix);
  dialog->selectFile(run_.kernel() + QLatin1String("-benchmarks.") + suffix);
  connect(dialog, &QFileDialog::fileSelected, this, [this](const QString& file) {
    if (const QString problem = save(file); !problem.isEmpty()) Q_EMIT failed(problem);
  });
  dialog->open();
}

}  // namespace lwb
