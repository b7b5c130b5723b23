// The house's rules about includes: core/ knows no screen, and a room of core/ includes only itself
// and rooms that come before it.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <sstream>

#include "core/base/files.h"
#include "core/base/text.h"

namespace lwb {
namespace {

struct Include {
  fs::path file;  // relative to the source folder
  int line = 0;
  std::string target;  // as written between the quotes or brackets
};

std::vector<Include> includes_below(const fs::path& folder) {
  static const std::regex pattern(R"(^\s*#\s*include\s*["<]([^">]+)[">])");
  std::vector<Include> includes;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(LWB_SOURCE_DIR) / folder)) {
    const auto extension = entry.path().extension();
    if (extension != ".h" && extension != ".cpp") continue;
    int number = 0;
    for (const std::string& line : split_lines(read_file(entry.path()).value_or(""))) {
      ++number;
      std::smatch match;
      if (!std::regex_search(line, match, pattern)) continue;
      includes.push_back({entry.path().lexically_relative(LWB_SOURCE_DIR), number, match[1]});
    }
  }
  return includes;
}

// A room and the rooms of its own step of the order may not include each other.
const std::map<std::string, int>& order() {
  static const std::map<std::string, int> order = {
      {"base", 0},    {"process", 1},  {"report", 2},    {"diff", 2},      {"run", 3},
      {"request", 4}, {"kernel", 5},   {"device", 5},    {"checkout", 6},  {"measure", 7},
      {"profile", 8}, {"variants", 9}, {"optimize", 10}, {"finalize", 11}, {"pipeline", 12}};
  return order;
}

std::string room_of(const fs::path& path) {
  auto part = path.begin();
  return part != path.end() && *part == "core" && ++part != path.end() ? part->string() : "";
}

TEST(Rooms, CoreKnowsNoScreen) {
  static const std::regex screen(
      R"(^(Qsci/|QtWidgets|QtCharts|QtSvg|QtGui|QtDBus|ui/)|^(QWidget|QApplication|QGuiApplication|)"
      R"(QMainWindow|QDialog|QPainter|QPixmap|QImage|QIcon|QChart.*|QSvg.*|QLabel|QPushButton|)"
      R"(QMessageBox|QTableView|QAbstractItemView)$)");
  for (const Include& include : includes_below("core")) {
    EXPECT_FALSE(std::regex_search(include.target, screen))
        << include.file << ":" << include.line << " includes " << include.target
        << "; core/ knows no screen: move that code to ui/";
  }
}

TEST(Rooms, AreIncludedInTheirOrderOnly) {
  for (const Include& include : includes_below("core")) {
    const std::string from = room_of(include.file);
    const std::string to = room_of(include.target);
    ASSERT_TRUE(order().contains(from)) << include.file << " is in a room without a place here";
    if (to.empty() || to == from) continue;
    ASSERT_TRUE(order().contains(to)) << include.target << " is in a room without a place here";
    EXPECT_LT(order().at(to), order().at(from))
        << include.file << ":" << include.line << " includes " << include.target << ", but " << to
        << " does not come before " << from;
  }
}

// The room's build file names what its code includes, so that a test links just what it needs.
TEST(Rooms, LinkTheRoomsTheyInclude) {
  std::map<std::string, std::string> links;
  for (const auto& [room, place] : order()) {
    const auto file = fs::path(LWB_SOURCE_DIR) / "core" / room / "CMakeLists.txt";
    links[room] = read_file(file).value_or("");
  }
  const std::function<bool(const std::string&, const std::string&)> reaches =
      [&](const std::string& from, const std::string& to) {
        const std::string text =
            links[from].substr(std::min(links[from].find("LINK"), links[from].size()));
        std::istringstream words(replace_all(text, ")", " "));
        for (std::string word; words >> word;) {
          if (word.starts_with("lwb_")) word = word.substr(4);
          if (word == to) return true;
          if (order().contains(word) && order().at(word) < order().at(from) && reaches(word, to)) {
            return true;
          }
        }
        return false;
      };
  for (const Include& include : includes_below("core")) {
    const std::string from = room_of(include.file);
    const std::string to = room_of(include.target);
    if (to.empty() || to == from) continue;
    if (links[from].empty() || links[to].empty()) continue;  // headers only, nothing to link
    EXPECT_TRUE(reaches(from, to))
        << include.file << ":" << include.line << " includes " << include.target << "; add " << to
        << " to LINK in core/" << from << "/CMakeLists.txt";
  }
}

}  // namespace
}  // namespace lwb
