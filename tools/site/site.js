// The search over all documents. Its index is a script, loaded when the search is used
// first, so that it works from files as well as from a server.
"use strict";
(() => {
  const root = document.currentScript.dataset.root;
  const input = document.getElementById("search"), found = document.getElementById("found");
  const limit = 12;
  let loading;

  const load = () => loading ??= new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    script.onload = () => done(window.searchIndex.map(s => ({ ...s, low: [s.p, s.h, s.t].map(t => t.toLowerCase()) })));
    script.onerror = () => fail(new Error("search-index.js is missing"));
    document.head.append(script);
  });

  // A section matches if each word of the query occurs in it. Titles and headings weigh
  // more than text, and whole words more than parts of words.
  const score = (section, words) => {
    let sum = 0;
    for (const word of words) {
      let best = 0;
      section.low.forEach((text, field) => {
        const at = text.indexOf(word);
        if (at < 0) return;
        const begins = at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]);
        best += [3, 6, 1][field] * (begins ? 2 : 1);
      });
      if (best === 0) return 0;
      sum += best;
    }
    return sum;
  };

  // excerpt returns the text around the first match, with the matches marked.
  const excerpt = (section, words) => {
    const places = words.map(w => section.low[2].indexOf(w)).filter(i => i >= 0);
    const at = places.length ? Math.max(0, Math.min(...places) - 60) : 0;
    let text = section.t.slice(at, at + 160);
    if (at > 0) text = "…" + text.replace(/^\S*\s/, "");
    const line = document.createElement("small");
    for (const part of text.split(new RegExp(`(${words.map(w => w.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|")})`, "i"))) {
      const is = words.includes(part.toLowerCase());
      const node = is ? document.createElement("mark") : document.createTextNode(part);
      if (is) node.textContent = part;
      line.append(node);
    }
    return line;
  };

  const show = (sections, words) => {
    found.replaceChildren();
    for (const s of sections) {
      const item = document.createElement("li"), link = document.createElement("a"), title = document.createElement("b");
      link.href = root + s.l;
      title.textContent = s.p === s.h ? s.p : `${s.p}: ${s.h}`;
      link.append(title, excerpt(s, words));
      item.append(link);
      found.append(item);
    }
    if (sections.length === 0) {
      const none = document.createElement("p");
      none.textContent = "Nothing found. Try fewer words, or the beginning of a word.";
      found.append(none);
    }
  };

  const search = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = words.length === 0;
    if (found.hidden) return;
    try {
      const all = await load();
      if (input.value.toLowerCase().split(/\s+/).filter(Boolean).join() !== words.join()) return;
      const ranked = all.map(s => [score(s, words), s]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
      show(ranked.slice(0, limit).map(([, s]) => s), words);
    } catch (e) {
      found.replaceChildren(Object.assign(document.createElement("p"), { textContent: e.message }));
    }
  };

  // The arrow keys move through the results, Enter opens the first, Escape closes.
  document.addEventListener("keydown", e => {
    const links = [...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    const typing = document.activeElement === input;
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey) input.focus();
    else if (e.key === "Escape") found.hidden = true;
    else if (e.key === "Enter" && typing && !found.hidden) links[0]?.click();
    else if (e.key === "ArrowDown" && (typing || at >= 0)) links[at + 1]?.focus();
    else if (e.key === "ArrowUp" && at >= 0) (links[at - 1] ?? input).focus();
    else return;
    e.preventDefault();
  });
  document.addEventListener("click", e => { if (!e.target.closest("search")) found.hidden = true; });
  found.addEventListener("click", () => { found.hidden = true; });
  input.addEventListener("focus", () => load().catch(() => {}));
  input.addEventListener("input", search);
  input.hidden = false;
})();
