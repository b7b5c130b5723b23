// The strategy order of a profile, as the person wants it tried: dragged into another order, struck
// by its check box.
#pragma once

#include <QListWidget>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"

namespace lwb {

class OrderList : public QListWidget {
  Q_OBJECT
 public:
  // `order`: of the profile event, {technique, pass, expected, hypothesis}; a technique that stands
  // in it for both passes is one row.
  explicit OrderList(const Json& order, QWidget* parent = nullptr);
  // Nothing while it is as it was proposed.
  std::optional<std::vector<std::string>> changed_order() const;

 private:
  std::vector<std::string> order_now() const;
  std::vector<std::string> proposed_;
};

}  // namespace lwb
