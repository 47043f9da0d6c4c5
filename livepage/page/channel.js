// One channel.

function showOne(c) {
  document.title = "sluice: " + c.name;
  at("name").textContent = c.name;
  at("what").textContent = `${kindWords(c)}, ID ${c.id}`;
  const h = remember(c), soon = fullIn(c, h);
  const words = inWords(c);
  at("inside").replaceChildren(drawing(c, words));
  at("words").textContent = words;
  const lines = [["fill", h.fill, c.cap ? 1 : 0, fillWords(c), ""], ["in", h.sent, 0, rate(c.sentRate) + " values/s", ""], ["out", h.received, 0, rate(c.receivedRate) + " values/s", "out"]];
  at("lines").replaceChildren(...lines.map(([what, values, top, now, kind]) => {
    const line = document.createElement("div"), svg = spark(kind);
    draw(svg, values, top);
    line.append(what, svg, now);
    if (what === "fill" && c.cap > 0) line.className = heat(fill(c));
    return line;
  }));
  const side = s => `${whole.format(s.now)} now${s.now > 0 ? `, the longest for ${seconds(s.since)}` : ""}; ${short.format(s.waits)} waits, ${seconds(s.total)} in total${s.mean > 0 ? `, ${seconds(s.mean)} each in the last second` : ""}`;
  figures([
    ["Queued", `${whole.format(c.len)}, high-water mark ${whole.format(c.highWater)}${c.kind === "Sharded" ? " in one lane" : ""}`],
    ...(soon ? [["Full", soon.replace("full ", "") + ", if it grows as in the last seconds"]] : []),
    ["Oldest value", age(c)],
    ["Capacity", c.cap === null ? "unlimited" : whole.format(c.cap)],
    ["Sent, total", whole.format(c.sent)], ["Received, total", whole.format(c.received)],
    ["Dropped, total", `${whole.format(c.dropped)}${c.droppedRate > 0 ? `, now ${rate(c.droppedRate)} values/s` : ""}`],
    ...(c.rejected > 0 ? [["Sends rejected, total", `${whole.format(c.rejected)}${c.rejectedRate > 0 ? `, now ${rate(c.rejectedRate)}/s` : ""}`]] : []),
    ["Senders waiting", side(c.senders)], ["Receivers waiting", side(c.receivers)],
    ["Memory", bytes(c.bytes)], ["Lanes", String(c.lanes)],
    ...(c.kind === "Sharded" ? [["Last lane change", c.laneChange || "none"]] : []),
    ...(c.bytesOnDisk > 0 ? [["On disk", bytes(c.bytesOnDisk)]] : []),
    ...(c.warning ? [["Warning", c.warning]] : []),
    ...(c.unanswered ? [["No answer", c.unanswered]] : []),
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

// showLanes lists the values in each lane, or level, and the senders that wait for room in it.
function showLanes(c) {
  const lanes = c.snapshot ? c.snapshot.lanes : [];
  at("lanes").hidden = lanes.length === 0;
  const levels = c.kind === "Priority";
  const items = lanes.map((l, i) => {
    const words = [levels ? `level ${i}: ${whole.format(l.len)} queued` : l.cap === null ? `${whole.format(l.len)} queued` : `${whole.format(l.len)} of ${short.format(l.cap)}`, `high-water mark ${whole.format(l.highWater)}`];
    if (l.private) words.push("private");
    if (!l.inUse) words.push(levels ? "closed" : "unused");
    if (l.senders > 0) words.push(`${whole.format(l.senders)} waiting, the longest for ${seconds(l.oldestSender)}`);
    return make("li", words.join(", "));
  });
  const more = lanes.length >= 64 && !levels ? [make("p", "the list ends at 64 lanes", "soft")] : [];
  at("lanes").replaceChildren(make("h3", levels ? "Levels" : "Lanes"), make(levels ? "ul" : "ol", "", "", items), ...more);
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

