// The difference of any two of original and variants, by number.
#pragma once

#include <QWidget>
#include <string>

class QComboBox;

namespace lwb {

class DiffView;
class RunView;

class VariantDiff : public QWidget {
  Q_OBJECT
 public:
  explicit VariantDiff(RunView& run, QWidget* parent = nullptr);
  void show_variants(int old_number, int new_number);  // 0: the original
  void go_to_line(int line);  // of the older text

 private:
  void fill_choices();
  void load();
  std::string text_of(int number) const;
  QString title_of(int number) const;
  RunView& run_;
  QComboBox* old_choice_;
  QComboBox* new_choice_;
  DiffView* view_;
  int shown_old_ = -1, shown_new_ = -1;
  std::string old_text_, new_text_;  // as shown
};

}  // namespace lwb
