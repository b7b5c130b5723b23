// Every child that the run started, one row each: what, how long, how it ended; and its command line.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "core/base/json.h"

namespace lwb {

class RunView;

class ConsoleModel : public QAbstractTableModel {
  Q_OBJECT
 public:
  enum Column { kStatus, kLabel, kSeconds, kEnd, kCommand, kColumns };
  explicit ConsoleModel(RunView& run, QObject* parent = nullptr);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // The command line as one types it into a shell.
  QString command(int row) const;
  // What a child that failed wrote to standard error last.
  QString tail(int row) const;

 private:
  RunView& run_;
  int shown_ = 0;  // rows of run_.state().processes that the views know of
};

}  // namespace lwb
