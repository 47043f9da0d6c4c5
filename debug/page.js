"use strict";

// The page fills itself from the event stream. Names are inserted as text, never as
// HTML; no code here builds HTML from strings.

const at = id => document.getElementById(id);
const query = new URLSearchParams(location.search);
query.delete("format");
const one = query.has("channel");
const remembered = 60; // updates, one per second
const histories = new Map(); // by ID: the latest updates of each channel on this page
let source, paused = false, again, last = 0;

const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en");
const rate = r => r === null ? "–" : short.format(r);

function seconds(s) {
  if (s === 0) return "0 s";
  for (const [unit, size] of [["h", 3600], ["min", 60], ["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (s >= size) return `${short.format(s / size)} ${unit}`;
  }
  return `${short.format(s * 1e9)} ns`;
}

// age formats the age of a value; 0 means that it is unknown or that there is no value.
const age = s => s > 0 ? seconds(s) : "–";

function bytes(n) {
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]]) {
    if (n >= size) return `${short.format(n / size)} ${unit}`;
  }
  return `${n} B`;
}

const fill = c => c.cap ? c.len / c.cap : c.len;
const fillWords = c => c.cap === null ? short.format(c.len) : c.cap === 0 ? "unbuffered" : `${short.format(c.len)} of ${short.format(c.cap)}`;

function remember(c) {
  let h = histories.get(c.id);
  if (!h) histories.set(c.id, h = { fill: [], sent: [], received: [] });
  for (const [key, value] of [["fill", fill(c)], ["sent", c.sentRate], ["received", c.receivedRate]]) {
    if (value !== null) h[key].push(value);
    if (h[key].length > remembered) h[key].shift();
  }
  return h;
}

// The event stream.

function connect() {
  disconnect();
  const q = new URLSearchParams(query);
  q.set("format", "events");
  source = new EventSource("?" + q);
  source.onmessage = event => show(JSON.parse(event.data));
  source.addEventListener("gone", () => { disconnect(); say("this channel was garbage-collected: the program no longer refers to it", true); });
  source.onerror = () => {
    say("no connection, retrying", true);
    if (source.readyState === EventSource.CLOSED) again = setTimeout(connect, 5000);
  };
}

function disconnect() {
  clearTimeout(again);
  if (source) source.close();
}

function say(text, bad) {
  at("status").textContent = text;
  at("status").classList.toggle("warn", Boolean(bad));
}

function show(report) {
  const now = Date.parse(report.time);
  // After a gap the lines would hide it, and a restarted program assigns the same IDs to
  // other channels. Browsers reconnect after 3 seconds or more.
  if (now - last > 2500) histories.clear();
  last = now;
  say(`${new Date(report.time).toLocaleTimeString()} · ${whole.format(report.named)} named channels`);
  if (one) showOne(report.channels[0]); else showList(report);
}

// The list.

const heads = ["name", "kind", "fill", "in", "out", "dropped", "senders waiting", "receivers waiting", "oldest value", "high-water mark", "lanes"];
const rows = new Map();

function newRow(id) {
  const row = document.createElement("tr");
  const cells = heads.map(head => {
    const cell = row.insertCell();
    cell.dataset.is = head;
    return cell;
  });
  const link = document.createElement("a");
  link.href = "?channel=" + id;
  link.dir = "auto";
  cells[0].append(link);
  const texts = cells.map((cell, i) => i === 0 ? link : cell.appendChild(document.createElement("span")));
  const lines = { fill: spark(""), sent: spark(""), received: spark("out") };
  cells[2].append(lines.fill);
  cells[3].append(lines.sent);
  cells[4].append(lines.received);
  const durations = [6, 7].map(i => cells[i].appendChild(document.createElement("small")));
  return { row, cells, texts, lines, durations };
}

