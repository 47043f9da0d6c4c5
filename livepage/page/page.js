// The page fills itself from the event stream.

const query = new URLSearchParams(location.search);
query.delete("format");
const one = query.has("channel");
const remembered = 60; // updates, one per second
const histories = new Map(); // by ID: the latest updates of each channel on this page
let source, paused = false, ended = false, again, last = 0;

function remember(c) {
  let h = histories.get(c.id);
  if (!h) histories.set(c.id, h = { fill: [], len: [], sent: [], received: [] });
  for (const [key, value] of [["fill", fill(c)], ["len", c.len], ["sent", c.sentRate], ["received", c.receivedRate]]) {
    if (value !== null) h[key].push(value);
    if (h[key].length > remembered) h[key].shift();
  }
  return h;
}

// fullIn returns when the channel will be full if it grows as in the last seconds, or "".
// The slope of the line through its last lengths must exceed twice its standard error.
function fullIn(c, h) {
  const lengths = h.len.slice(-10), n = lengths.length, mean = lengths.reduce((a, b) => a + b, 0) / n, middle = (n - 1) / 2;
  if (!(c.cap > 0) || c.len >= c.cap || n < 4) return "";
  const spread = lengths.reduce((sum, _, i) => sum + (i - middle) ** 2, 0);
  const slope = lengths.reduce((sum, l, i) => sum + (i - middle) * (l - mean), 0) / spread;
  const errors = lengths.reduce((sum, l, i) => sum + (l - mean - slope * (i - middle)) ** 2, 0);
  const left = (c.cap - c.len) / slope;
  return slope > 2 * Math.sqrt(errors / (n - 2) / spread) && left < 3600 ? `full in ${seconds(Math.max(1, left))}` : "";
}

// The event stream.

function connect() {
  disconnect();
  const q = new URLSearchParams(query);
  q.set("format", "events");
  if (!one) q.set("flow", "1");
  source = new EventSource("?" + q);
  source.onmessage = event => show(JSON.parse(event.data));
  source.addEventListener("gone", gone);
  source.onerror = () => {
    trouble("no connection, retrying");
    if (source.readyState !== EventSource.CLOSED) return;
    again = setTimeout(connect, 5000);
    explain();
  };
}

function disconnect() {
  clearTimeout(again);
  if (source) source.close();
}

// explain shows why the handler refuses the stream, which an EventSource does not reveal.
async function explain() {
  const q = new URLSearchParams(query);
  q.set("format", "json");
  const [status, text] = await fetch("?" + q).then(async answer => [answer.status, await answer.text()], () => [0, ""]);
  if (one && status === 404 && text.startsWith("sluice: no such channel")) gone();
  else if (status >= 400 && text.startsWith("sluice: ")) trouble(text.slice("sluice: ".length));
}

// gone ends the page of a channel that no longer exists.
function gone() {
  disconnect();
  ended = true;
  const seen = at("name").textContent !== "";
  if (!seen) at("name").textContent = `Channel ${query.get("channel")}`;
  at("one").classList.add("closed");
  trouble(`this channel is gone: the program dropped it and the garbage collector freed it, or the program was restarted${seen ? "; the figures are the last ones" : ""}`);
}

function say(text) {
  at("status").textContent = text;
  at("trouble").textContent = "";
}

// trouble shows a problem, which screen readers announce.
function trouble(text) {
  if (at("trouble").textContent !== text) at("trouble").textContent = text;
  at("status").textContent = "";
}

function show(report) {
  const now = Date.parse(report.time);
  // After a gap the lines would hide it, and a restarted program assigns the same IDs to
  // other channels. Browsers reconnect after 3 seconds or more.
  if (now - last > 2500) histories.clear();
  last = now;
  say(`${new Date(report.time).toLocaleTimeString()} · ${whole.format(report.named)} named channels`);
  if (!one) {
    showMap(report.flow);
    showList(report);
    return;
  }
  const c = report.channels[0], name = at("name").textContent;
  if (name && c.name !== name) gone(); // the program was restarted, and assigned the ID again
  else showOne(c);
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
  if (paused) { disconnect(); say("paused"); } else if (!ended) connect();
});
// A hidden page closes its stream.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) disconnect(); else if (!paused && !ended) connect();
});
if (!document.hidden) connect();
