// A struct of options with one option of each type, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "mega/base/options/options.h"

namespace mega::testing {

enum class Colour { red, green };

}  // namespace mega::testing

namespace mega {

template <>
struct EnumNames<testing::Colour> {
  static constexpr auto names =
      enum_table<testing::Colour>({{testing::Colour::red, "red"}, {testing::Colour::green, "green"}});
};

}  // namespace mega

namespace mega::testing {

struct Inner {
  int64_t depth = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("depth", self.depth, "how deep", Range{0, 10});
    v.renamed_from("levels");
  }
};

struct Circle {
  static constexpr const char* kind = "circle";
  double radius = 1;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("radius", self.radius, "how wide");
  }
};

struct Square {
  static constexpr const char* kind = "square";
  double side = 2;
  Inner inner;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("side", self.side, "how long");
    v.nested("inner", self.inner, "inside the square");
  }
};

struct Shape {
  std::variant<Circle, Square> shape;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.variant("kind", self.shape, "which shape");
  }
};

struct Example {
  bool flag = false;
  int64_t count = 3;
  double rate = 0.1;
  std::string title = "none";
  Colour colour = Colour::red;
  std::vector<int64_t> sizes = {10, 20};
  std::vector<Colour> colours;
  Inner inner;
  std::vector<Inner> steps;
  Shape shape;

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor& v) {
    v.field("flag", self.flag, "whether");
    v.field("count", self.count, "how many", Range{0, 1000});
    v.field("rate", self.rate, "how fast", Range{0, 1});
    v.field("title", self.title, "what it is called");
    v.field("colour", self.colour, "what it looks like");
    v.field("sizes", self.sizes, "how large, each", Range{1, 100});
    v.field("colours", self.colours, "what they look like");
    v.nested("inner", self.inner, "inside");
    v.list("steps", self.steps, "one after the other");
    v.nested("shape", self.shape, "its shape");
  }
};

}  // namespace mega::testing
