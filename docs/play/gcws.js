// Generalized consistent weighted sampling as docs/hash-specification.md defines it: the codes are those of GCWSHasher.
"use strict";

const GCWS = (() => {
  const round = Math.fround; // one operation on float32 numbers, done in float64 and rounded, is rounded once
  const LN2 = round(0.6931471805599453);
  const LN1P = [
    -0.07634494453668594, 0.1276157647371292, -0.13160182535648346, 0.14201758801937103, -0.16623356938362122,
    0.20001226663589478, -0.2500081956386566, 0.3333333134651184,
  ].map(round);
  const GOLDEN = 0x9e3779b97f4a7c15n;
  const FEATURES = 1n, HASHES = 2n, SALTS = 3n; // the streams of keys

  const view = new DataView(new ArrayBuffer(8));
  const bits32 = x => (view.setFloat32(0, x), view.getInt32(0));
  const float32 = i => (view.setInt32(0, i), view.getFloat32(0));
  const bits64 = x => (view.setFloat64(0, x), view.getBigInt64(0));
  const float64 = i => (view.setBigInt64(0, i), view.getFloat64(0));
  const u64 = z => BigInt.asUintN(64, z);

  function mix64(z) {
    z = u64((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = u64((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    return z ^ (z >> 31n);
  }

  function key(seed, stream, number) {
    const start = mix64(u64(mix64(u64(BigInt(seed) + GOLDEN)) + stream * GOLDEN));
    const mixed = mix64(u64(start + BigInt(number + 1) * GOLDEN));
    return { low: Number(mixed & 0xffffffffn), high: Number(mixed >> 32n) };
  }

  function scramble(h, between = 0) {
    let x = h ^ (h >>> 16);
    x = Math.imul(x, 0x7feb352d);
    x = x ^ (x >>> 15) ^ between;
    x = Math.imul(x, 0x846ca68b);
    return (x ^ (x >>> 16)) >>> 0;
  }

  const word = (feature, hash) => scramble(feature.low ^ hash.low, feature.high ^ hash.high);
  const unit31 = h => round((h >>> 1) | 1) * 2 ** -31;
  const unit24 = h => ((h >>> 8) | 1) * 2 ** -24;

  function ln1p(f) {
    const q = LN1P.slice(1).reduce((sum, next) => round(round(sum * f) + next), LN1P[0]);
    const f2 = round(f * f);
    return round(f + round(round(round(q * f) * f2) - round(f2 * 0.5)));
  }

  function split(x) {
    const i = bits32(x);
    const e = (i - 0x3f3504f3) >> 23;
    return [e, float32(i - (e << 23))];
  }

  const logOf = (e, f) => round(round(e * LN2) + ln1p(f));

  function log(x) {
    const [e, m] = split(x);
    return logOf(e, round(m - 1));
  }

  function minusLog1m(w) {
    const [e, m] = split(Math.max(round(1 - w), 2 ** -25));
    return -logOf(e, e === 0 ? -w : round(m - 1));
  }

  function logOfData(x) {
    let i = bits64(Math.abs(x)), s = 0;
    if (i < 2n ** 52n) [i, s] = [bits64(Number(i)), 1074];
    const e = (i - 0x3fe6a09e60000000n) >> 52n;
    return logOf(Number(e) - s, round(float64(i - (e << 52n)) - 1));
  }

  // The parameters (r, ln c, beta) of a feature and a hash, from their keys.
  function parameters(feature, hash) {
    const [h0, h1, h2, h3] = hash.map(one => word(feature, one));
    const u2 = unit31((h0 << 16) | (h1 & 0xffff));
    const E1 = minusLog1m(unit31((h0 & 0xffff0000) | (h1 >>> 16)));
    const E2 = -log(unit24(h2));
    const logC = log(round(E1 + E2));
    return { r: Math.max(round(logC - log(round(E1 * u2))), 2 ** -20), logC, beta: unit24(h3) };
  }

  // All that a seed gives for D columns and k hashes: the parameters of feature i and hash j at [i][j], and the salts.
  function draw(seed, D, k) {
    const hashes = Array.from({ length: k }, (_, j) => [0, 1, 2, 3].map(w => key(seed, HASHES, 4 * j + w)));
    const features = Array.from({ length: 2 * D }, (_, i) => key(seed, FEATURES, i));
    return {
      parameters: features.map(feature => hashes.map(hash => parameters(feature, hash))),
      salts: hashes.map((_, j) => key(seed, SALTS, j)),
    };
  }

  // Algorithm 1: the sample (i*, t*) of a row under each hash. Feature 2i is the positive part of column i, 2i + 1 the
  // negative one. A row of zeros has i* = -1.
  function samples(row, p, drawn) {
    const features = row.flatMap((x, column) => (x === 0 ? [] : [2 * column + (x < 0)]));
    const logs = features.map(i => round(round(p) * logOfData(row[i >> 1])));
    return drawn.salts.map((_, j) => {
      let best = { i: -1, t: 0, a: Infinity };
      features.forEach((i, n) => {
        const { r, logC, beta } = drawn.parameters[i][j];
        const t = Math.floor(round(round(logs[n] * round(1 / r)) + beta)) + 0; // + 0: no minus zero
        const a = round(round(logC - round(r * round(1 - beta))) - round(r * t));
        if (a < best.a) best = { i, t, a };
      });
      return best;
    });
  }

  // The b-bit code of each sample, for encoding="mixed" and t_bits="all".
  function codes(found, bits, drawn) {
    return found.map(({ i, t }, j) => {
      const { low, high } = drawn.salts[j];
      const T = i < 0 ? 0x7fc00000 : bits32(t);
      return scramble(scramble(i ^ low) ^ T ^ high) >>> (32 - bits);
    });
  }

  // The GMM transformation: 2D numbers that are not negative.
  const transform = row => row.flatMap(x => [Math.max(x, 0), Math.max(-x, 0)]);

  // The pGMM kernel, with powers relative to the largest number so that none overflows.
  function kernel(x, y, p) {
    const u = transform(x), v = transform(y);
    const largest = Math.max(...u, ...v);
    if (largest === 0) return 1;
    let minima = 0, maxima = 0;
    u.forEach((one, i) => {
      minima += (Math.min(one, v[i]) / largest) ** p;
      maxima += (Math.max(one, v[i]) / largest) ** p;
    });
    return minima / maxima;
  }

  // Theorem 2 solved for J, from the share of hashes whose codes agree.
  const estimate = (share, bits) => (share - 2 ** -bits) / (1 - 2 ** -bits);

  // The standard deviation of that estimate.
  function deviation(J, bits, k) {
    const agree = J + (1 - J) * 2 ** -bits;
    return Math.sqrt(agree * (1 - J) / (k * (1 - 2 ** -bits)));
  }

  return { key, draw, samples, codes, transform, kernel, estimate, deviation, logOfData };
})();
