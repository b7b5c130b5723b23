// The first page: choose a checkout and a kernel, say what is wanted, start. Pre-flight's results stand
// beside it, with a fix for each failure.
#pragma once

#include <QFutureWatcher>
#include <QWidget>
#include <optional>

#include "core/base/result.h"
#include "core/checkout/checkout.h"

class QComboBox;
class QLabel;
class QListWidget;
class QPushButton;
class QTableView;

namespace lwb {

class KernelModel;
class RequestForm;
class RunView;

class NewRunPage : public QWidget {
  Q_OBJECT
 public:
  explicit NewRunPage(RunView& run, QWidget* parent = nullptr);

  // Lists the kernels of the checkout (one child, not on this thread). `replay`: the recording that
  // a run is answered from, empty for a real one.
  void open(const QString& checkout, const QString& kernel, const QString& replay);
  void set_recent(const QStringList& checkouts);
  // A run that ended before it had a journal: what it said.
  void show_failure(const QString& text);
  QString checkout() const { return checkout_; }
  // Of `lwb` for what the form asks.
  QStringList arguments() const;
  RequestForm* form() { return form_; }

 Q_SIGNALS:
  void checkout_wanted(const QString& folder);  // empty: let the person choose
  void sample_wanted();
  void kernel_chosen(const QString& name);
  void start_wanted(const QStringList& arguments);

 private:
  struct Listing {
    int generation = 0;
    std::optional<Result<std::vector<KernelEntry>>> kernels;
  };
  void take(const Listing& listing);
  void refresh();
  void show_checks();
  RunView& run_;
  QString checkout_, wanted_kernel_, replay_;
  int generation_ = 0;
  QFutureWatcher<Listing> lister_;
  QComboBox* checkouts_;
  QLabel* problem_;
  RequestForm* form_;
  QPushButton* start_;
  KernelModel* kernels_;
  QTableView* table_;
  QListWidget* checks_;
};

}  // namespace lwb
