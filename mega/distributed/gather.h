// Lists whose items were dealt to processes in turn, put together again.
#pragma once

#include <string>
#include <vector>

#include "mega/distributed/world.h"

namespace mega::distributed {

// Item i of rank r is item i * size + r of the result, which every process gets.
std::vector<std::string> gather_dealt(World& world, const std::vector<std::string>& own);

// The same of the rows of a tensor: (rows, ...) -> (rows of all, ...).
torch::Tensor gather_dealt(World& world, const torch::Tensor& own);

// The weights of rank 0 for all: parameters and buffers.
void broadcast_weights(World& world, torch::nn::Module& model);

}  // namespace mega::distributed
