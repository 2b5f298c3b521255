#include "mega/data/augment/repeated_order.h"

namespace mega::data {

std::vector<Repetition> repeated_order(std::span<const int64_t> permutation, int64_t repeats, int64_t workers,
                                       int64_t worker) {
  constexpr int64_t kMultiple = 256;
  const int64_t examples = std::ssize(permutation);
  const int64_t all = examples >= kMultiple ? examples / kMultiple * kMultiple : examples;
  const int64_t length = examples * repeats;
  std::vector<Repetition> order;
  // Beyond the end, the list begins again.
  for (int64_t i = 0; i < all / workers; ++i) {
    const int64_t at = (worker + i * workers) % length;
    order.push_back({permutation[static_cast<size_t>(at / repeats)], at % repeats});
  }
  return order;
}

}  // namespace mega::data
