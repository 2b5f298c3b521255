// Collectives between several ranks, and what strangers and misfits meet with.
#include "mega/distributed/world.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>

#include "mega/distributed/gate.h"
#include "mega/distributed/gather.h"
#include "tests/distributed/worlds.h"

namespace mega::distributed {
namespace {

using torch::Tensor;

std::string text_of(int rank) {
  return std::string(static_cast<size_t>(rank * 1000), static_cast<char>('a' + rank));
}

TEST(World, SumsOfEverySizeAndType) {
  for (const int size : {2, 3, 4, 5}) {
    expect_none(in_worlds(size, [&](World& world) {
      for (const int64_t count : {0, 1, 3, 1000, 20'000, 100'003}) {
        for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kInt64}) {
          Tensor x = (torch::arange(count) * (world.rank() + 1)).to(type);
          world.common().sum(x, Wire::exact);
          const Tensor expected = (torch::arange(count) * (size * (size + 1) / 2)).to(type);
          EXPECT_TRUE(torch::equal(x, expected)) << size << " ranks, " << count << " numbers";
        }
      }
      world.finish();
    }));
  }
}

TEST(World, RoundedSumsAreTheSameBitsEverywhere) {
  for (const int size : {2, 3, 4}) {
    std::vector<Tensor> sums(static_cast<size_t>(size));
    std::vector<Tensor> own;
    for (int rank = 0; rank < size; ++rank) own.push_back(torch::rand({50'000}) - 0.5);
    expect_none(in_worlds(size, [&](World& world) {
      Tensor x = own[static_cast<size_t>(world.rank())].clone();
      const int64_t before = world.gradients().bytes_sent();
      world.gradients().sum(x, Wire::bf16);
      const int64_t exact = 2 * (size - 1) * 50'000 * 4 / size;
      EXPECT_LT(world.gradients().bytes_sent() - before, exact * 51 / 100);
      sums[static_cast<size_t>(world.rank())] = x;
      world.finish();
    }));
    Tensor expected = torch::zeros({50'000});
    for (const Tensor& x : own) expected += x;
    for (const Tensor& sum : sums) EXPECT_TRUE(torch::equal(sum, sums.front()));
    EXPECT_LT((sums.front() - expected).abs().max().item<double>(), 0.01 * size);
    EXPECT_GT((sums.front() - expected).abs().max().item<double>(), 0.0);  // it does round
  }
}

TEST(World, PiecesOfAll) {
  for (const int size : {2, 3, 5}) {
    expect_none(in_worlds(size, [&](World& world) {
      for (const int64_t count : {0, 1, 4, 1000, 100'003}) {
        for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kInt64}) {
          const Tensor expected = torch::arange(count).to(type);
          Tensor x = torch::full_like(expected, -1);
          const auto [begin, end] = piece_of(count, world.rank(), size);
          x.slice(0, begin, end).copy_(expected.slice(0, begin, end));
          world.common().gather_pieces(x);
          EXPECT_TRUE(torch::equal(x, expected)) << size << " ranks, " << count << " numbers";
        }
      }
      world.finish();
    }));
  }
}

TEST(World, SumsOfTheOwnPiece) {
  for (const int size : {2, 3, 5}) {
    expect_none(in_worlds(size, [&](World& world) {
      for (const int64_t count : {0, 1, 4, 1000, 100'003}) {
        for (const auto type : {torch::kFloat32, torch::kFloat64, torch::kInt64}) {
          Tensor x = (torch::arange(count) * (world.rank() + 1)).to(type);
          const int64_t before = world.common().bytes_sent();
          world.common().sum_pieces(x, Wire::exact);
          const auto [begin, end] = piece_of(count, world.rank(), size);
          const Tensor expected = (torch::arange(begin, end) * (size * (size + 1) / 2)).to(type);
          EXPECT_TRUE(torch::equal(x.slice(0, begin, end), expected))
              << size << " ranks, " << count << " numbers";
          EXPECT_LT(world.common().bytes_sent() - before,
                    (size - 1) * (count / size + 1) * x.element_size() + 1000);
        }
      }
      world.finish();
    }));
  }
}

// A tensor of another size for each, some of them empty.
TEST(World, OneTensorForEach) {
  for (const int size : {2, 3, 5}) {
    expect_none(in_worlds(size, [&](World& world) {
      const auto message = [](int from, int to) {
        return torch::full({(from + 2 * to) % 4, 3}, 10.0 * from + to, torch::kFloat64);
      };
      for (int round = 0; round < 3; ++round) {
        std::vector<Tensor> sent, received;
        for (int other = 0; other < size; ++other) {
          sent.push_back(message(world.rank(), other));
          received.push_back(torch::empty_like(message(other, world.rank())));
        }
        world.common().exchange(sent, received);
        for (int other = 0; other < size; ++other)
          EXPECT_TRUE(torch::equal(received[static_cast<size_t>(other)], message(other, world.rank())));
      }
      world.finish();
    }));
  }
}

TEST(World, TextsAndValuesOfAll) {
  for (const int size : {2, 3, 7}) {
    expect_none(in_worlds(size, [&](World& world) {
      const auto all = world.common().all_gather(text_of(world.rank()));
      ASSERT_EQ(std::ssize(all), size);
      for (int rank = 0; rank < size; ++rank) EXPECT_EQ(all[static_cast<size_t>(rank)], text_of(rank));
      EXPECT_EQ(world.lead(world.rank() + 17), 17);
      EXPECT_EQ(world.lead("of rank " + std::to_string(world.rank())), "of rank 0");
      // 2 size + 1 items, dealt in turn.
      std::vector<std::string> own;
      for (int i = world.rank(); i < 2 * size + 1; i += size) own.push_back(std::to_string(i));
      const auto dealt = gather_dealt(world, own);
      ASSERT_EQ(std::ssize(dealt), 2 * size + 1);
      for (int i = 0; i < 2 * size + 1; ++i) EXPECT_EQ(dealt[static_cast<size_t>(i)], std::to_string(i));
      const Tensor rows = torch::arange(5 * (2 * size + 1)).view({-1, 5});
      EXPECT_TRUE(torch::equal(gather_dealt(world, rows.slice(0, world.rank(), rows.size(0), size)), rows));
      world.finish();
    }));
  }
}

TEST(World, WeightsOfRankZero) {
  std::vector<Tensor> weights(2);
  expect_none(in_worlds(2, [&](World& world) {
    torch::nn::BatchNorm1d model(3);
    model->weight.data().fill_(world.rank() + 1);
    model->running_mean.fill_(world.rank() + 5);
    broadcast_weights(world, *model);
    weights[static_cast<size_t>(world.rank())] = torch::cat({model->weight.detach(), model->running_mean});
    world.finish();
  }));
  EXPECT_TRUE(torch::equal(weights[0], torch::tensor({1., 1., 1., 5., 5., 5.}, torch::kFloat32)));
  EXPECT_TRUE(torch::equal(weights[0], weights[1]));
}

TEST(World, WhatDiffersIsNamed) {
  const auto errors = in_worlds(3, [&](World& world) {
    world.require_same("the colour", world.rank() == 2 ? "blue" : "red",
                       [](const std::string& a, const std::string& b) { return b + ", not " + a; });
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("the colour of rank 2 ("), std::string::npos) << error;
    EXPECT_NE(error.find("blue, not red"), std::string::npos) << error;
  }
}

TEST(World, AFailureReachesAll) {
  const auto errors = in_worlds(3, [&](World& world) {
    if (world.rank() == 1) {
      world.report_failure("no space left");
      fail("no space left");
    }
    Tensor x = torch::ones({3});
    world.common().all_reduce_sum(x);
  });
  for (const int rank : {0, 2}) {
    const std::string& error = errors[static_cast<size_t>(rank)];
    EXPECT_NE(error.find("rank 1 ("), std::string::npos) << error;
    EXPECT_NE(error.find("no space left"), std::string::npos) << error;
  }
}

TEST(World, WhoLeavesWithoutAWordIsNamed) {
  const auto errors = in_worlds(3, [&](World& world) {
    if (world.rank() == 2) return;
    Tensor x = torch::ones({3});
    world.common().all_reduce_sum(x);
  });
  for (const int rank : {0, 1})
    EXPECT_NE(errors[static_cast<size_t>(rank)].find("rank 2 ("), std::string::npos)
        << errors[static_cast<size_t>(rank)];
}

TEST(World, WhoHasLostStepIsNamed) {
  const auto errors = in_worlds(2, [&](World& world) {
    Tensor x = torch::ones({world.rank() + 3});
    world.common().all_reduce_sum(x);
  });
  EXPECT_NE(errors[0].find("rank 1 ("), std::string::npos) << errors[0];
}

TEST(World, ALateRankIsWaitedForAndAMissingOneNamed) {
  expect_none(in_worlds(
      2, [](World& world) { world.finish(); },
      [](Placement& placement) {
        if (placement.rank == 1) std::this_thread::sleep_for(std::chrono::milliseconds(500));
      }));
  const auto errors = in_worlds(
      3, [](World&) {},
      [](Placement& placement) {
        placement.join = std::chrono::seconds(1);
        if (placement.rank == 2) fail("never comes");
      });
  for (const int rank : {0, 1})
    EXPECT_NE(errors[static_cast<size_t>(rank)].find("no sign of rank 2 after"), std::string::npos)
        << errors[static_cast<size_t>(rank)];
}

TEST(World, AnUnreachableMasterAndAPortInUse) {
  const uint16_t port = free_port();
  Placement placement = placement_of(1, 2, port);
  placement.join = std::chrono::seconds(1);
  try {
    const World world(placement);
    FAIL();
  } catch (const RunLost& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("rank 1 ("), std::string::npos) << text;
    EXPECT_NE(text.find("127.0.0.1:" + std::to_string(port)), std::string::npos) << text;
  }
  const Socket other = listen_on("127.0.0.1", 0);
  try {
    const World world(placement_of(0, 2, own_address(other).port));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("MASTER_PORT"), std::string::npos) << error.what();
  }
}

TEST(World, MisfitsAreRefusedByName) {
  for (const auto& error : in_worlds(
           2, [](World&) {},
           [](Placement& placement) {
             placement.join = std::chrono::seconds(5);
             if (placement.rank == 1) placement.size = 3;
           }))
    EXPECT_NE(error.find("was told of 3 processes"), std::string::npos) << error;
  const auto twice = in_worlds(
      3, [](World&) {}, [](Placement& placement) { placement.rank = std::min(placement.rank, 1); });
  EXPECT_NE(twice[0].find("has the rank of another process, rank 1 ("), std::string::npos) << twice[0];
  const auto token = in_worlds(
      2, [](World&) {},
      [](Placement& placement) {
        placement.join = std::chrono::seconds(2);
        if (placement.rank == 1) placement.token = "another";
      });
  EXPECT_NE(token[0].find("no sign of rank 1"), std::string::npos) << token[0];
  EXPECT_NE(token[1].find("MEGA_TOKEN"), std::string::npos) << token[1];
}

TEST(World, AnotherVersionIsRefusedByName) {
  const uint16_t port = free_port();
  std::string error;
  std::thread host([&] {
    try {
      const World world(placement_of(0, 2, port));
    } catch (const RunLost& lost) {
      error = lost.what();
    }
  });
  const Deadline soon = Clock::now() + std::chrono::seconds(20);
  const Socket socket = connect_to("127.0.0.1", port, soon);
  introduce(socket, placement_of(1, 2, port).token, soon);
  send_message(
      socket,
      R"({"rank":1,"size":2,"version":"0.0.7","member":{"host":"far","process":9,"address":"::1","port":1}})",
      soon);
  EXPECT_NE(receive_message(socket, soon).find("0.0.7"), std::string::npos);
  host.join();
  EXPECT_NE(error.find("rank 1 (far, process 9) runs version 0.0.7"), std::string::npos) << error;
}

// Who says nothing, says nonsense, or says much, while a run starts.
TEST(World, StrangersDoNotDisturb) {
  const uint16_t port = free_port();
  std::atomic<bool> done = false;
  std::thread stranger([&] {
    const Deadline soon = Clock::now() + std::chrono::seconds(20);
    std::vector<Socket> silent;
    for (int i = 0; i < 20; ++i) silent.push_back(connect_to("127.0.0.1", port, soon));
    const std::string nonsense(100'000, 'x');
    for (int i = 0; i < 20; ++i) {
      try {
        const Socket socket = connect_to("127.0.0.1", port, soon);
        send_all(socket, std::as_bytes(std::span(nonsense)), Clock::now() + std::chrono::seconds(1));
      } catch (const Error&) {
      }
    }
    // One that knows the protocol but not the token.
    try {
      const Socket socket = connect_to("127.0.0.1", port, soon);
      introduce(socket, "guessed", soon);
      ADD_FAILURE() << "a stranger was let in";
    } catch (const Error&) {
    }
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  });
  std::thread host([&] {
    World world(placement_of(0, 2, port));
    world.finish();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  {
    World world(placement_of(1, 2, port));
    world.finish();
  }
  host.join();
  done = true;
  stranger.join();
}

TEST(World, ListensOnlyWhereItWasAsked) {
  const Socket listener = listen_on("127.0.0.1", 0);
  const Address address = own_address(listener);
  EXPECT_EQ(address.host, "127.0.0.1");
  // Another address of this machine does not answer.
  EXPECT_THROW(connect_to("127.0.0.2", address.port, Clock::now() + std::chrono::milliseconds(200)), Error);
}

TEST(World, AProofIsWorthNothingElsewhere) {
  EXPECT_THROW(
      {
        Socket listener = listen_on("127.0.0.1", 0);
        const Address address = own_address(listener);
        const Gate gate(std::move(listener), "right");
        const Deadline soon = Clock::now() + std::chrono::seconds(5);
        introduce(connect_to(address.host, address.port, soon), "wrong", soon);
      },
      Error);
}

}  // namespace
}  // namespace mega::distributed
