// The page to play with: reads the sliders, and draws the kernel, its estimates and the samples of two rows.
"use strict";

(() => {
  const COLUMNS = 5;
  const get = id => document.getElementById(id);
  const create = (tag, attributes = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.append(...children);
    return element;
  };
  const nameOf = i => (i < 0 ? "none" : `x${(i >> 1) + 1}${i % 2 ? "−" : "+"}`);
  const sampleOf = ({ i, t }) => (i < 0 ? "none" : `${nameOf(i)}, ${t}`);
  const decimals = x => x.toFixed(3).replace("-", "−");

  function addSliders(row) {
    for (let column = 1; column <= COLUMNS; column++) {
      const id = `${row}${column}`;
      const slider = create("input", { id, type: "range", min: -10, max: 10, step: 0.5 });
      get(`row-${row}`).append(create("label", { htmlFor: id }, `x${column}`, slider, create("output", { id: `${id}-value` })));
    }
  }

  function setRow(row, numbers) {
    numbers.split(" ").forEach((x, column) => (get(`${row}${column + 1}`).value = x));
  }

  function readRow(row) {
    return Array.from({ length: COLUMNS }, (_, column) => {
      const x = Number(get(`${row}${column + 1}`).value);
      get(`${row}${column + 1}-value`).value = String(x).replace("-", "−");
      return x;
    });
  }

  let drawn = {};
  function drawFor(seed, k) {
    const settings = `${seed} ${k}`;
    if (drawn.settings !== settings) drawn = { settings, ...GCWS.draw(seed, COLUMNS, k) };
    return drawn;
  }

  function showFeatures(a, b, p) {
    const u = GCWS.transform(a), v = GCWS.transform(b);
    const largest = Math.max(...u, ...v) || 1;
    get("features").replaceChildren(...u.map((one, i) => {
      const bar = (size, kind) => {
        const element = create("i", { className: kind });
        element.style.height = `${100 * (size / largest) ** p}%`;
        return element;
      };
      const title = `${nameOf(i)}: ${one} in row A, ${v[i]} in row B`;
      const bars = create("span", { title }, bar(Math.max(one, v[i]), "larger"), bar(Math.min(one, v[i]), "shared"));
      return create("div", {}, bars, nameOf(i));
    }));
  }

  function showHashes(samples, codes) {
    const counts = { same: 0, chance: 0, neither: 0 };
    get("hashes").replaceChildren(...samples[0].map((first, j) => {
      const second = samples[1][j];
      const same = first.i === second.i && first.t === second.t;
      const kind = same ? "same" : codes[0][j] === codes[1][j] ? "chance" : "neither";
      counts[kind] += 1;
      const title = `hash ${j}: codes ${codes[0][j]} and ${codes[1][j]}`;
      return create("li", { className: `hash ${kind}`, title }, create("span", {}, `A ${sampleOf(first)}`),
        create("span", {}, `B ${sampleOf(second)}`));
    }));
    for (const kind in counts) get(`n-${kind}`).textContent = counts[kind];
    return counts;
  }

  function update() {
    const a = readRow("a"), b = readRow("b");
    const p = Number((10 ** get("p").value).toPrecision(2)), k = 2 ** get("k").value, bits = Number(get("b").value);
    const seed = Math.min(Math.max(Math.floor(get("seed").value) || 0, 0), 2 ** 32 - 1);
    Object.entries({ p, k, b: bits }).forEach(([name, value]) => (get(`${name}-value`).value = value));

    const from = drawFor(seed, k);
    const samples = [a, b].map(row => GCWS.samples(row, p, from));
    const codes = samples.map(found => GCWS.codes(found, bits, from));
    const counts = showHashes(samples, codes);
    showFeatures(a, b, p);

    const J = GCWS.kernel(a, b, p);
    get("kernel").textContent = decimals(J);
    get("from-samples").textContent = decimals(counts.same / k);
    get("from-codes").textContent = decimals(GCWS.estimate((counts.same + counts.chance) / k, bits));
    get("deviation").textContent = `± ${decimals(GCWS.deviation(J, bits, k))}`;
  }

  ["a", "b"].forEach(addSliders);
  const presets = [...document.querySelectorAll("#play [data-a]")];
  const choose = ({ dataset }) => ["a", "b"].forEach(row => setRow(row, dataset[row]));
  presets.forEach(button => button.addEventListener("click", () => (choose(button), update())));
  get("next").addEventListener("click", () => (get("seed").stepUp(), update()));
  get("play").addEventListener("submit", event => event.preventDefault());
  get("play").addEventListener("input", update);
  choose(presets[0]);
  update();
})();
