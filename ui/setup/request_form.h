// The seven fields of the request, the cells, and a line to say it in words, which fills the fields as
// one types.
#pragma once

#include <QStringList>
#include <QWidget>
#include <string>
#include <vector>

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QSpinBox;

namespace lwb {

struct Request;

class RequestForm : public QWidget {
  Q_OBJECT
 public:
  explicit RequestForm(QWidget* parent = nullptr);

  void set_kernels(const std::vector<std::string>& names);
  void set_kernel(const QString& name);
  QString kernel() const;
  // As options of `lwb run`, without the checkout.
  QStringList arguments() const;
  // What is wrong with the fields; empty when a run can be started with them.
  QString problem() const;
  void fill(const Request& request);
  // The request of the sample's recording: another one is not in it.
  void prepare_sample();

 Q_SIGNALS:
  void kernel_chosen(const QString& name);
  void changed();

 private:
  void read_sentence();
  std::vector<std::string> kernels_;
  QLineEdit* sentence_;
  QLabel* understood_;
  QComboBox* kernel_;
  QComboBox* goal_;
  QLineEdit* scope_;
  QComboBox* gpu_;
  QCheckBox* autonomous_;
  QSpinBox* variants_;
  QLineEdit* target_;
  QLineEdit* models_;
  QLineEdit* x_;
  QLineEdit* calls_;
  QSpinBox* budget_;
  QCheckBox* from_source_;
};

}  // namespace lwb
