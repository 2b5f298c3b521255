// What every kind of model says of itself. The options of a kind derive from ModelKind; the rest of the
// program asks these questions, and never which kind it is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mega/config/tensor_info.h"

namespace mega {

// What a model is trained to do. Models of the same task can take each other's place.
enum class ModelTask { sequence, language, translation, image };

// How a model reads a text of any length: in chunks, with a state that goes from one to the next, or through
// a window that moves on by a stride, of which the last `stride` tokens are new.
struct ReadingPlan {
  int64_t chunk = -1;  // -1: no chunks, the state holds everything read so far
  int64_t window = 0;  // 0: no window
  int64_t stride = 0;
  // > 0: it learns with a memory of so many positions; blocks of that length carry the state on.
  int64_t memory = 0;

  bool has_window() const { return window > 0; }
};

class ModelKind {
 public:
  virtual ~ModelKind() = default;

  virtual ModelTask task() const = 0;

  // Whether the engine (mega/infer) runs it.
  virtual bool runs_in_engine() const { return false; }

  // Throws where fields do not fit each other.
  virtual void check() const = 0;

  virtual std::vector<TensorInfo> tensors() const = 0;

  // Documents that it reads for one answer.
  virtual int64_t document_count() const { return 1; }
  // The longest sequence that it is made for; 0: it does not say.
  virtual int64_t max_length() const { return 0; }
  // Makes it for sequences of this length, if it is made for shorter ones.
  virtual void make_for(int64_t /*length*/) {}

  // Per position, forward; the backward pass counts twice.
  virtual double multiply_adds(int64_t length) const = 0;
  // That one training step of the fused form needs at its peak beyond parameters, gradients and optimiser,
  // for a batch of documents, or of pairs if the model compares two.
  virtual double activation_bytes(int64_t length, int64_t batch) const = 0;

  // Of a language model.
  virtual ReadingPlan reading() const;
  // Attend in chunks of another length than in training. Throws where the positions do not allow it.
  virtual void set_chunk(int64_t chunk);

  // Takes the task's options and the size of a Mega model, so that the two can be compared: as many
  // parameters in each block. False, and nothing changed, where this is no baseline of the other.
  virtual bool match(const ModelKind& other);
};

}  // namespace mega
