// SHA-256 (FIPS 180-4) and HMAC (RFC 2104): by them a process proves that it knows the token of a run without
// sending it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace mega::distributed {

using Digest = std::array<uint8_t, 32>;

Digest sha256(std::string_view bytes);
Digest hmac_sha256(std::string_view key, std::string_view message);

// Takes the same time wherever they differ.
bool equal(const Digest& a, const Digest& b);

}  // namespace mega::distributed
