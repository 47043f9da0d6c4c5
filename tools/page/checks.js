// Checks of a report inside the page. Each check returns a list of faults.
({
  // Every text of a chart is within the chart and overlaps no other text, with this system's
  // fonts. A fifth of a line's height is space.
  labels() {
    const wrong = [];
    for (const chart of document.querySelectorAll("svg.chart")) {
      const name = chart.getAttribute("aria-label");
      const view = chart.viewBox.baseVal;
      const boxes = [...chart.querySelectorAll("text")].map(text => {
        const b = text.getBBox(), air = b.height / 5;
        return { text: text.textContent, left: b.x, right: b.x + b.width, top: b.y + air, bottom: b.y + b.height - air / 2 };
      });
      boxes.forEach((a, i) => {
        if (a.left < view.x - 2 || a.right > view.x + view.width + 1 || a.top < view.y || a.bottom > view.y + view.height + 1)
          wrong.push(`chart “${name}”: “${a.text}” is cut off`);
        for (const b of boxes.slice(0, i))
          if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
            wrong.push(`chart “${name}”: “${a.text}” lies over “${b.text}”`);
      });
    }
    return wrong;
  },

  // The first screen has one sentence, at most one chart and at most four answers, all of them
  // whole, and nothing of what follows.
  first() {
    const wrong = [], high = innerHeight, wide = innerWidth;
    const screen = document.getElementById("overview");
    if (!screen) return ["there is no overview"];
    const parts = { sentence: screen.querySelectorAll("h1"), chart: screen.querySelectorAll("svg.chart"), answers: screen.querySelectorAll(".answers li") };
    for (const [name, most] of [["sentence", 1], ["chart", 1], ["answers", 4]]) {
      const found = parts[name];
      if (found.length > most) wrong.push(`the first screen has ${found.length} of: ${name}`);
      for (const e of found) {
        const box = e.getBoundingClientRect();
        if (box.top < 0 || box.bottom > high || box.left < 0 || box.right > wide || box.height < 10)
          wrong.push(`${name}: “${e.textContent.trim().slice(0, 30)}” ends at ${box.bottom.toFixed(0)} of ${high} pixels`);
      }
    }
    const known = new Set([...parts.sentence, ...parts.chart, ...parts.answers]);
    for (const e of document.querySelectorAll("main :is(h1, h2, h3, p, li, svg, table, summary, dl)")) {
      const box = e.getBoundingClientRect();
      if (box.top < high && box.height > 0 && !known.has(e)) wrong.push(`“${e.textContent.trim().slice(0, 30)}” is on the first screen, too`);
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

  // The first screen has a sentence, a chart with a logarithmic axis and intervals, and answers.
  // On a busy machine a quick run may have no known figure.
  filled() {
    const wrong = [], screen = document.getElementById("overview"), chart = screen?.querySelector("svg.chart");
    for (const [name, selector] of [["sentence", "h1"], ["chart", "svg.chart"], ["answers", ".answers li"]])
      if (!screen?.querySelector(selector)) wrong.push(`the first screen has none of: ${name}`);
    if (chart && !chart.textContent.includes("log scale")) wrong.push("the axis of the first chart is not logarithmic");
    if (chart && chart.querySelectorAll("line.whisker").length < 2) wrong.push("the first chart has no intervals");
    for (const study of document.querySelectorAll("section.study"))
      for (const [what, selector] of [["answer", ".answer"], ["chart", "svg.chart"], ["advice", ".advice"]])
        if (!study.querySelector(`:scope > ${selector}, :scope > .gist ${selector}`)) wrong.push(`study ${study.id} shows no ${what}`);
    return wrong;
  },

  // What is not folded is short: for each study, its question and at most its answer, one chart
  // and the advice.
  folded() {
    const wrong = [], root = document.documentElement;
    const seen = e => e.checkVisibility({ contentVisibilityAuto: true }) && !e.closest("details:not([open]) > :not(summary)");
    if (root.scrollHeight > 6000) wrong.push(`the page is ${root.scrollHeight} pixels high when folded`);
    const studies = document.querySelectorAll("section.study");
    if (studies.length === 0) wrong.push("there is no study");
    for (const study of studies) {
      for (const [what, selector] of [["question", "h2"], ["answer", ".answer"], ["chart", "svg.chart"], ["advice", ".advice"]]) {
        const n = [...study.querySelectorAll(selector)].filter(seen).length;
        if (n > 1 || n < 1 && what === "question") wrong.push(`study ${study.id} shows ${n} of: ${what}`);
      }
      if ([...study.querySelectorAll("table")].some(seen)) wrong.push(`study ${study.id} shows a table`);
    }
    return wrong;
  },

  // Opens all folded parts.
  unfold() {
    for (const part of document.querySelectorAll("details")) part.open = true;
    return [];
  },

  // Each folded part contains a target for links, and opens by a key on its summary.
  parts() {
    const wrong = [], parts = [...document.querySelectorAll(".folds > details")];
    if (parts.length === 0) wrong.push("nothing is folded");
    for (const part of parts) {
      const summary = part.querySelector("summary");
      if (!part.querySelector(".fold")?.id) wrong.push(`“${summary.textContent.trim()}” has no ID for links`);
      summary.focus();
      if (document.activeElement !== summary) wrong.push(`“${summary.textContent.trim()}” cannot be reached by a keyboard`);
    }
    return wrong;
  },

  // Returns the folded parts that are open.
  opened() {
    return [...document.querySelectorAll(".folds > details[open] > .fold")].map(e => e.id);
  },

  // A chart has at most seven series, each with its name at its line, and draws nothing through
  // its axes: lines, marks and intervals are above the figures of the axis below and to the
  // right of those on the left.
  series() {
    const wrong = [];
    for (const chart of document.querySelectorAll("svg.chart")) {
      const name = chart.getAttribute("aria-label"), all = [...chart.querySelectorAll(".series")];
      if (all.length > 7) wrong.push(`chart “${name}” has ${all.length} series`);
      for (const one of all)
        if (one.querySelector(".line") && !one.querySelector(".label")) wrong.push(`chart “${name}”: a series has no name at its line`);
      const ticks = [...chart.querySelectorAll(".tick")].map(t => ({ box: t.getBBox(), side: t.getAttribute("text-anchor") === "end" }));
      const floor = Math.min(...ticks.filter(t => !t.side).map(t => t.box.y + t.box.height / 5));
      const wall = Math.max(...ticks.filter(t => t.side).map(t => t.box.x + t.box.width), 0);
      for (const e of chart.querySelectorAll(":is(.line, .dot, .hollow, .bar, .beyond, .each, .whisker, [class^=part])")) {
        const box = e.getBBox();
        if (box.y + box.height > floor || box.x < wall) {
          wrong.push(`chart “${name}”: .${e.getAttribute("class")} is drawn through an axis`);
          break;
        }
      }
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

  // No figure is written with an interval that says that it is not known.
  precision() {
    const wrong = [];
    for (const cell of document.querySelectorAll("td")) {
      const margin = cell.textContent.match(/[±~] ([\d.,]+)%/);
      if (margin && +margin[1].replace(",", "") > 100) wrong.push(`“${cell.textContent}” is not known`);
    }
    return wrong;
  },

  // Each chart has titles and figures at its axes, an accessible label, and its figures in a
  // table after it or, if they are few, in the label. A picture has no axes.
  axes() {
    const wrong = [], charts = [...document.querySelectorAll("svg.chart")].filter(c => !c.closest(".pictures"));
    if (charts.length === 0) wrong.push("there is no chart");
    for (const chart of charts) {
      const name = chart.getAttribute("aria-label") || "";
      if (name.length < 5) wrong.push("a chart has no name");
      const titles = [...chart.querySelectorAll(".axis")].filter(t => t.textContent.trim() && t.textContent !== "oversubscribed");
      const sides = chart.querySelector(".series") ? 2 : 1;
      const places = new Set(titles.map(t => t.getBBox().y < chart.viewBox.baseVal.height / 2));
      if (places.size < sides) wrong.push(`chart “${name}”: an axis has no label`);
      if (chart.querySelectorAll(".tick").length < 2) wrong.push(`chart “${name}”: an axis has no figures`);
      if (chart.closest(".few")) {
        for (const value of chart.querySelectorAll(".value"))
          if (!name.includes(value.textContent)) wrong.push(`chart “${name}”: its name lacks ${value.textContent}`);
        continue;
      }
      const tables = [...chart.closest("section").querySelectorAll("table")];
      if (!tables.some(t => chart.compareDocumentPosition(t) & Node.DOCUMENT_POSITION_FOLLOWING))
        wrong.push(`chart “${name}”: no table follows`);
    }
    return wrong;
  },

  // Text has a contrast of at least 4.5:1, marks of at least 3:1, with their background.
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
      if (e.localName === "title" || !hasText && !e.matches(".line, .whisker, .hollow, .dot, .beyond")) continue;
      const style = getComputedStyle(e);
      if (style.display === "none") continue;
      if (hasText && e.closest("[aria-hidden]")) judge(e, style.color, 3, "mark"); // a sign in the legend
      else if (hasText) judge(e, e instanceof SVGElement ? style.fill : style.color, 4.5, "text");
      else if (e.matches(".line, .whisker, .hollow")) judge(e, style.stroke, 3, "mark");
      else if (e.matches(".dot, .beyond")) judge(e, style.fill, 3, "mark");
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
    // Letters of 12 units have at least ten pixels on a screen and seven points on paper.
    const least = matchMedia("print").matches ? 0.78 : 0.84;
    for (const chart of document.querySelectorAll("svg.chart")) {
      const scale = chart.getBoundingClientRect().width / chart.viewBox.baseVal.width;
      if (scale < least) wrong.push(`chart “${chart.getAttribute("aria-label")}” is shown at ${scale.toFixed(2)} of its size: too small to read`);
    }
    return wrong;
  },

  // On paper, each experiment begins a page, all details are open, and nothing is cut.
  paper() {
    const wrong = [];
    for (const study of document.querySelectorAll("section.study"))
      if (getComputedStyle(study).breakBefore !== "page") wrong.push(`experiment ${study.id} does not begin a page`);
    for (const table of document.querySelectorAll("table"))
      if (table.getBoundingClientRect().height < 10) wrong.push(`table “${table.querySelector("th")?.textContent}” is hidden`);
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
    for (const link of document.querySelectorAll("a"))
      if (!link.hash || !document.getElementById(link.hash.slice(1))) wrong.push(`the link “${link.textContent}” leads nowhere`);
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
    const charts = [...document.querySelectorAll("svg.chart")];
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("html, body { display: block; margin: 0; padding: 0; max-width: none; width: 400px } " +
      ".chart { width: 400px; max-width: none } .chart text { visibility: hidden }");
    document.adoptedStyleSheets = [sheet];
    document.body.replaceChildren(...charts);
    for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
    return document.documentElement.scrollWidth === 400 ? [] : ["the charts are not alone"];
  },
})
