#include "net/packed_net.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "dispatch.hpp"

namespace gcwsnet {

namespace {

constexpr std::size_t kPack = 16;     // weights, see packed_rows.simd.hpp
constexpr std::size_t kSamples = 32;  // which are predicted together
constexpr std::size_t kNearBytes = std::size_t{1} << 19;
constexpr Lookup kNotHeld = ~Lookup{0};

std::size_t n_packs(std::size_t width) { return (width + kPack - 1) / kPack; }

bool bit(const std::uint8_t* bits, std::size_t number) { return bits[number / 8] >> number % 8 & 1; }

}  // namespace

int scale_shift_of(std::size_t width) { return static_cast<int>(std::bit_width((kPack + width - 1) / width - 1)); }

PackedNet::PackedNet(const NetSettings& settings, const std::vector<std::uint64_t>& seeds)
    : settings_(settings), layers_(layers_of(settings)), parameters_(parameters_of(layers_)) {
  for (const std::uint64_t seed : seeds) {
    const CodeToRow rows(settings.n_hashes, settings.bits, layers_[0].n_in, settings.reduction != 1, seed);
    members_.push_back({rows, {}, nullptr, nullptr, 0, {}, {}});
  }
}

std::size_t PackedNet::n_held(const std::uint8_t* rows) const {
  std::size_t n = 0;
  for (std::size_t byte = 0; byte < (layers_[0].n_in + 7) / 8; ++byte) n += std::popcount(rows[byte]);
  return n;
}

void PackedNet::set(std::size_t number, const PackedArrays& arrays) {
  Member& member = members_[number];
  const std::size_t n_rows = layers_[0].n_in, width = layers_[0].n_out, stride = parameters_[0].stride;
  std::size_t n = 0;
  member.held.resize(n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) {
    member.held[row] = bit(arrays.rows, row) ? static_cast<Lookup>(n++ << 1) : kNotHeld;
  }
  if (arrays.floats != nullptr) {
    member.floats = aligned<float>(n * stride);
    std::fill_n(member.floats.get(), n * stride, 0.0f);
    for (std::size_t row = 0; row < n; ++row) {
      std::copy_n(arrays.floats + row * width, width, member.floats.get() + row * stride);
    }
  } else {
    const std::size_t row_bytes = kScaleBytes + n_packs(width) * kPackBytes;
    const int shift = scale_shift_of(width);
    member.packed = aligned<std::uint8_t>(n * row_bytes);
    member.ahead = n * row_bytes <= kNearBytes ? 0 : 12;
    std::fill_n(member.packed.get(), n * row_bytes, std::uint8_t{0});
    for (std::size_t row = 0; row < n; ++row) {
      std::uint8_t* to = member.packed.get() + row * row_bytes;
      const std::uint32_t scale = std::uint32_t{arrays.scales[row >> shift]} << 16;
      std::memcpy(to, &scale, kScaleBytes);
      for (std::size_t x = 0; x < width; ++x) {
        const std::size_t at = row * width + x, lane = x % kPack, place = 8 * (lane % 2) + lane / 2;
        const int nibble = arrays.nibbles[at / 2] >> 4 * (at % 2) & 15;
        to[kScaleBytes + x / kPack * kPackBytes + place / 2] |= static_cast<std::uint8_t>(nibble << 4 * (place % 2));
      }
    }
  }
  member.parameters = {nullptr};
  for (std::size_t p = 1; p < parameters_.size(); ++p) {
    const Parameter& parameter = parameters_[p];
    member.others.push_back(aligned<float>(parameter.size()));
    float* to = member.others.back().get();
    std::fill_n(to, parameter.size(), 0.0f);
    for (std::size_t row = 0; row < parameter.n_rows; ++row) {
      std::copy_n(arrays.others[p - 1] + row * parameter.n_columns, parameter.n_columns, to + row * parameter.stride);
    }
    member.parameters.push_back(to);
  }
}

// sum += the rows of the table that a row of codes looks up. `work` is room for n_hashes lookups.
void PackedNet::add_table(const Member& member, const CodeRows& codes, std::size_t row, Lookup* work,
                          float* sum) const {
  constexpr std::size_t kAhead = 8;
  const NetFunctions& functions = chosen_instruction_set().net;
  codes.lookups(member.rows, row, work);
  std::size_t n = 0;
  for (std::size_t j = 0; j < settings_.n_hashes; ++j) {
    const Lookup lookup = work[j], held = member.held[lookup >> 1];
    work[n] = held | (lookup & 1);
    n += held != kNotHeld;
  }
  if (member.floats != nullptr) {
    const std::size_t width = parameters_[0].stride;
    functions.add_rows(member.floats.get(), width, {work, n, member.rows.has_signs()}, kAhead, n, sum);
  } else {
    const std::size_t width = layers_[0].n_out;
    functions.add_packed_rows({member.packed.get(), n_packs(width), member.ahead}, work, n, sum);
  }
}

void PackedNet::outputs(const CodeRows& codes, float* out, int n_threads, StopToken& stop_token) const {
  const std::size_t k = settings_.n_hashes, n_out = n_outputs(), n_members = members_.size();
  const std::size_t width = n_packs(layers_[0].n_out) * kPack;  // of the sums of rows of four bits
  n_threads = useful_threads(n_threads, codes.n * n_members * k * width / kMinNumbersPerThread);
  const std::size_t share = codes.n / (2 * static_cast<std::size_t>(n_threads));
  const std::size_t step = std::clamp<std::size_t>(n_threads == 1 ? codes.n : share, 1, kSamples);
  for_each_block(blocks_of(codes.n, step), n_threads, stop_token, [&] {
    return [&, work = aligned<Lookup>(k), outputs = LayerOutputs(layers_, step), sum = aligned<float>(width),
            totals = std::vector<double>(step * n_out)](std::size_t block) mutable {
      const std::size_t first = block * step, n = std::min(step, codes.n - first);
      std::fill(totals.begin(), totals.end(), 0.0);
      for (std::size_t m = 0; m < n_members; ++m) {
        const Member& member = members_[m];
        CodeRows own = codes;
        own.codes = static_cast<const std::uint8_t*>(codes.codes) + m * k * codes.bytes_per_code;
        for (std::size_t i = 0; i < n; ++i) {
          std::fill_n(sum.get(), width, 0.0f);
          std::copy_n(member.parameters[1], layers_[0].n_out, sum.get());
          add_table(member, own, first + i, work.get(), sum.get());
          std::copy_n(sum.get(), layers_[0].n_out, outputs.row(0, i));
        }
        forward_dense(layers_, member.parameters, 0, n, outputs);
        for (std::size_t i = 0; i < n; ++i) {
          const float* found = outputs.last_row(i);
          float* to = out + (first + i) * n_out;
          for (std::size_t q = 0; q < n_out; ++q) {
            if (n_members == 1) {
              to[q] = found[q];
              continue;
            }
            totals[i * n_out + q] += found[q];
            to[q] = static_cast<float>(totals[i * n_out + q] / static_cast<double>(n_members));
          }
        }
      }
    };
  });
}

}  // namespace gcwsnet