function showList(report) {
  const body = at("rows"), seen = new Set();
  report.channels.forEach((c, i) => {
    seen.add(c.id);
    if (!rows.has(c.id)) rows.set(c.id, newRow(c.id));
    const r = rows.get(c.id), h = remember(c);
    const texts = [c.name, c.kind + (c.closed ? ", closed" : ""), fillWords(c), rate(c.sentRate), rate(c.receivedRate),
      short.format(c.dropped), short.format(c.senders.now), short.format(c.receivers.now), age(c.oldestValue), short.format(c.highWater), String(c.lanes)];
    texts.forEach((text, k) => { if (r.texts[k].textContent !== text) r.texts[k].textContent = text; });
    [c.senders, c.receivers].forEach((side, k) => { r.durations[k].textContent = howLong(side); });
    r.row.classList.toggle("closed", c.closed);
    r.cells[2].classList.toggle("hot", c.cap > 0 && c.len >= c.cap);
    r.cells[5].classList.toggle("hot", c.droppedRate > 0);
    r.cells[6].classList.toggle("hot", c.senders.now > 0);
    r.cells[6].title = r.cells[7].title = "the longest current wait, or if there is none, the mean wait in the last second";
    draw(r.lines.fill, h.fill, c.cap ? 1 : 0);
    draw(r.lines.sent, h.sent, 0);
    draw(r.lines.received, h.received, 0);
    if (body.children[i] !== r.row) body.insertBefore(r.row, body.children[i] || null);
  });
  for (const [id, r] of rows) {
    if (seen.has(id)) continue;
    r.row.remove();
    rows.delete(id);
    histories.delete(id);
  }
  at("none").hidden = report.channels.length > 0;
  at("none").textContent = report.named ? "No channel matches." : "No channel has a name: set Name in its options.";
  at("where").textContent = `page ${whole.format(report.page)} of ${whole.format(report.pages)}, ${whole.format(report.matching)} channels`;
  at("previous").disabled = report.page <= 1;
  at("next").disabled = report.page >= report.pages;
  at("previous").onclick = () => ask("page", report.page - 1);
  at("next").onclick = () => ask("page", report.page + 1);
  const q = new URLSearchParams(query);
  q.set("format", "json");
  at("json").href = "?" + q;
}

function howLong(side) {
  if (side.now > 0) return `oldest ${seconds(side.since)}`;
  if (side.mean > 0) return `mean ${seconds(side.mean)}`;
  return "";
}

// ask changes the query. A change of any other parameter returns to the first page.
function ask(name, value) {
  if (name !== "page") query.delete("page");
  if (value === "") query.delete(name); else query.set(name, value);
  history.replaceState(null, "", "?" + query);
  if (!paused) connect();
}

// One channel.

function showOne(c) {
  document.title = "sluice: " + c.name;
  at("name").textContent = c.name;
  at("what").textContent = `${c.kind}, ID ${c.id}${c.closed ? ", closed" : ""}`;
  const h = remember(c);
  const words = inWords(c);
  at("inside").replaceChildren(drawing(c, words));
  at("words").textContent = words;
  const lines = [["fill", h.fill, c.cap ? 1 : 0, fillWords(c), ""], ["in", h.sent, 0, rate(c.sentRate) + "/s", ""], ["out", h.received, 0, rate(c.receivedRate) + "/s", "out"]];
  at("lines").replaceChildren(...lines.map(([what, values, top, now, kind]) => {
    const line = document.createElement("div"), svg = spark(kind);
    draw(svg, values, top);
    line.append(what, svg, now);
    return line;
  }));
  const side = s => `${whole.format(s.now)} now${s.now > 0 ? `, the longest for ${seconds(s.since)}` : ""}; ${short.format(s.waits)} waits, ${seconds(s.total)} in total${s.mean > 0 ? `, ${seconds(s.mean)} each in the last second` : ""}`;
  figures([
    ["Queued", `${whole.format(c.len)}, high-water mark ${whole.format(c.highWater)}${c.kind === "Sharded" ? " in one lane" : ""}`],
    ["Oldest value", age(c.oldestValue)],
    ["Capacity", c.cap === null ? "unlimited" : whole.format(c.cap)],
    ["Sent", whole.format(c.sent)], ["Received", whole.format(c.received)],
    ["Dropped", `${whole.format(c.dropped)}${c.droppedRate > 0 ? `, ${rate(c.droppedRate)}/s` : ""}`],
    ["Senders waiting", side(c.senders)], ["Receivers waiting", side(c.receivers)],
    ["Memory", bytes(c.bytes)], ["Lanes", String(c.lanes)],
    ...(c.kind === "Sharded" ? [["Last lane change", c.laneChange || "none"]] : []),
    ...(c.bytesOnDisk > 0 ? [["On disk", bytes(c.bytesOnDisk)]] : []),
    ...(c.warning ? [["Warning", c.warning]] : []),
    ...(c.snapshot && c.snapshot.ready ? [["Ready", "in use: waiters in a native select are not counted"]] : []),
  ]);
  showQueue("senders", "Send queue", c.senders.now, c.snapshot ? c.snapshot.senders : []);
  showQueue("receivers", "Receive queue", c.receivers.now, c.snapshot ? c.snapshot.receivers : []);
  showLanes(c);
}

// showQueue lists how long each waiter has waited, the head of the queue first.
function showQueue(where, title, now, ages) {
  const items = ages.map(age => make("li", seconds(age)));
  const more = now > ages.length ? [make("p", `and ${whole.format(now - ages.length)} more`, "soft")] : [];
  at(where).replaceChildren(make("h3", title), ...(now > 0 ? [make("ol", "", "", items), ...more] : [make("p", "no waiters", "soft")]));
}

