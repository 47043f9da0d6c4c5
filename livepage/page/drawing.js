// Drawing.

function spark(kind) {
  return el("svg", { class: "spark " + kind, viewBox: "0 0 60 20", preserveAspectRatio: "none", "aria-hidden": "true" }, el("path", { d: "" }));
}

// draw draws values, the last one at the right end, up to top or their largest. Fewer than
// three would look like a stray dot: until then, there is only the baseline.
function draw(svg, values, top) {
  const most = top || Math.max(...values, 1e-9);
  const points = values.map((v, i) => `${(60 - values.length + i + 1).toFixed(0)} ${(19 - 18 * Math.min(1, v / most)).toFixed(1)}`);
  svg.firstChild.setAttribute("d", points.length > 2 ? "M" + points.join("L") : "");
}

const ring = { x: 180, y: 112, outer: 68, inner: 43 };

function onRing(turns, radius) {
  return `${(ring.x + radius * Math.sin(2 * Math.PI * turns)).toFixed(1)} ${(ring.y - radius * Math.cos(2 * Math.PI * turns)).toFixed(1)}`;
}

// sector draws a sector of the ring. A full turn is drawn as two halves, because SVG
// does not draw an arc that ends where it begins.
function sector(from, to, kind) {
  if (to - from <= 0) return [];
  if (to - from > 0.999) return [...sector(from, from + 0.5, kind), ...sector(from + 0.5, from + 0.999, kind)];
  const large = to - from > 0.5 ? 1 : 0;
  return [el("path", { class: kind, d: `M${onRing(from, ring.outer)}A${ring.outer} ${ring.outer} 0 ${large} 1 ${onRing(to, ring.outer)}L${onRing(to, ring.inner)}A${ring.inner} ${ring.inner} 0 ${large} 0 ${onRing(from, ring.inner)}z` })];
}

const label = (x, y, text, kind = "", anchor = "middle") => el("text", { x, y, class: kind, "text-anchor": anchor }, text);

// drawing draws a channel: its values, and the waiters on both sides.
function drawing(c, words) {
  const svg = el("svg", { class: "inside", viewBox: "0 0 360 236", role: "img", "aria-label": words });
  if (theOneRing(c)) svg.append(...theRing(c, theOneRing(c)));
  else if (c.kind === "Sharded" || c.kind === "Priority") svg.append(...theLanes(c));
  else if (c.kind === "Elastic") svg.append(...theTank(c));
  else svg.append(el("circle", { cx: ring.x, cy: ring.y, r: 30, class: "slot" }), label(ring.x, ring.y + 4, "hand-off"));
  svg.append(...drawQueue(c.senders, c.snapshot ? c.snapshot.senders : [], 36, "senders"));
  svg.append(...drawQueue(c.receivers, c.snapshot ? c.snapshot.receivers : [], 324, "receivers"));
  return svg;
}

function theRing(c, r) {
  const parts = [], turn = i => i / r.slots;
  if (r.slots <= 64) {
    for (let i = 0; i < r.slots; i++) {
      const behind = (i - r.receive + r.slots) % r.slots;
      parts.push(...sector(turn(i), turn(i + 1), behind < r.len ? "slot filled" : "slot"));
    }
  } else {
    const from = turn(r.receive), to = from + turn(r.len);
    parts.push(...sector(to, from + 1, "slot"), ...sector(from, to, "slot filled"));
  }
  // One arrow points inward, the other outward, so both stay visible at the same slot.
  const arrow = (index, from, to, kind) => {
    const middle = turn(index + 0.5), half = 5 / from / (2 * Math.PI);
    parts.push(el("path", { class: kind, d: `M${onRing(middle, to)}L${onRing(middle - half, from)}L${onRing(middle + half, from)}z` }));
  };
  arrow(r.send, ring.outer + 15, ring.outer + 2, "send");
  arrow(r.receive, ring.inner - 15, ring.inner - 2, "receive");
  parts.push(label(ring.x, ring.y - 1, short.format(c.len)), label(ring.x, ring.y + 13, "of " + short.format(c.cap), "dim"));
  parts.push(el("path", { class: "send", d: "M56 226l10 0l-5 -9z" }), label(72, 226, `send index ${r.send}`, "", "start"));
  parts.push(el("path", { class: "receive", d: "M196 226l10 0l-5 -9z" }), label(212, 226, `receive index ${r.receive}`, "", "start"));
  return parts;
}

