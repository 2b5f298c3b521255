#include "mega/distributed/parameter_shares.h"

#include <gtest/gtest.h>

#include "tests/distributed/worlds.h"

namespace mega::distributed {
namespace {

using torch::Tensor;

std::vector<Tensor> parameters() {
  std::vector<Tensor> all;
  for (const int64_t size : {7, 300, 1, 0, 45}) {
    const Tensor one = torch::arange(size, torch::kFloat32) + 1000.0 * static_cast<double>(all.size());
    all.push_back((size == 300 ? one.view({30, 10}) : one).clone().requires_grad_());
  }
  all.push_back(torch::linspace(0.0, 1.0, 11, torch::kFloat64));  // a row of its own
  return all;
}

// Every number has one owner, who has it in the end as everybody else.
TEST(ParameterShares, EachNumberHasOneOwner) {
  for (const int size : {2, 3, 4})
    for (const int64_t row_bytes : {1, 100, 1'000'000})
      expect_none(in_worlds(size, [&](World& world) {
        const std::vector<Tensor> expected = parameters();
        std::vector<Tensor> all, parts, owners;
        const ParameterShares shares(expected, world.common(), row_bytes);
        int64_t own = 0, numbers = 0;
        for (size_t i = 0; i < expected.size(); ++i) {
          const Piece& piece = shares.own(i);
          parts.push_back(expected[i].detach().view(-1).slice(0, piece.begin, piece.end));
          all.push_back(torch::full_like(expected[i].detach(), -1));
          owners.push_back(torch::zeros({expected[i].numel()}, torch::kInt64));
          owners.back().slice(0, piece.begin, piece.end).fill_(1);
          world.common().all_reduce_sum(owners.back());
          EXPECT_TRUE(owners.back().eq(1).all().item<bool>()) << "parameter " << i;
          own += piece.size();
          numbers += expected[i].numel();
        }
        EXPECT_LE(std::abs(own - numbers / size), std::ssize(expected)) << "equal shares";
        shares.gather(parts, world.rank() == 1 ? nullptr : &all);
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_TRUE(torch::equal(
              all[i], world.rank() == 1 ? torch::full_like(expected[i].detach(), -1) : expected[i].detach()))
              << "parameter " << i << " of rank " << world.rank();
        world.finish();
      }));
}

}  // namespace
}  // namespace mega::distributed
