#include "mega/distributed/placement.h"

#include <gtest/gtest.h>

#include <map>

#include "mega/base/error.h"

namespace mega::distributed {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Placement> place(const Variables& variables) {
  return placement_from([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Variables& variables) {
  try {
    place(variables);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Placement, OneProcessNeedsNothing) {
  EXPECT_FALSE(place({}));
  EXPECT_FALSE(place({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
  EXPECT_FALSE(place({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}}));  // a batch script, without srun
}

TEST(Placement, OfEveryLauncher) {
  const auto torchrun = place({{"RANK", "2"},
                               {"WORLD_SIZE", "4"},
                               {"LOCAL_WORLD_SIZE", "2"},
                               {"MASTER_ADDR", "node1"},
                               {"MASTER_PORT", "1234"},
                               {"MEGA_TOKEN", "secret"}});
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->rank, 2);
  EXPECT_EQ(torchrun->size, 4);
  EXPECT_EQ(torchrun->local_size, 2);
  EXPECT_EQ(torchrun->master, "node1");
  EXPECT_EQ(torchrun->port, 1234);
  EXPECT_EQ(torchrun->token, "secret");

  const auto mpirun = place({{"OMPI_COMM_WORLD_RANK", "1"},
                             {"OMPI_COMM_WORLD_SIZE", "2"},
                             {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                             {"MEGA_TOKEN", "secret"}});
  ASSERT_TRUE(mpirun);
  EXPECT_EQ(mpirun->rank, 1);
  EXPECT_EQ(mpirun->master, "127.0.0.1");

  const auto mpich = place({{"PMI_RANK", "1"},
                            {"PMI_SIZE", "2"},
                            {"MASTER_ADDR", "a"},
                            {"MEGA_TOKEN", "x"},
                            {"MEGA_JOIN_SECONDS", "7"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->join, std::chrono::seconds(7));

  const auto slurm = place({{"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "8"},
                            {"SLURM_STEP_NODELIST", "node[07-09,12],gpu1"},
                            {"MEGA_TOKEN", "secret"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->rank, 3);
  EXPECT_EQ(slurm->master, "node07");
}

TEST(Placement, FirstHost) {
  EXPECT_EQ(first_host("a"), "a");
  EXPECT_EQ(first_host("a,b"), "a");
  EXPECT_EQ(first_host("node[07-09]"), "node07");
  EXPECT_EQ(first_host("node[3,5]-ib,x"), "node3-ib");
  EXPECT_THROW(first_host("node[3"), Error);
}

TEST(Placement, SaysWhatIsMissingOrWrong) {
  const Variables good = {{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MEGA_TOKEN", "x"}};
  const auto with = [&](const char* name, const char* value) {
    Variables changed = good;
    changed[name] = value;
    return refusal(changed);
  };
  const auto without = [&](const char* name) {
    Variables changed = good;
    changed.erase(name);
    return refusal(changed);
  };
  EXPECT_EQ(refusal(good), "");
  EXPECT_NE(without("MEGA_TOKEN").find("openssl rand"), std::string::npos);
  EXPECT_NE(without("MASTER_ADDR").find("MASTER_ADDR"), std::string::npos);
  EXPECT_NE(with("RANK", "2").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(with("RANK", "-1").find("RANK"), std::string::npos);
  EXPECT_NE(with("WORLD_SIZE", "2x").find("WORLD_SIZE"), std::string::npos);
  EXPECT_NE(with("MASTER_PORT", "70000").find("65535"), std::string::npos);
  EXPECT_NE(with("MEGA_SILENCE_SECONDS", "0").find("MEGA_SILENCE_SECONDS"), std::string::npos);
}

}  // namespace
}  // namespace mega::distributed
