// A net that only predicts, or several of them whose outputs are averaged: of the table it holds the rows that were
// learned, in four bits a weight or as floats. The other rows are zero.
#pragma once

#include "net/net.hpp"

namespace gcwsnet {

// How many adjacent rows of four bits a weight have one scale: together they have at least sixteen weights.
int scale_shift_of(std::size_t width);

// The arrays of one net, as a model file has them. Either floats is null, or nibbles and scales are.
struct PackedArrays {
  const std::uint8_t* rows;  // a bit for each row of the table, the lowest bit of a byte first: whether it is held
  const std::uint8_t* nibbles;
  const std::uint16_t* scales;  // the upper halves of floats
  const float* floats;
  std::vector<const float*> others;  // the biases of the table, then weights and biases of each layer
};

class PackedNet {
 public:
  // The settings are those of each net but for the seed.
  PackedNet(const NetSettings& settings, const std::vector<std::uint64_t>& seeds);
  PackedNet(PackedNet&&) = default;

  const NetSettings& settings() const { return settings_; }
  std::size_t n_members() const { return members_.size(); }
  std::size_t n_outputs() const { return layers_.back().n_out; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  std::size_t n_held(const std::uint8_t* rows) const;
  // Copies the arrays of a net; their sizes have been checked.
  void set(std::size_t member, const PackedArrays& arrays);
  // [n][n_outputs]. Rows of codes have those of all nets.
  void outputs(const CodeRows& codes, float* out, int n_threads, StopToken& stop_token) const;

 private:
  struct Member {
    CodeToRow rows;
    std::vector<Lookup> held;      // of each row of the table the place among those held, as a lookup
    Aligned<std::uint8_t> packed;  // rows, each behind its scale
    Aligned<float> floats;         // or rows in float32
    std::size_t ahead;
    std::vector<Aligned<float>> others;
    std::vector<const float*> parameters;
  };
  void add_table(const Member& member, const CodeRows& codes, std::size_t row, Lookup* work, float* sum) const;

  NetSettings settings_;
  std::vector<Layer> layers_;
  std::vector<Parameter> parameters_;
  std::vector<Member> members_;
};

}  // namespace gcwsnet
