#include "mega/train/tasks/batch_task.h"

#include <algorithm>
#include <span>

#include "mega/base/strings.h"
#include "mega/data/shared_source.h"

namespace mega::train {

void BatchTask::enter(distributed::World& world) {
  world_ = &world;
  norms_ = std::make_unique<distributed::SharedNorms>(model(), world.common());
  seek(cursor());
}

// Pieces are then read as sequences of their own, none of which may be empty.
void BatchTask::leave() {
  for (Drawn& one : drawn_) {
    if (one.pieces == nullptr) continue;
    one.pieces.reset();
    for (data::SequenceSet& input : one.batch.inputs)
      for (int64_t& length : input.lengths) length = std::max<int64_t>(1, length);
  }
  norms_.reset();
  world_ = nullptr;
}

void BatchTask::seek(data::Cursor cursor) {
  stream_.reset();  // its thread ends before another begins
  std::unique_ptr<data::BatchSource> source = make_source();
  if (world_ != nullptr && !shares_sequences())
    source = std::make_unique<data::SharedSource>(std::move(source), world_->rank(), world_->size());
  stream_ = std::make_unique<data::BatchStream>(std::move(source), cursor);
}

// The total of all processes. Padding enters the statistics of batch norms: where they are shared, rows are
// padded as in the whole batch.
int64_t BatchTask::agree(int64_t total) {
  std::vector<int64_t> own = {total};
  for (const Drawn& one : drawn_)
    for (const data::SequenceSet& input : one.batch.inputs) own.push_back(input.length);
  torch::Tensor table = torch::zeros({world_->size(), std::ssize(own)}, torch::kInt64);
  table[world_->rank()] = torch::tensor(own);
  world_->common().all_reduce_sum(table);
  const torch::Tensor longest = std::get<0>(table.max(0));
  int64_t column = 1;
  for (Drawn& one : drawn_) {
    for (data::SequenceSet& input : one.batch.inputs) {
      const auto length = longest[column++].item<int64_t>();
      if (norms_->any()) data::pad_to(input, length);
    }
    data::SequenceSet& targets = one.batch.targets.sequences;
    if (!targets.lengths.empty()) data::pad_to(targets, one.batch.inputs.back().length);
  }
  return table.select(1, 0).sum().item<int64_t>();
}

BatchLoss BatchTask::loss(int64_t number) {
  const nn::SequencePieces* const pieces = drawn(number).pieces.get();
  const nn::SequencePiecesGuard guard(pieces);
  if (norms_ == nullptr) return batch_loss(number);
  const bool stand_in = drawn(number).batch.stand_in;
  if (stand_in && !norms_->any() && pieces == nullptr) return {};
  using Part = distributed::SharedNorms::Part;
  norms_->take(stand_in ? Part::listening : Part::full);
  BatchLoss result = batch_loss(number);
  if (stand_in) norms_->take(Part::silent);
  // All take part in the backward pass, but what several have computed counts once.
  const bool counted_elsewhere = pieces != nullptr && one_loss() && !world_->leads();
  if (!stand_in && !counted_elsewhere) return result;
  return {result.sum * 0.0, 0.0, stand_in ? 0 : result.positions};
}

void BatchTask::take_piece(Drawn& drawn) {
  data::Batch& batch = drawn.batch;
  drawn.pieces =
      std::make_unique<nn::SequencePieces>(world_->common(), batch.inputs.front().length, piece_unit());
  const nn::Span read = drawn.pieces->read();
  data::cut_positions(batch, read.begin, read.end, drawn.pieces->own().length());
  batch.stand_in = drawn.pieces->own().length() == 0;
}

int64_t BatchTask::draw(int64_t batches) {
  drawn_.clear();
  int64_t total = 0;
  for (int64_t i = 0; i < batches; ++i) {
    const bool begins_epoch = stream_->cursor().batch == 0;
    drawn_.push_back({stream_->next(), begins_epoch});
    if (!drawn_.back().batch.stand_in) total += count(drawn_.back().batch);
    if (shares_sequences()) take_piece(drawn_.back());
  }
  return world_ == nullptr || shares_sequences() ? total : agree(total);
}

std::string BatchTask::examples(int64_t number) const {
  constexpr size_t kNamed = 8;
  const std::span<const std::string> names(drawn(number).batch.names);
  return join(names.first(std::min(names.size(), kNamed)), ", ") + (names.size() > kNamed ? ", ..." : "");
}

}  // namespace mega::train
