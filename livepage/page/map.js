
// The map: stages and the channels between them, with the sentence that names what holds
// the program back.

// A map of more than few channels has small boxes. A map draws at most drawable channels.
const few = 12, drawable = 80, bundled = 4;
const sizes = { large: { stage: [172, 62], channel: [208, 114] }, small: { stage: [150, 42], channel: [164, 42] }, roles: { stage: [190, 98], channel: [190, 114] } };
const stacked = matchMedia("(max-width: 56rem)"); // as in the style: top to bottom, without wires
const nodes = new Map(); // elements by box
let map = { key: "", places: new Map(), size: "large", flow: null, chosen: null };

// showMap shows the flow of an event, or a saved one, without links to channels.
function showMap(flow, links = true) {
  if (!flow) return;
  Object.assign(map, { flow, links, roles: flow.stages.some(s => s.goroutines > 0) });
  const drawn = choose(flow);
  at("map").hidden = false;
  at("flow").hidden = drawn.channels.length === 0;
  if (at("sentence").textContent !== flow.summary) at("sentence").textContent = flow.summary;
  at("sentence").classList.toggle("held", flow.bottleneck !== null);
  const placed = drawn.placed + flow.omitted, missing = placed - drawn.channels.length;
  const notes = missing > 0 ? [`${drawn.channels.length} of ${whole.format(placed)} channels are drawn; the list below has all.`] : [];
  if (flow.unseen) notes.push(flow.unseen);
  at("unplaced").textContent = notes.join(" ");
  at("unplaced").hidden = notes.length === 0;
  arrange(drawn);
  for (const s of drawn.stages) showStage(s, drawn);
  for (const c of drawn.channels) showChannel(c, drawn);
  showWires(drawn);
  showChosen();
}

// choose returns the part of the flow that is drawn, in the order of the flow: stages,
// channels with an edge, and edges.
function choose(flow) {
  const placed = new Set(flow.edges.map(e => e.channel));
  let channels = flow.channels.filter(c => placed.has(c.id));
  if (channels.length > drawable) {
    const receives = new Set(flow.edges.filter(e => e.side === "receive").map(e => e.channel));
    const connects = new Set(flow.edges.filter(e => e.side === "send" && receives.has(e.channel)).map(e => e.channel));
    const rank = c => (flow.bottleneck?.channel === c.id ? 8 : 0) + (nodes.has("channel " + c.id) ? 4 : 0) + (c.senders > 0 ? 2 : 0) + (connects.has(c.id) ? 1.5 : 0) + (c.fill || 0);
    channels = channels.toSorted((a, b) => rank(b) - rank(a) || a.id - b.id).slice(0, drawable);
  }
  const ids = new Set(channels.map(c => c.id));
  const edges = flow.edges.filter(e => ids.has(e.channel));
  const named = new Set(edges.map(e => e.stage));
  const stages = flow.stages.filter(s => named.has(s.id));
  const ends = new Map(channels.map(c => [c.id, { send: [], receive: [] }]));
  for (const e of edges) ends.get(e.channel)[e.side].push(e.stage);
  channels.sort((a, b) => a.column - b.column || a.id - b.id);
  return { placed: placed.size, stages, channels, edges, ends, bottleneck: flow.bottleneck, names: new Map(stages.map(s => [s.id, s.name])) };
}

// bundle groups channels with the same senders and receivers into blocks, each with one
// pair of wires. Other channels have a block each.
function bundle(drawn) {
  const same = Map.groupBy(drawn.channels, c => `${c.column} ${JSON.stringify(drawn.ends.get(c.id))}`);
  return [...same.values()].flatMap(channels => channels.length >= bundled ? [channels] : channels.map(c => [c]));
}

