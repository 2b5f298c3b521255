#include "mega/infer/layers/feed_forward.h"

#include "mega/kernels/add.h"
#include "mega/kernels/gates.h"

namespace mega::infer {

using kernels::ConstRows;
using kernels::Rows;

FeedForward::FeedForward(WeightFile& file, const std::string& name, const BlockOptions& options)
    : options_(options),
      norm_(file, name + ".norm", options.width, plain_norm(options.norm), options.affine),
      first_(file, name + ".fc1", options.hidden, options.width),
      second_(file, name + ".fc2", options.width, options.hidden) {}

void FeedForward::forward(Rows x, int64_t rows, const Run& run) const {
  const int64_t d = options_.width, f = options_.hidden;
  const ConstRows residual{x.data, x.stride};
  ConstRows input = residual;
  if (options_.prenorm) {
    const Rows normed{run.work.floats(Workspace::kNormed, rows * d), d};
    norm_.forward(residual, normed, rows, run);
    input = {normed.data, normed.stride};
  }
  const Rows hidden{run.work.floats(Workspace::kHidden, rows * f), f};
  multiply(first_, input, hidden, rows, run);
  const ConstRows inner{hidden.data, f};
  run.rows(rows, f, [&](int64_t begin, int64_t end) {
    kernels::activate(options_.activation, {}, inner, hidden, begin, end, f);
  });
  const Rows output{run.work.floats(Workspace::kCandidate, rows * d), d};
  multiply(second_, inner, output, rows, run);
  run.rows(rows, d, [&](int64_t begin, int64_t end) {
    kernels::add({output.data, d}, residual, x, begin, end, d);
  });
  if (!options_.prenorm) norm_.forward(residual, x, rows, run);
}

}  // namespace mega::infer
