// What tasks have in common that draw their batches from a stream.
#pragma once

#include <memory>
#include <vector>

#include "mega/data/batch_stream.h"
#include "mega/distributed/shared_norms.h"
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

  struct Drawn {
    data::Batch batch;
    bool begins_epoch = false;
  };
  // Ends the thread that makes batches: what it reads must not be destroyed before.
  void stop() { stream_.reset(); }
  const Drawn& drawn(int64_t number) const { return drawn_[static_cast<size_t>(number)]; }
  distributed::World* world() const { return world_; }  // null: one process

 private:
  int64_t agree(int64_t total);

  std::unique_ptr<data::BatchStream> stream_;
  std::vector<Drawn> drawn_;
  distributed::World* world_ = nullptr;
  std::unique_ptr<distributed::SharedNorms> norms_;
};

}  // namespace mega::train