// arrange places the boxes. It does so again only if a box, an edge or the width differ, so
// that each box keeps its place between updates.
function arrange(drawn) {
  const width = at("flow").clientWidth;
  const shape = [stacked.matches, width, drawn.stages.map(s => [s.id, s.column]), drawn.channels.map(c => [c.id, c.column]), drawn.edges.map(e => [e.stage, e.channel, e.side])];
  const key = JSON.stringify(shape);
  if (key === map.key) return;
  if (map.width !== width) map.places = new Map(); // another number of layers fits
  map.size = map.roles ? "roles" : drawn.channels.length > few || (map.size === "small" && drawn.channels.length > few - 4) ? "small" : "large";
  // A first or resized map appears at once; a map that changes moves.
  at("flow").className = map.size + (map.places.size > 0 ? " moves" : "");
  Object.assign(map, { key, width });
  keepNodes(drawn);
  map.wires = [];
  at("frames").replaceChildren();
  if (stacked.matches) return;
  const boxes = drawn.stages.map(s => box("stage " + s.id, 2 * s.column, sizes[map.size].stage));
  for (const channels of bundle(drawn)) boxes.push(block(channels, drawn));
  const { places, paths, height } = layOut(boxes, map.wires, width, map.places);
  map.places = places;
  map.wires.forEach((wire, i) => { wire.path = paths[i]; });
  at("flow").style.setProperty("height", `${height}px`);
  at("frames").replaceChildren(...boxes.filter(b => b.framed).map(b => el("rect", { x: places.get(b.id).x, y: places.get(b.id).y, width: b.width, height: b.height, rx: 16 })));
  for (const { id, inside } of boxes) {
    const { x, y } = places.get(id);
    for (const part of inside) {
      nodes.get(part.id).item.style.transform = `translate(${Math.round(x + part.x)}px, ${Math.round(y + part.y)}px)`;
    }
  }
}

const box = (id, layer, [width, height]) => ({ id, layer, width, height, inside: [{ id, x: 0, y: 0 }] });

// block returns the box of channels with the same ends, and adds its wires.
function block(channels, drawn) {
  const [width, height] = sizes[map.size].channel, gap = 8, first = channels[0], frame = channels.length > 1 ? gap : 0;
  const most = Math.max(1, Math.floor((map.width - 2 * sizes[map.size].stage[0] - 4 * gaps.least) / (width + gap)));
  const columns = Math.min(most, Math.ceil(channels.length / (map.size === "small" ? 6 : 3))), lines = Math.ceil(channels.length / columns);
  const b = box("channel " + first.id, 2 * first.column + 1, [columns * (width + gap) - gap + 2 * frame, lines * (height + gap) - gap + 2 * frame]);
  b.framed = frame > 0;
  b.inside = channels.map((c, i) => ({ id: "channel " + c.id, x: frame + Math.floor(i / lines) * (width + gap), y: frame + (i % lines) * (height + gap) }));
  const ids = channels.map(c => c.id);
  for (const stage of drawn.ends.get(first.id).send) map.wires.push({ from: "stage " + stage, to: b.id, stage, side: "send", channels: ids });
  for (const stage of drawn.ends.get(first.id).receive) map.wires.push({ from: b.id, to: "stage " + stage, stage, side: "receive", channels: ids });
  return b;
}

// keepNodes adds and removes elements, in the order from left to right.
function keepNodes(drawn) {
  const wanted = [...drawn.stages.map(s => ["stage " + s.id, 2 * s.column, s]), ...drawn.channels.map(c => ["channel " + c.id, 2 * c.column + 1, c])].sort((a, b) => a[1] - b[1]);
  const ids = new Set(wanted.map(([id]) => id));
  for (const [id, node] of nodes) {
    if (ids.has(id)) continue;
    node.item.remove();
    nodes.delete(id);
  }
  wanted.forEach(([id, , what], i) => {
    if (!nodes.has(id)) nodes.set(id, id.startsWith("stage ") ? newStage(what) : newChannel(what));
    const { item } = nodes.get(id);
    item.dataset.next = follows(drawn, id, wanted[i + 1]?.[0]); // whether an arrow leads to the box below
    if (at("nodes").children[i] !== item) at("nodes").insertBefore(item, at("nodes").children[i] || null);
  });
}

// follows reports whether values go from one box to another.
function follows(drawn, from, to) {
  return drawn.edges.some(({ side, stage, channel }) => side === "send" ?
    from === "stage " + stage && to === "channel " + channel :
    from === "channel " + channel && to === "stage " + stage);
}

// newNode returns a list item with a link or button that has a span for each part.
function newNode(kind, inner, parts) {
  const spans = Object.fromEntries(parts.map(part => [part, make("span", "", part)]));
  inner.append(make("span", "", "head", [spans.name, spans.sign]), ...Object.values(spans).slice(2));
  const bar = spans.pipe?.appendChild(make("i", ""));
  return { item: make("li", "", "node " + kind, [inner]), inner, bar, ...spans };
}

