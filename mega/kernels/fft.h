// Fourier transforms of many channels at once, and the long convolutions that they make cheap.
//
// Channels occupy vector lanes: a transform is of one group of kFftLanes channels, so that every step of it
// is the same instruction for all of them, and nothing is ever shuffled between lanes. An element is a row of
// kFftLanes real parts and kFftLanes imaginary parts. The caller owns threads and memory.
#pragma once

#include <cstdint>

namespace mega::kernels {

inline constexpr int64_t kFftLanes = 16;  // one cache line of a row

inline int64_t fft_groups(int64_t width) { return (width + kFftLanes - 1) / kFftLanes; }
// Floats of a group's spectrum of the given size.
inline int64_t fft_floats(int64_t size) { return size * 2 * kFftLanes; }

// The smallest size of a transform that is at least so long: a power of two.
int64_t fft_size(int64_t least);
// exp(-2 pi i j / size) for j < size, as pairs: 2 * size floats.
void fft_roots(int64_t size, float* roots);

// In place. The spectrum's order is its own, the same for every transform of this size: good for products of
// spectra, after which `inverse` returns to the order of time. The inverse is not divided by the size.
void fft_forward(const float* roots, int64_t size, float* data);
void fft_inverse(const float* roots, int64_t size, float* data);

// data *= factor, data *= conj(factor), or sum += data conj(factor), element by element.
void fft_multiply(const float* factor, int64_t size, float* data);
void fft_multiply_conjugate(const float* factor, int64_t size, float* data);
void fft_add_correlation(const float* data, const float* factor, int64_t size, float* sum);

// One group of channels of a sequence, of which positions may be padding.
struct FftRows {
  const float* data = nullptr;       // (length, lanes); null: all zero
  int64_t stride = 0;                // floats from one position to the next
  const uint8_t* padding = nullptr;  // (length), nonzero = treat as 0. May be null.
};

// Two real sequences as the real and the imaginary part of one complex one, zeros after their end: a
// convolution of it with a real kernel is that of both.
void fft_load(const FftRows& real, const FftRows& imaginary, int64_t length, int64_t lanes, int64_t size,
              float* data);

// The way back: real and imaginary parts of elements [0, length) times `scale`, to rows where there is no
// padding and zeros where there is. Either may be null.
struct FftTarget {
  float* data = nullptr;
  int64_t stride = 0;
  const uint8_t* padding = nullptr;
};
void fft_store(const float* data, float scale, int64_t length, int64_t lanes, const FftTarget& real,
               const FftTarget& imaginary);

}  // namespace mega::kernels
