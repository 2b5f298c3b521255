// The systems of the paper's tables, and how one of them is measured in a process of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/rounds.h"
#include "mega/config/recipe/presets.h"

namespace mega::bench {

// What the commands that measure systems side by side have in common.
struct SystemsSettings {
  std::vector<int64_t> lengths;  // empty: the table's default
  int64_t batch = 1;
  int repeats = 7;
  int threads = 0;
  bool quick = false;             // within three minutes
  std::vector<std::string> only;  // names of systems; empty: all

  RoundPlan plan(const std::string& title) const;
  // Of a table that has one; an Error where there are several.
  int64_t one_length(int64_t usual) const;
};

struct System {
  std::string name;
  std::string preset;                     // or a .toml file
  std::vector<std::string> changes = {};  // of the preset, key=value
  bool plain = false;                     // the reference form: scores of all pairs in memory
  const char *paper_speed = "", *paper_memory = "";
};

// The preset with its changes, made for sequences of this length.
Recipe recipe_of(const System& system, int64_t length);

// Those named by `only`, or all if it is empty; a name that none has is an Error.
std::vector<System> chosen(const std::vector<System>& all, const std::vector<std::string>& only);

// What is timed: a training step of a classifier, or scoring of running text by a language model.
constexpr const char *kStep = "step", *kScore = "score";

// The process that measures a system.
Trial trial_of(const std::string& work, const System& system, int64_t length,
               const SystemsSettings& settings);

// What it does.
Sample run_trial(const std::string& work, const System& system, int64_t length, int64_t batch);

}  // namespace mega::bench