// showLanes lists the values in each lane and the senders that wait for room in it.
function showLanes(c) {
  const lanes = c.snapshot ? c.snapshot.lanes : [];
  at("lanes").hidden = lanes.length === 0;
  const items = lanes.map(l => {
    const words = [l.cap === null ? `${whole.format(l.len)} queued` : `${whole.format(l.len)} of ${short.format(l.cap)}`, `high-water mark ${whole.format(l.highWater)}`];
    if (l.private) words.push("private");
    if (!l.inUse) words.push("unused");
    if (l.senders > 0) words.push(`${whole.format(l.senders)} waiting, the longest for ${seconds(l.oldestSender)}`);
    return make("li", words.join(", "));
  });
  const more = lanes.length >= 64 ? [make("p", "the list ends at 64 lanes", "soft")] : [];
  at("lanes").replaceChildren(make("h3", "Lanes"), make("ol", "", "", items), ...more);
}

function make(name, text, kind = "", children = []) {
  const e = document.createElement(name);
  e.textContent = text;
  if (kind) e.className = kind;
  e.append(...children);
  return e;
}

// theOneRing returns the ring of a Bounded that has exactly one, or null.
const theOneRing = c => c.kind === "Bounded" && c.snapshot && c.snapshot.rings.length === 1 ? c.snapshot.rings[0] : null;

function figures(pairs) {
  at("figures").replaceChildren(...pairs.flatMap(([name, value]) => {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = name;
    dd.textContent = value;
    return [dt, dd];
  }));
}

function inWords(c) {
  const place = c.kind === "Rendezvous" ? "unbuffered"
    : theOneRing(c) ? `${whole.format(c.len)} of ${whole.format(c.cap)} values, in a ring of ${whole.format(theOneRing(c).slots)} slots, send index ${whole.format(theOneRing(c).send)}, receive index ${whole.format(theOneRing(c).receive)}`
    : c.kind === "Sharded" ? `${whole.format(c.lanes)} ${c.lanes === 1 ? "lane" : "lanes"}, ${whole.format(c.len)} values in total`
    : `${whole.format(c.len)} values${c.snapshot && c.snapshot.rings.length > 0 ? ` in ${inRings(c.snapshot.rings)}` : ""}, ${c.cap === null ? "no limit" : "limit " + whole.format(c.cap)}`;
  return `${place}; ${whole.format(c.senders.now)} waiting to send, ${whole.format(c.receivers.now)} to receive`;
}

// inRings describes the rings and their slots. A snapshot has at most 64 rings.
function inRings(rings) {
  const slots = rings.reduce((sum, r) => sum + r.slots, 0);
  return `${rings.length === 1 ? "a ring" : `${rings.length === 64 ? "64 or more" : rings.length} rings`} of ${whole.format(slots)} slots`;
}

// Drawing.

function el(name, attributes, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  e.append(...children);
  return e;
}

function spark(kind) {
  return el("svg", { class: "spark " + kind, viewBox: "0 0 60 20", preserveAspectRatio: "none", "aria-hidden": "true" }, el("path", { d: "" }));
}

// draw draws values, the last one at the right end, up to top or their largest.
function draw(svg, values, top) {
  const most = top || Math.max(...values, 1e-9);
  const points = values.map((v, i) => `${(60 - values.length + i + 1).toFixed(0)} ${(19 - 18 * Math.min(1, v / most)).toFixed(1)}`);
  svg.firstChild.setAttribute("d", points.length > 1 ? "M" + points.join("L") : "");
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
  else if (c.kind === "Sharded") svg.append(...theLanes(c));
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

// theLanes fills each lane relative to its limit, or relative to the high-water mark if
// there is no limit or the limit is far above it.
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

// Controls.

at(one ? "one" : "list").hidden = false;
if (one) at("onejson").href = `?channel=${query.get("channel")}&format=json`;
for (const name of ["filter", "kind", "sort", "order"]) {
  const control = at(name);
  if (query.has(name)) control.value = query.get(name);
  let typing;
  control.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => ask(name, control.value), name === "filter" ? 250 : 0);
  });
}
at("pause").addEventListener("click", () => {
  paused = !paused;
  at("pause").textContent = paused ? "Resume" : "Pause";
  at("pause").setAttribute("aria-pressed", String(paused));
  if (paused) { disconnect(); say("paused"); } else connect();
});
// A hidden page closes its stream.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect(); else if (!paused) connect();
});
if (!document.hidden) connect();
