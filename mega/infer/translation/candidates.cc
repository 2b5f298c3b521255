#include "mega/infer/translation/candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace mega::infer {
namespace {

bool better(const Candidate& a, const Candidate& b) {
  return std::tuple(-a.rank, a.hypothesis, a.token) < std::tuple(-b.rank, b.hypothesis, b.token);
}

}  // namespace

void Candidates::offer(const Candidate& candidate) {
  if (heap_.size() == count_) {
    if (!better(candidate, heap_.front())) return;
    std::pop_heap(heap_.begin(), heap_.end(), better);
    heap_.back() = candidate;
  } else {
    heap_.push_back(candidate);
  }
  std::push_heap(heap_.begin(), heap_.end(), better);
}

float Candidates::threshold(double rank) const {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  if (heap_.size() < count_) return kLowest;
  // One step lower, because of rounding.
  return std::nextafter(static_cast<float>(heap_.front().rank - rank), kLowest);
}

std::vector<Candidate> Candidates::take() {
  std::sort(heap_.begin(), heap_.end(), better);
  return std::move(heap_);
}

}  // namespace mega::infer
