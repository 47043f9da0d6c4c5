
// The layout of the map: boxes in layers from left to right, and wires between them.
// Layers that do not fit side by side continue below, in a further band. A wire that skips
// a layer passes it in a gap of its own; a wire back to an earlier layer runs below its
// band.

const gaps = { least: 30, most: 96, across: 12, corridor: 7 };
const margins = { left: 21, right: 16 }; // of wires around bands: see path

// layOut places boxes { id, layer, width, height } and wires { from, to } within a width.
// before has the places of an earlier layout: its boxes keep their order. The answer has
// the place { x, y } of each box, the path of each wire, and the height of all.
function layOut(boxes, wires, width, before) {
  const layers = inLayers(boxes);
  const of = new Map(layers.flatMap((items, layer) => items.map(item => [item.id, Object.assign(item, { layer })])));
  const chains = wires.map(wire => chain(of.get(wire.from), of.get(wire.to), layers));
  layers.forEach(items => items.forEach(item => { item.y = before.get(item.id)?.middle; }));
  order(layers, before.size > 0);
  const bands = inBands(layers, width, chains.flat().some(([a, b]) => b.layer <= a.layer));
  let top = 0;
  for (const band of bands) {
    spread(band.layers);
    const highest = Math.min(...band.layers.flat().map(item => item.y - item.height / 2));
    const lowest = Math.max(...band.layers.flat().map(item => item.y + item.height / 2));
    band.layers.flat().forEach(item => { item.y += top - highest; });
    band.bottom = top + lowest - highest;
    band.corridors = 0;
    const below = chains.flat().filter(([a, b]) => a.band === band && roundabout(a, b)).length;
    top = band.bottom + gaps.across + (below > 0 ? 2 * gaps.across + gaps.corridor * (below - 1) : 0);
  }
  choosePorts(chains.flat());
  const places = new Map(boxes.map(({ id }) => {
    const item = of.get(id);
    return [id, { x: item.x, y: item.y - item.height / 2, middle: item.y }];
  }));
  return { places, paths: chains.map(path), height: top };
}

// inLayers groups copies of the boxes by layer, without empty layers.
function inLayers(boxes) {
  const numbers = [...new Set(boxes.map(box => box.layer))].sort((a, b) => a - b);
  return numbers.map(n => boxes.filter(box => box.layer === n).map(box => ({ ...box, before: [], after: [] })));
}

// chain returns the links of a wire, from item to item in neighboring layers. It adds an
// item to each layer that the wire skips.
function chain(from, to, layers) {
  const links = [];
  let last = from;
  for (let layer = from.layer + 1; layer < to.layer; layer++) {
    const passing = { id: `${from.id} ${to.id} ${layer}`, layer, width: 0, height: 8, passing: true, before: [], after: [] };
    layers[layer].push(passing);
    links.push([last, passing]);
    last = passing;
  }
  links.push([last, to]);
  if (to.layer > from.layer) links.forEach(([a, b]) => { a.after.push(b); b.before.push(a); });
  return links;
}

const average = (items, otherwise) => items.length > 0 ? items.reduce((sum, item) => sum + item.y, 0) / items.length : otherwise;

// order sorts the items of each layer such that few wires cross. Items that have a place
// keep their order.
function order(layers, placed) {
  if (placed) {
    for (const items of layers) for (const item of items) item.y ??= average([...item.before, ...item.after].filter(other => other.y !== undefined), Infinity);
    layers.forEach(items => items.sort((a, b) => a.y - b.y));
    return;
  }
  const number = items => items.forEach((item, i) => { item.y = i - (items.length - 1) / 2; });
  layers.forEach(number);
  for (let sweep = 0; sweep < 8; sweep++) {
    const forward = sweep % 2 === 0;
    for (const items of forward ? layers : layers.toReversed()) {
      const wanted = new Map(items.map(item => [item, average(forward ? item.before : item.after, item.y)]));
      items.sort((a, b) => wanted.get(a) - wanted.get(b));
      number(items);
    }
  }
}

const wide = items => Math.max(...items.map(item => item.width), 20);

// inBands divides the layers into bands that fit the width, and sets each item's x. Wires that
// run below a band pass at the sides of all: they have margins.
function inBands(layers, width, loops) {
  let bands = divide(layers, width), left = 0;
  if (bands.length > 1 || loops) {
    [left, width] = [margins.left, width - margins.left - margins.right];
    bands = divide(layers, width);
  }
  const gapOf = band => (width - band.layers.reduce((sum, items) => sum + wide(items), 0)) / Math.max(1, band.layers.length - 1);
  const gap = Math.max(gaps.least, Math.min(gaps.most, ...bands.map(gapOf)));
  for (const band of bands) {
    let x = left;
    for (const items of band.layers) {
      for (const item of items) Object.assign(item, { x: x + (wide(items) - item.width) / 2, left: x, right: x + wide(items), band });
      x += wide(items) + gap;
    }
  }
  return bands;
}

