// Parameters that are divided among the processes: each updates its own numbers, and gets those of the
// others.
//
// Parameters form rows, about as large as the buckets of gradients, so that few messages are sent. Of each
// row every process has a piece.
#pragma once

#include <cstdint>
#include <vector>

#include "mega/distributed/communicator.h"

namespace mega::distributed {

class ParameterShares {
 public:
  struct Row {
    size_t begin = 0, end = 0;  // parameters
    int64_t numbers = 0;
  };

  // The communicator must outlive it.
  ParameterShares(const std::vector<torch::Tensor>& parameters, Communicator& communicator,
                  int64_t row_bytes);

  bool leads() const { return communicator_.rank() == 0; }

  // The numbers of a parameter, seen as one row, that this process owns; there may be none.
  const Piece& own(size_t parameter) const { return own_[parameter]; }

  // `parts`: for each parameter as many numbers as this process owns of it. `all`: tensors of the sizes of
  // the parameters, which get the parts of all processes; null where they are not wanted. Every process calls
  // it.
  void gather(const std::vector<torch::Tensor>& parts, std::vector<torch::Tensor>* all) const;

  const std::vector<Row>& rows() const { return rows_; }
  Communicator& communicator() const { return communicator_; }

 private:
  Communicator& communicator_;
  std::vector<Row> rows_;
  std::vector<Piece> own_;
};

}  // namespace mega::distributed
