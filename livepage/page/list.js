// The list.

// Column heads; those of the table say the same in two lines.
const heads = ["name", "kind", "fill", "in, values/s", "out, values/s", "dropped, total", "senders waiting", "receivers waiting", "oldest value", "high-water mark", "memory"];
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
  const texts = cells.map((cell, i) => i === 0 ? link : document.createElement("span"));
  const lines = { 2: spark(""), 3: spark(""), 4: spark("out") };
  cells.forEach((cell, i) => {
    if (i > 0) cell.append(make("div", "", "figure", lines[i] ? [lines[i], texts[i]] : [texts[i]]));
  });
  const notes = [2, 5, 6, 7, 0].map(i => cells[i].appendChild(document.createElement("small")));
  return { row, cells, texts, lines, notes };
}

function showList(report) {
  const body = at("rows"), seen = new Set();
  report.channels.forEach((c, i) => {
    seen.add(c.id);
    if (!rows.has(c.id)) rows.set(c.id, newRow(c.id));
    const r = rows.get(c.id);
    showRow(r, c);
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

function showRow(r, c) {
  const h = remember(c);
  const texts = [c.name, kindWords(c), fillWords(c), rate(c.sentRate), rate(c.receivedRate),
    short.format(c.dropped), short.format(c.senders.now), short.format(c.receivers.now), age(c), count(c.highWater), bytes(c.bytes)];
  texts.forEach((text, k) => { if (r.texts[k].textContent !== text) r.texts[k].textContent = text; });
  const notes = [fullIn(c, h), c.droppedRate > 0 ? `now ${rate(c.droppedRate)}/s` : c.rejectedRate > 0 ? `rejects ${rate(c.rejectedRate)}/s` : "", howLong(c.senders), howLong(c.receivers), c.unanswered ? " no answer" : ""];
  notes.forEach((text, k) => { r.notes[k].textContent = text; });
  r.notes[4].title = c.unanswered;
  r.row.classList.toggle("closed", c.closed);
  r.cells[2].className = c.cap > 0 ? heat(fill(c)) : "";
  r.cells[5].classList.toggle("hot", c.droppedRate > 0);
  r.cells[6].classList.toggle("hot", c.senders.now > 0);
  r.cells[6].title = r.cells[7].title = "the longest current wait, or if there is none, the mean wait in the last second";
  draw(r.lines[2], h.fill, c.cap ? 1 : 0);
  draw(r.lines[3], h.sent, 0);
  draw(r.lines[4], h.received, 0);
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

