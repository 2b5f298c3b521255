// What tasks have in common that draw their batches from a stream.
#pragma once

#include <memory>
#include <vector>

#include "mega/data/batch_stream.h"
#include "mega/distributed/shared_norms.h"
#include "mega/nn/sequence_pieces.h"
#include "mega/train/tasks/task.h"

namespace mega::train {

class BatchTask : public Task {
 public:
  void enter(distributed::World& world) override;
  void leave() override;
  int64_t draw(int64_t batches) override;
  BatchLoss loss(int64_t batch) override;
  std::string examples(int64_t batch) const override;
  data::Cursor cursor() const override { return stream_->cursor(); }
  void seek(data::Cursor cursor) override;
  int64_t batches_per_epoch() const override { return stream_->batches_per_epoch(); }

 protected:
  virtual std::unique_ptr<data::BatchSource> make_source() const = 0;
  // What the mean loss of an update is taken over.
  virtual int64_t count(const data::Batch& batch) const = 0;
  virtual BatchLoss batch_loss(int64_t batch) = 0;
  // Where processes share sequences: what their pieces are multiples of. 0: they share the examples.
  virtual int64_t piece_unit() const { return 0; }
  // Whether a batch has one loss, whoever computes it, rather than one for each position.
  virtual bool one_loss() const { return true; }

  struct Drawn {
    data::Batch batch;  // what this process reads of it
    bool begins_epoch = false;
    std::unique_ptr<nn::SequencePieces> pieces = nullptr;  // null: whole sequences
  };
  // Ends the thread that makes batches: what it reads must not be destroyed before.
  void stop() { stream_.reset(); }
  const Drawn& drawn(int64_t number) const { return drawn_[static_cast<size_t>(number)]; }
  distributed::World* world() const { return world_; }  // null: one process

 private:
  bool shares_sequences() const { return world_ != nullptr && piece_unit() > 0; }
  void take_piece(Drawn& drawn);
  int64_t agree(int64_t total);

  std::unique_ptr<data::BatchStream> stream_;
  std::vector<Drawn> drawn_;
  distributed::World* world_ = nullptr;
  std::unique_ptr<distributed::SharedNorms> norms_;
};

}  // namespace mega::train
