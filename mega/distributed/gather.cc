#include "mega/distributed/gather.h"

#include <cstring>

#include "mega/base/error.h"

namespace mega::distributed {
namespace {

std::string packed(const std::vector<std::string>& items) {
  std::string all;
  for (const std::string& item : items) {
    const auto size = static_cast<uint64_t>(item.size());
    all.append(reinterpret_cast<const char*>(&size), sizeof size).append(item);
  }
  return all;
}

std::vector<std::string> unpacked(const std::string& all) {
  std::vector<std::string> items;
  for (size_t at = 0; at < all.size();) {
    uint64_t size = 0;
    require(at + sizeof size <= all.size(), "a list of another process is cut off");
    std::memcpy(&size, all.data() + at, sizeof size);
    at += sizeof size;
    require(size <= all.size() - at, "a list of another process is cut off");
    items.push_back(all.substr(at, size));
    at += size;
  }
  return items;
}

std::string_view bytes_of(const torch::Tensor& x) {
  return {static_cast<const char*>(x.data_ptr()), static_cast<size_t>(x.numel() * x.element_size())};
}

}  // namespace

std::vector<std::string> gather_dealt(World& world, const std::vector<std::string>& own) {
  std::vector<std::vector<std::string>> lists;
  size_t total = 0;
  for (const std::string& one : world.common().all_gather(packed(own))) {
    lists.push_back(unpacked(one));
    total += lists.back().size();
  }
  std::vector<std::string> all;
  for (size_t i = 0; i < total; ++i) all.push_back(std::move(lists[i % lists.size()].at(i / lists.size())));
  return all;
}

torch::Tensor gather_dealt(World& world, const torch::Tensor& own) {
  const torch::Tensor dense = own.contiguous();
  std::vector<torch::Tensor> parts;
  int64_t rows = 0;
  for (const std::string& one : world.common().all_gather(bytes_of(dense))) {
    std::vector<int64_t> shape = dense.sizes().vec();
    shape.front() =
        static_cast<int64_t>(one.size()) / std::max<int64_t>(1, dense[0].numel() * dense.element_size());
    torch::Tensor part = torch::empty(shape, dense.options());
    std::memcpy(part.data_ptr(), one.data(), one.size());
    rows += shape.front();
    parts.push_back(std::move(part));
  }
  std::vector<int64_t> shape = dense.sizes().vec();
  shape.front() = rows;
  torch::Tensor all = torch::empty(shape, dense.options());
  const auto step = static_cast<int64_t>(parts.size());
  for (int64_t rank = 0; rank < std::min(step, rows); ++rank)
    all.slice(0, rank, rows, step).copy_(parts[static_cast<size_t>(rank)]);
  return all;
}

void broadcast_weights(World& world, torch::nn::Module& model) {
  const torch::NoGradGuard guard;
  const auto share = [&](torch::Tensor weight) {
    torch::Tensor dense = weight.cpu().contiguous();
    world.common().broadcast({static_cast<std::byte*>(dense.data_ptr()), bytes_of(dense).size()});
    weight.copy_(dense);
  };
  for (const torch::Tensor& parameter : model.parameters()) share(parameter);
  for (const torch::Tensor& buffer : model.buffers()) share(buffer);
}

}  // namespace mega::distributed
