#include "mega/kernels/instruction_set.h"

#include "mega/kernels/targets.h"
//
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif
#if HWY_ARCH_X86_64 && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <atomic>
#include <bit>
#include <cstdint>

namespace mega::kernels {
namespace {

// Highway's targets, in the order of InstructionSet.
constexpr int64_t kTargets[] = {HWY_STATIC_TARGET, HWY_SSE4, HWY_AVX2, HWY_AVX3, HWY_AVX3};

constexpr uint32_t bit(InstructionSet set) { return 1u << static_cast<int>(set); }

constexpr bool compiled(InstructionSet set) {
  const int64_t target = kTargets[static_cast<int>(set)];
  return target != HWY_STATIC_TARGET && (HWY_TARGETS & target) != 0;
}

#if HWY_ARCH_X86
// Not every compiler's __builtin_cpu_supports knows "f16c".
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}

// The features that Highway enables for each instruction set (hwy/ops/set_macros-inl.h).
// __builtin_cpu_supports also checks that the operating system saves the wider registers.
bool has_sse4() {
  return __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") &&
         __builtin_cpu_supports("aes");
}
bool has_avx2() {
  return has_sse4() && has_f16c() && __builtin_cpu_supports("avx") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
}
bool has_bf16() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512bf16");
}
bool has_vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512vnni");
}
bool has_avx3() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw");
}
#else
bool has_sse4() { return false; }
bool has_avx2() { return false; }
bool has_avx3() { return false; }
bool has_bf16() { return false; }
bool has_vnni() { return false; }
#endif

#if HWY_ARCH_X86_64 && defined(__linux__)
// The registers of tiles are large, and Linux saves them only for processes that ask.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
bool has_amx() {
  constexpr unsigned kBf16 = 1u << 22, kTile = 1u << 24, kBytes = 1u << 25, kAll = kBf16 | kTile | kBytes;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return has_bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAll) == kAll && may_use_tiles();
}
#else
bool has_amx() { return false; }
#endif

// A bit mask of the usable instruction sets.
uint32_t usable() {
  static const uint32_t bits = [] {
#if HWY_ARCH_X86
    __builtin_cpu_init();  // kernels may be called before main
#endif
    uint32_t found = bit(InstructionSet::baseline);
    if (compiled(InstructionSet::sse4) && has_sse4()) found |= bit(InstructionSet::sse4);
    if (compiled(InstructionSet::avx2) && has_avx2()) found |= bit(InstructionSet::avx2);
    if (compiled(InstructionSet::avx3) && has_avx3()) found |= bit(InstructionSet::avx3);
    if ((found & bit(InstructionSet::avx3)) != 0 && has_amx()) found |= bit(InstructionSet::amx);
    return found;
  }();
  return bits;
}

constinit std::atomic<InstructionSet> limit = InstructionSet::amx;

}  // namespace

const bool cpu_has_bf16 = has_bf16(), cpu_has_vnni = has_vnni();

std::vector<InstructionSet> usable_instruction_sets() {
  std::vector<InstructionSet> sets;
  for (const auto set : {InstructionSet::baseline, InstructionSet::sse4, InstructionSet::avx2,
                         InstructionSet::avx3, InstructionSet::amx})
    if ((usable() & bit(set)) != 0) sets.push_back(set);
  return sets;
}

InstructionSet chosen_instruction_set() {
  const uint32_t up_to_limit = 2 * bit(limit.load(std::memory_order_relaxed)) - 1;
  return static_cast<InstructionSet>(std::bit_width(usable() & up_to_limit) - 1);
}

const char* instruction_set() {
  if (has_tiles()) return "AMX";
  return hwy::TargetName(kTargets[static_cast<int>(chosen_instruction_set())]);
}

bool native_bf16() { return cpu_has_bf16 && chosen_instruction_set() >= InstructionSet::avx3; }

bool native_bytes() { return cpu_has_vnni && chosen_instruction_set() >= InstructionSet::avx3; }

bool has_tiles() { return chosen_instruction_set() == InstructionSet::amx; }

void limit_instruction_set(InstructionSet strongest) { limit.store(strongest, std::memory_order_relaxed); }

}  // namespace mega::kernels