// theTank is full at the limit. If the limit is far above the high-water mark, the tank
// would always look empty: then it is full at the high-water mark.
function theTank(c) {
  const far = c.cap === null || c.cap > 16 * Math.max(1, c.highWater);
  const most = far ? Math.max(1, c.highWater) : c.cap, height = 150, top = 30;
  const level = v => top + height * (1 - Math.min(1, v / most));
  return [
    el("rect", { x: 130, y: top, width: 100, height, class: "slot" }),
    el("rect", { x: 130, y: level(c.len), width: 100, height: top + height - level(c.len), class: "slot filled" }),
    el("line", { x1: 122, x2: 238, y1: level(c.highWater), y2: level(c.highWater), class: "mark" }),
    label(180, 200, `${short.format(c.len)} queued, high-water mark ${short.format(c.highWater)}`),
    label(180, 216, far ? (c.cap === null ? "no limit" : `limit ${short.format(c.cap)}, far above`) : `limit ${short.format(c.cap)}`, "dim"),
  ];
}

// theLanes fills each lane, or each level of a Priority, relative to its limit, or relative to
// the high-water mark if there is no limit or the limit is far above it.
function theLanes(c) {
  const lanes = c.snapshot ? c.snapshot.lanes : [], all = Math.max(lanes.length, c.lanes);
  const drawn = lanes.slice(0, 12), parts = [], gap = 150 / Math.max(1, drawn.length), height = Math.min(16, gap - 3);
  drawn.forEach((l, i) => {
    const most = l.cap === null || l.cap > 16 * Math.max(1, c.highWater) ? Math.max(1, c.highWater) : l.cap;
    const y = 30 + gap * i + (gap - height) / 2, x = 110;
    parts.push(el("rect", { x, y, width: 140, height, rx: 3, class: l.inUse ? "slot" : "slot idle" }));
    if (l.len > 0) parts.push(el("rect", { x, y, width: 140 * Math.min(1, l.len / most), height, rx: 3, class: "slot filled" }));
    for (let k = 0; k < Math.min(l.senders, 3); k++) parts.push(el("circle", { cx: x - 10 - 9 * k, cy: y + height / 2, r: 3.5, class: "waiter" }));
  });
  if (c.kind === "Priority") {
    parts.push(label(180, 200, `${plural(all, "level")}, the most urgent on top${all > drawn.length ? `, ${drawn.length} drawn` : ""}`));
    parts.push(label(180, 216, `${short.format(c.len)} queued in total, ${c.cap === null ? "no limit" : `limit ${short.format(c.cap)}`}`, "dim"));
    return parts;
  }
  parts.push(label(180, 200, `${whole.format(c.lanes)} ${c.lanes === 1 ? "lane" : "lanes"} in use${all > drawn.length ? `, ${drawn.length} drawn` : ""}`));
  parts.push(label(180, 216, `${short.format(c.len)} queued in total, high-water mark ${short.format(c.highWater)} in one lane`, "dim"));
  return parts;
}

// drawQueue draws the first waiters of a queue, each with the duration of its wait.
function drawQueue(side, ages, x, what) {
  const parts = [label(x, 30, "waiting", "dim"), label(x, 44, what, "dim")];
  if (side.now === 0) parts.push(label(x, 74, "none", "dim"));
  const drawn = Math.min(side.now, 4);
  for (let i = 0; i < drawn; i++) {
    parts.push(el("circle", { cx: x, cy: 62 + 33 * i, r: 8, class: "waiter" }));
    if (i < ages.length) parts.push(label(x, 83 + 33 * i, seconds(ages[i]), "dim"));
  }
  if (side.now > drawn) parts.push(label(x, 204, "+ " + short.format(side.now - drawn), "dim"));
  return parts;
}

