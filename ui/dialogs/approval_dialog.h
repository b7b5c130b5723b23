// Decides on one approval of the run: what is decided, in full, and one button for each choice.
// Opened with open(): the window goes on. Enter and Escape decide nothing, and the request stays
// pending.
#pragma once

#include <QDialog>
#include <string>

#include "core/run/approvals.h"
#include "core/run/state.h"

class QLayout;
class QLineEdit;
class QTabWidget;

namespace lwb {

class BenchmarkBoard;
class OrderList;
class RunView;

class ApprovalDialog : public QDialog {
  Q_OBJECT
 public:
  ApprovalDialog(const PendingApproval& approval, RunView& run, const BenchmarkBoard& board,
                 QWidget* parent = nullptr);
  const std::string& id() const { return id_; }

 Q_SIGNALS:
  void decided(const std::string& id, const lwb::ApprovalAnswer& answer);

 private:
  void add_tabs(const PendingApproval& approval, const BenchmarkBoard& board);
  QString what_to_weigh(const Json& record) const;
  QLayout* buttons_for(const PendingApproval& approval);
  void decide(const std::string& choice);
  QString what_happens_next() const;
  RunView& run_;
  std::string id_;
  QTabWidget* tabs_;
  QLineEdit* comment_;
  OrderList* order_ = nullptr;  // of a profile
};

}  // namespace lwb