function newStage(s) {
  const button = make("button", "");
  button.type = "button";
  button.addEventListener("click", () => {
    map.chosen = map.chosen === s.id ? null : s.id;
    showChosen();
  });
  return newNode("stage", button, ["name", "sign", ...(s.busy === undefined ? [] : ["pipe"]), "through", "waiting"]);
}

function newChannel(c) {
  const link = make("a", "");
  if (map.links) link.href = "?channel=" + c.id;
  return newNode("channel", link, ["name", "sign", "ends", "pipe", "queue", "old", "through", "waiting"]);
}

// put sets texts and classes, if they differ: unchanged nodes cause no work.
function put(node, texts, kind, words) {
  for (const part in texts) if (node[part].textContent !== texts[part]) node[part].textContent = texts[part];
  if (node.item.className !== kind) node.item.className = kind;
  if (node.inner.title !== words) {
    node.inner.title = words;
    node.inner.setAttribute("aria-label", words);
  }
}

// through returns how many values per second a stage receives and sends.
function through(stage, drawn) {
  const rates = { send: null, receive: null };
  const of = new Map(drawn.channels.map(c => [c.id, c]));
  for (const e of drawn.edges) {
    const r = of.get(e.channel)[e.side === "send" ? "sentRate" : "receivedRate"];
    if (e.stage === stage && r !== null) rates[e.side] = (rates[e.side] || 0) + r * e.share;
  }
  return rates;
}

// inAndOut returns two rates, or one if they are the same or one is unknown.
const inAndOut = (enter, leave, unit) =>
  enter === null && leave === null ? "" : enter === null || leave === null || rate(enter) === rate(leave) ? `${rate(enter ?? leave)}${unit}`
  : `in ${rate(enter)}/s, out ${rate(leave)}/s`;

function showStage(s, drawn) {
  const rates = through(s.id, drawn), held = drawn.bottleneck !== null && drawn.bottleneck.stage === s.id;
  const flows = inAndOut(rates.receive, rates.send, map.size === "small" ? "/s" : " values/s");
  const narrow = held && map.size === "small" ? inAndOut(rates.receive ?? rates.send, null, "/s") : flows;
  const node = nodes.get("stage " + s.id), many = s.goroutines > 0 ? `×${tenths(s.goroutines)}` : "", doing = s.doing || "";
  const busy = s.busy === undefined ? "" : `busy ${Math.round(100 * s.busy)}%`, holds = s.holdsUp >= 0.5 ? `holds up ${tenths(s.holdsUp)}` : "";
  const words = [busy, holds].filter(Boolean).join(", ") || narrow;
  put(node, { name: stageName(s.name, stacked.matches ? 40 : map.roles ? 20 - many.length : 17) + (many && " " + many), sign: held ? "bottleneck" : "", through: words, waiting: cut(doing, 27) },
    ["node stage", held ? "held" : "", s.busy >= 0.9 ? "full" : ""].filter(Boolean).join(" "),
    [`Stage ${s.name}${many && ` ${many}`}${held ? ", the bottleneck" : ""}`, words, doing].filter(Boolean).join(", "));
  if (node.bar) node.bar.style.transform = `scaleX(${s.busy})`;
}

// tenths rounds a mean number of goroutines.
const tenths = n => Math.round(10 * n) / 10;

// waiters returns those on each side of a channel, on average if that is known.
const waiters = c => [tenths(c.sendersMean ?? c.senders), tenths(c.receiversMean ?? c.receivers)];

// waitingWords describes the waiters of a channel.
function waitingWords(c) {
  const [senders, receivers] = waiters(c), channel = !c.unnamed || c.kind === "channel";
  const words = (n, noun) => n === 0 ? "" : `${plural(n, channel ? noun : "goroutine")} wait${n === 1 ? "s" : ""}`;
  return senders >= receivers ? words(senders, "sender") : words(receivers, "receiver");
}

