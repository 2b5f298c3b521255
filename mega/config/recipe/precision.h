// The precision of the products in training.
#pragma once

#include "mega/base/options/options.h"

namespace mega {

// f32, or bf16 where the CPU has it: factors are rounded to bf16 and their products added up in float32.
// `automatic`: bf16 if the CPU multiplies it natively, f32 otherwise.
enum class Precision { f32, bf16, automatic };

template <>
struct EnumNames<Precision> {
  static constexpr auto names = enum_table<Precision>(
      {{Precision::f32, "f32"}, {Precision::bf16, "bf16"}, {Precision::automatic, "auto"}});
};

}  // namespace mega
