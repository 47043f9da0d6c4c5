// Checks of a report inside the page. Each check returns a list of faults.
({
  // Every text of a chart is within the chart and overlaps no other text, with this system's
  // fonts. A fifth of a line's height is space.
  labels() {
    const wrong = [];
    for (const chart of document.querySelectorAll("svg:is(.chart, .strip)")) {
      const name = chart.getAttribute("aria-label") || chart.closest("table").parentElement.getAttribute("aria-label");
      const view = chart.getBoundingClientRect();
      const boxes = [...chart.querySelectorAll("text")].map(text => {
        const b = text.getBoundingClientRect(), air = b.height / 5;
        return { text: text.textContent, left: b.left, right: b.right, top: b.top + air, bottom: b.bottom - air / 2 };
      });
      boxes.forEach((a, i) => {
        if (a.left < view.left - 2 || a.right > view.right + 2 || a.top < view.top || a.bottom > view.bottom + 1)
          wrong.push(`chart “${name}”: “${a.text}” is cut off`);
        for (const b of boxes.slice(0, i))
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
            wrong.push(`chart “${name}”: “${a.text}” lies over “${b.text}”`);
      });
    }
    return wrong;
  },

  // The first screen has the overview, all of it whole, and nothing of what follows. A phone
  // may scroll to the answers.
  first() {
    const wrong = [], parts = new Set(document.querySelectorAll("#overview :is(h1, table, .answers li)"));
    if (parts.size === 0) return ["there is no overview"];
    for (const e of document.querySelectorAll("main :is(h1, h2, h3, p, li, table, summary, dl)")) {
      const box = e.getBoundingClientRect(), text = `“${e.textContent.trim().slice(0, 30)}”`;
      if (!parts.has(e) && box.top < innerHeight && box.height > 0) wrong.push(`${text} is on the first screen, too`);
      if (parts.has(e) && e.localName === "li" && innerWidth < 500) continue;
      if (parts.has(e) && (box.top < 0 || box.bottom > innerHeight || box.left < 0 || box.right > innerWidth || box.height < 10))
        wrong.push(`${text} ends at ${box.bottom.toFixed(0)} of ${innerHeight} pixels`);
    }
    return wrong;
  },

  // The header and the contents are whole: no text in them ends in an ellipsis, or is hidden
  // behind an edge.
  whole() {
    const wrong = [];
    for (const e of document.querySelectorAll("header, header *, nav, nav *")) {
      if (!/hidden|clip/.test(getComputedStyle(e).overflow) || !e.checkVisibility()) continue;
      if (e.scrollWidth > e.clientWidth || e.scrollHeight > e.clientHeight) wrong.push(`“${e.textContent.trim()}” is cut off`);
    }
    return wrong;
  },

  // What is not folded is short.
  folded() {
    const high = document.documentElement.scrollHeight;
    return high > 6000 ? [`the page is ${high} pixels high when folded`] : [];
  },

  // Opens all folded parts.
  unfold() {
    for (const part of document.querySelectorAll("details")) part.open = true;
    return [];
  },

  // Each folded part opens by a key on its summary.
  parts() {
    const wrong = [], summaries = document.querySelectorAll(".folds > details > summary");
    if (summaries.length === 0) wrong.push("nothing is folded");
    for (const summary of summaries) {
      summary.focus();
      if (document.activeElement !== summary) wrong.push(`“${summary.textContent.trim()}” cannot be reached by a keyboard`);
    }
    return wrong;
  },

  // Returns the folded parts that are open.
  opened() {
    return [...document.querySelectorAll(".folds > details[open] > .fold")].map(e => e.id);
  },

  // Each chart has a name, and nothing is drawn through an axis: lines, marks and intervals
  // are above the figures of the axis below and to the right of those on the left.
  series() {
    const wrong = [];
    for (const chart of document.querySelectorAll(".charts svg.chart")) {
      const name = chart.getAttribute("aria-label");
      if (!chart.closest("figure").querySelector("figcaption")?.textContent.trim()) wrong.push(`chart “${name}”: it has no name`);
      const ticks = [...chart.querySelectorAll(".tick")].map(t => ({ box: t.getBoundingClientRect(), side: t.getAttribute("text-anchor") === "end" }));
      const floor = Math.min(...ticks.filter(t => !t.side).map(t => t.box.top + t.box.height / 5));
      const wall = Math.max(...ticks.filter(t => t.side).map(t => t.box.right), 0);
      const through = [...chart.querySelectorAll(":is(.line, .dot, .hollow, .beyond, .each, .whisker)")].find(e => {
        const box = e.getBoundingClientRect();
        return box.bottom > floor || box.left < wall;
      });
      if (through) wrong.push(`chart “${name}”: .${through.getAttribute("class")} is drawn through an axis`);
    }
    return wrong;
  },

  // A table fits, or it shows that it scrolls: shadows at its edges, and a first column that
  // stays.
  tables() {
    const wrong = [];
    for (const box of document.querySelectorAll(".scroll")) {
      if (box.scrollWidth <= box.clientWidth) continue;
      const name = box.getAttribute("aria-label"), column = box.querySelector("tbody th");
      if (!getComputedStyle(box).backgroundAttachment.includes("local")) wrong.push(`${name} scrolls, and does not show it`);
      if (getComputedStyle(column).position !== "sticky") wrong.push(`${name} scrolls with its first column`);
      if (column.offsetWidth > 0.6 * box.clientWidth) wrong.push(`${name} has no room beside its first column`);
    }
    return wrong;
  },

  // Each chart, and each table with strips, has its unit and figures at its axes.
  axes() {
    const wrong = [];
    const all = [
      ...[...document.querySelectorAll(".charts svg.chart")].map(c => [c, c.closest(".charts").previousElementSibling?.matches(".caption")]),
      ...[...document.querySelectorAll("table:has(.strip)")].map(t => [t, t.querySelector("th.strips") || t.closest("figure")?.querySelector("figcaption")]),
    ];
    if (all.length === 0) wrong.push("there is no chart");
    for (const [chart, unit] of all) {
      const name = chart.getAttribute("aria-label") || chart.parentElement.getAttribute("aria-label");
      if (!unit) wrong.push(`chart “${name}”: an axis has no label`);
      if (chart.querySelectorAll(".tick").length < 2) wrong.push(`chart “${name}”: an axis has no figures`);
    }
    return wrong;
  },

  // The ground is dark if the user prefers that, except on paper. Text has a contrast of at
  // least 4.5:1, marks of at least 3:1, with their background.
  contrast() {
    const wrong = new Set();
    const parse = c => (c.match(/[\d.]+/g) || []).map(Number);
    const linear = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
    const ratio = (a, b) => {
      const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
      return (x + 0.05) / (y + 0.05);
    };
    const grounds = new Map();
    const ground = element => {
      if (!element) return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
      if (!grounds.has(element)) {
        const c = parse(getComputedStyle(element).backgroundColor);
        grounds.set(element, c.length === 3 || c[3] > 0 ? c : ground(element.parentElement));
      }
      return grounds.get(element);
    };
    const dark = matchMedia("screen and (prefers-color-scheme: dark)").matches;
    if (luminance(ground(document.body)) < 0.2 !== dark) wrong.add(`the ground is ${dark ? "not " : ""}dark`);
    const judge = (element, color, least, what) => {
      const behind = [ground(element)];
      const shade = element.closest("svg")?.querySelector(".shade");
      if (shade) behind.push(parse(getComputedStyle(shade).fill));
      for (const g of behind) {
        const r = ratio(parse(color), g);
        if (r < least) wrong.add(`${what} .${element.getAttribute("class") || element.localName}: contrast ${r.toFixed(2)} of ${color} on ${g}`);
      }
    };
    for (const e of document.querySelectorAll("body *")) {
      const hasText = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
      if (e.localName === "title" || !hasText && !e.matches(".line, .whisker, .hollow, .beyond, .dot")) continue;
      const style = getComputedStyle(e);
      if (style.display === "none") continue;
      if (hasText && e.closest("[aria-hidden]")) judge(e, style.color, 3, "mark"); // a sign in the legend
      else if (hasText) judge(e, e instanceof SVGElement ? style.fill : style.color, 4.5, "text");
      else if (e.matches(".line, .whisker, .hollow, .beyond")) judge(e, style.stroke, 3, "mark");
      else if (e.matches(".dot")) judge(e, style.fill, 3, "mark");
    }
    return [...wrong];
  },

  // Nothing is wider than the view, except tables in scrolling boxes.
  width() {
    const wrong = [], root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
      const wide = [...document.querySelectorAll("body *")].find(e => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll"));
      wrong.push(`the page is ${root.scrollWidth} pixels wide in a view of ${root.clientWidth}: ${wide?.outerHTML.slice(0, 80)}`);
    }
    for (const chart of document.querySelectorAll(".charts svg.chart, .strip")) {
      const { width } = chart.getBoundingClientRect();
      if (width < 110) wrong.push(`a chart is ${width.toFixed(0)} pixels wide: too small to read`);
    }
    return wrong;
  },

  // On paper, each experiment begins a page, all details are open, and nothing is cut.
  paper() {
    const wrong = [];
    for (const study of document.querySelectorAll("section.study"))
      if (getComputedStyle(study).breakBefore !== "page") wrong.push(`experiment ${study.id} does not begin a page`);
    for (const table of document.querySelectorAll("table"))
      if (!table.checkVisibility()) wrong.push(`table “${table.querySelector("th")?.textContent}” is hidden`);
    for (const figure of document.querySelectorAll("figure"))
      if (getComputedStyle(figure).breakInside !== "avoid") wrong.push("a chart may be cut by the end of a page");
    if (document.querySelector("svg.chart") && getComputedStyle(document.body).printColorAdjust !== "exact") wrong.push("the shades may be left out");
    return wrong;
  },

  // Requirements of keyboards and screen readers.
  reach() {
    const wrong = [];
    if (!document.documentElement.lang) wrong.push("the page has no language");
    if (document.querySelectorAll("h1").length !== 1) wrong.push("there must be one heading of level 1");
    if (!document.querySelector("main") || !document.querySelector("nav")) wrong.push("there is no main part, or no navigation");
    for (const box of document.querySelectorAll(".scroll"))
      if (box.tabIndex < 0) wrong.push("a table that scrolls cannot be reached by a keyboard");
    for (const cell of document.querySelectorAll("th"))
      if (!cell.scope) wrong.push(`the heading “${cell.textContent}” has no scope`);
    let level = 1;
    for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
      if (+h.localName[1] > level + 1) wrong.push(`the heading “${h.textContent}” skips a level`);
      level = +h.localName[1];
    }
    return wrong;
  },

  // Reduces the page to its charts, one below the other, without text, because text depends on
  // the fonts of the system. It waits for the drawing: an earlier screenshot would have the
  // height of the whole page.
  async strip() {
    const charts = [...document.querySelectorAll(".charts svg.chart, svg.strip, .pictures svg.chart")];
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("html, body { display: block; margin: 0; padding: 0; max-width: none; width: 400px } " +
      "svg:is(.chart, .strip) { width: 400px } text { visibility: hidden }");
    document.adoptedStyleSheets = [sheet];
    document.body.replaceChildren(...charts);
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth === 400 ? [] : ["the charts are not alone"];
  },
})