// divide returns bands that fit the width: of all divisions into the fewest bands the one that
// cuts the fewest wires, and of these the one with the most even bands.
function divide(layers, width) {
  const best = [{ cost: 0, from: 0 }]; // of the first n layers; the last band begins at layer from
  for (let n = 1; n <= layers.length; n++) {
    best[n] = { cost: Infinity };
    let used = -gaps.least;
    for (let from = n - 1; from >= 0; from--) {
      used += gaps.least + wide(layers[from]);
      if (used > width && from < n - 1) break;
      const cut = from === 0 ? 0 : layers[from].reduce((sum, item) => sum + item.before.length, 0);
      const cost = best[from].cost + 1000 + cut + (used / width) ** 2 / layers.length;
      if (cost < best[n].cost) best[n] = { cost, from };
    }
  }
  const bands = [];
  for (let n = layers.length; n > 0; n = best[n].from) bands.unshift({ layers: layers.slice(best[n].from, n) });
  return bands;
}

// spread sets the y of the items of a band: near their neighbors, and without overlaps.
function spread(layers) {
  const band = layers[0][0].band;
  for (const items of layers) items.forEach((item, i) => { item.y = (i - (items.length - 1) / 2) * 60; });
  for (let sweep = 0; sweep < 12; sweep++) {
    for (const items of sweep % 2 === 0 ? layers : layers.toReversed()) {
      const near = item => [...item.before, ...item.after].filter(other => other.band === band);
      apart(items, items.map(item => average(near(item), item.y)));
    }
  }
}

// apart moves the items of a layer as near to the wanted places as their heights and
// their order permit: isotonic regression, by pooling adjacent violators.
function apart(items, wanted) {
  const offsets = [], pools = [];
  items.forEach((item, i) => {
    offsets.push(i === 0 ? 0 : offsets[i - 1] + (items[i - 1].height + item.height) / 2 + gaps.across);
    let pool = { sum: wanted[i] - offsets[i], n: 1 };
    while (pools.length > 0 && pools.at(-1).sum / pools.at(-1).n >= pool.sum / pool.n) {
      const previous = pools.pop();
      pool = { sum: pool.sum + previous.sum, n: pool.n + previous.n };
    }
    pools.push(pool);
  });
  pools.flatMap(pool => Array(pool.n).fill(pool.sum / pool.n)).forEach((y, i) => { items[i].y = y + offsets[i]; });
}

// roundabout reports whether a link runs below the band of a.
const roundabout = (a, b) => a.band !== b.band || b.layer <= a.layer;

// choosePorts spreads the ends of links along the sides of their boxes.
function choosePorts(links) {
  for (const [end, other] of [[0, 1], [1, 0]]) {
    const sides = Map.groupBy(links, link => link[end]);
    for (const [item, ends] of sides) {
      ends.sort((a, b) => a[other].y - b[other].y);
      const step = Math.min(9, (item.height - 16) / ends.length);
      ends.forEach((link, i) => { link[end + 2] = item.y + (item.passing ? 0 : (i - (ends.length - 1) / 2) * step); });
    }
  }
}

// path returns the path { d } of a chain of links, and where it ends. Links have the y of
// their ends as third and fourth.
function path(links) {
  const d = [];
  let end, y;
  links.forEach(([a, b, from, to], i) => {
    const x = a.passing ? a.right : a.x + a.width;
    [end, y] = [b.passing ? b.left : b.x, to];
    d.push(i === 0 ? `M${round(x)} ${round(from)}` : `L${round(x)} ${round(from)}`);
    if (roundabout(a, b)) {
      const lane = a.band.corridors++, aside = 3 * (lane % 4);
      const below = a.band.bottom + 1.5 * gaps.across + gaps.corridor * lane;
      d.push(`H${round(x + 7 + aside)}V${round(below)}H${round(end - 12 - aside)}V${round(to)}H${round(end)}`);
    } else {
      d.push(`C${round((x + end) / 2)} ${round(from)} ${round((x + end) / 2)} ${round(to)} ${round(end)} ${round(to)}`);
    }
  });
  return { d: d.join(""), x: end, y };
}

const round = x => Math.round(x * 10) / 10;
