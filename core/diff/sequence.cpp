#include "core/diff/sequence.h"

#include <algorithm>

namespace lwb {
namespace {

// A part of both sequences: old [a0, a1), new [b0, b1).
struct Box {
  int a0, a1, b0, b1;
  int width() const { return a1 - a0; }
  int height() const { return b1 - b0; }
};

// The diagonal run of equal elements in the middle of a shortest edit script (Myers, section 4b):
// from (x, y) to (u, v), both ends may be the same.
struct Snake {
  int x, y, u, v;
};

class Comparison {
 public:
  Comparison(const std::vector<int>& a, const std::vector<int>& b)
      : a_(a), b_(b), offset_(static_cast<int>((a.size() + b.size()) / 2) + 2) {
    forward_.assign(static_cast<std::size_t>(2 * offset_ + 1), 0);
    backward_ = forward_;
  }

  std::vector<Match> run() {
    solve({0, static_cast<int>(a_.size()), 0, static_cast<int>(b_.size())});
    return std::move(matches_);
  }

 private:
  bool equal(int x, int y) const {
    return a_[static_cast<std::size_t>(x)] == b_[static_cast<std::size_t>(y)];
  }
  int& forward(int k) { return forward_[static_cast<std::size_t>(k + offset_)]; }
  int& backward(int k) { return backward_[static_cast<std::size_t>(k + offset_)]; }

  void match(int x, int y, int length) {
    for (int i = 0; i < length; ++i) {
      matches_.push_back({static_cast<std::size_t>(x + i), static_cast<std::size_t>(y + i)});
    }
  }

  // Common beginning and end first: most of two versions of a file is equal, and the middle snake
  // is then only looked for where they differ.
  void solve(Box box) {
    int head = 0;
    while (head < std::min(box.width(), box.height()) && equal(box.a0 + head, box.b0 + head))
      ++head;
    match(box.a0, box.b0, head);
    box.a0 += head;
    box.b0 += head;
    int tail = 0;
    while (tail < std::min(box.width(), box.height()) &&
           equal(box.a1 - tail - 1, box.b1 - tail - 1)) {
      ++tail;
    }
    box.a1 -= tail;
    box.b1 -= tail;
    if (box.width() > 0 && box.height() > 0) {
      const Snake snake = middle(box);
      solve({box.a0, snake.x, box.b0, snake.y});
      match(snake.x, snake.y, snake.u - snake.x);
      solve({snake.u, box.a1, snake.v, box.b1});
    }
    match(box.a1, box.b1, tail);
  }

  // Searches from both corners at once until the paths meet. Positions are relative to the box;
  // diagonal k is x - y forward, and k - delta backward.
  Snake middle(const Box& box) {
    const int delta = box.width() - box.height();
    const int most = (box.width() + box.height() + 1) / 2;
    forward(1) = 0;
    backward(1) = 0;
    Snake snake{};
    for (int d = 0; d <= most; ++d) {
      if (step_forward(box, d, delta, snake) || step_backward(box, d, delta, snake)) break;
    }
    return snake;
  }

  bool step_forward(const Box& box, int d, int delta, Snake& snake) {
    for (int k = -d; k <= d; k += 2) {
      int x = k == -d || (k != d && forward(k - 1) < forward(k + 1)) ? forward(k + 1)
                                                                     : forward(k - 1) + 1;
      int y = x - k;
      const int begin_x = x;
      const int begin_y = y;
      while (x < box.width() && y < box.height() && y >= 0 && equal(box.a0 + x, box.b0 + y)) {
        ++x;
        ++y;
      }
      forward(k) = x;
      const int other = delta - k;  // the same diagonal, seen from the far corner
      if (delta % 2 != 0 && other >= -(d - 1) && other <= d - 1 &&
          x + backward(other) >= box.width()) {
        snake = {box.a0 + begin_x, box.b0 + begin_y, box.a0 + x, box.b0 + y};
        return true;
      }
    }
    return false;
  }

  bool step_backward(const Box& box, int d, int delta, Snake& snake) {
    for (int k = -d; k <= d; k += 2) {
      int x = k == -d || (k != d && backward(k - 1) < backward(k + 1)) ? backward(k + 1)
                                                                       : backward(k - 1) + 1;
      int y = x - k;
      const int begin_x = x;
      const int begin_y = y;
      while (x < box.width() && y < box.height() && y >= 0 &&
             equal(box.a1 - x - 1, box.b1 - y - 1)) {
        ++x;
        ++y;
      }
      backward(k) = x;
      const int other = delta - k;
      if (delta % 2 == 0 && other >= -d && other <= d && x + forward(other) >= box.width()) {
        snake = {box.a1 - x, box.b1 - y, box.a1 - begin_x, box.b1 - begin_y};
        return true;
      }
    }
    return false;
  }

  const std::vector<int>& a_;
  const std::vector<int>& b_;
  int offset_;
  std::vector<int> forward_;
  std::vector<int> backward_;
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> longest_common(const std::vector<int>& old_items,
                                  const std::vector<int>& new_items) {
  return Comparison(old_items, new_items).run();
}

}  // namespace lwb