function showChannel(c, drawn) {
  const node = nodes.get("channel " + c.id), ends = drawn.ends.get(c.id), held = drawn.bottleneck !== null && drawn.bottleneck.channel === c.id;
  const dropping = c.droppedRate > 0, small = map.size === "small";
  const flows = inAndOut(c.sentRate, c.receivedRate, " values/s");
  const old = c.oldestValue > 0 || c.oldestSign === "≥" ? `oldest ${age(c)}` : "";
  const waiting = dropping ? `${rate(c.droppedRate)} values/s dropped` : waitingWords(c);
  const names = side => ends[side].map(id => drawn.names.get(id)).join(", ") || "?";
  const sign = dropping ? "✕ drops" : c.closed ? "⊘ closed" : c.fill >= 1 ? "full" : held && !drawn.bottleneck.stage ? "bottleneck" : "";
  const kind = c.unnamed && c.kind !== "channel" && !c.name.includes(c.kind) ? c.kind + " " : "";
  const filled = c.unnamed ? "" : fillWords(c), blocked = waiters(c)[0] >= 0.5;
  put(node, {
    name: cut(kind + c.name, stacked.matches ? 40 : small ? 17 : 22 - sign.length), sign, ends: c.unnamed && ends.receive.length === 0 ? names("send") : `${names("send")} → ${names("receive")}`,
    queue: filled, old, through: small ? inAndOut(c.receivedRate, null, "/s") : flows, waiting,
  }, ["node channel", held ? "held" : "", c.closed ? "closed" : "", dropping ? "dropping" : "", heat(c.fill || 0), blocked ? "blocked" : "", c.unnamed ? "unnamed" : c.fill === null ? "unlimited" : "", node.drawn ? "drawn" : ""].filter(Boolean).join(" "),
  [`${kind ? "" : "Channel "}${kind}${c.name}${held ? ", behind it is the bottleneck" : ""}`, `from ${names("send")} to ${names("receive")}`, filled, old, flows, waiting, dropping ? "" : sign.replace(/^\W+/, "")].filter(Boolean).join(", "));
  // A bar is drawn at once, and moves from then on.
  node.bar.style.transform = `scaleX(${c.fill === null ? 0 : Math.min(1, c.fill)})`;
  node.drawn = true;
}

// showWires draws the wires; their width follows the logarithm of the rate.
function showWires(drawn) {
  const svg = at("wires"), of = new Map(drawn.channels.map(c => [c.id, c]));
  while (svg.childElementCount > map.wires.length) svg.lastChild.remove();
  map.wires.forEach((wire, i) => {
    const g = svg.children[i] || svg.appendChild(el("g", {}, el("path", { class: "line" }), el("path", { class: "tip" })));
    let flow = 0;
    for (const e of drawn.edges) {
      if (e.stage !== wire.stage || e.side !== wire.side || !wire.channels.includes(e.channel)) continue;
      flow += e.share * (of.get(e.channel)[e.side === "send" ? "sentRate" : "receivedRate"] || 0);
    }
    const moves = flow > 0 || wire.channels.some(id => of.get(id).unnamed);
    const { d, x, y } = wire.path;
    const held = drawn.bottleneck !== null && drawn.bottleneck.stage === wire.stage && wire.channels.includes(drawn.bottleneck.channel);
    set(g, "class", `wire ${wire.side}${moves ? "" : " idle"}${held ? " held" : ""}`);
    set(g.firstChild, "d", d);
    set(g.firstChild, "stroke-width", flow > 0 ? (1.2 + Math.min(3, 0.6 * Math.log10(1 + flow))).toFixed(1) : "1.2");
    set(g.lastChild, "d", `M${round(x - 10)} ${round(y - 6)}L${round(x)} ${round(y)}L${round(x - 10)} ${round(y + 6)}z`);
  });
}

function set(e, name, value) {
  if (e.getAttribute(name) !== value) e.setAttribute(name, value);
}

// showChosen shows where the chosen stage is in the program.
function showChosen() {
  const s = map.flow.stages.find(s => s.id === map.chosen);
  at("stage").hidden = !s;
  for (const [id, node] of nodes) {
    if (id.startsWith("stage ")) node.inner.setAttribute("aria-pressed", String(id === "stage " + map.chosen));
  }
  if (s) at("stage").textContent = `${s.name}: ${s.function}, ${s.file}:${s.line}`;
}

// The map fits itself to its width.
new ResizeObserver(() => { if (map.flow && at("flow").clientWidth !== map.width) showMap(map.flow, map.links); }).observe(at("flow"));
stacked.addEventListener("change", () => { if (map.flow) showMap(map.flow, map.links); });
