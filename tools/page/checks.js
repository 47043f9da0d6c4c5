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

  // Each chart has titles and figures at its axes, an accessible label, and a table of the same
  // figures after it. A picture has no axes.
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
    const ground = element => {
      for (let e = element; e; e = e.parentElement) {
        const c = parse(getComputedStyle(e).backgroundColor);
        if (c.length === 3 || c[3] > 0) return c;
      }
      return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
    };
    const judge = (element, color, least, what) => {
      const grounds = [ground(element)];
      const shade = element.closest("svg")?.querySelector(".shade");
      if (shade) grounds.push(parse(getComputedStyle(shade).fill));
      for (const g of grounds) {
        const r = ratio(parse(color), g);
        if (r < least) wrong.add(`${what} .${element.getAttribute("class") || element.localName}: contrast ${r.toFixed(2)} of ${color} on ${g}`);
      }
    };
    for (const e of document.querySelectorAll("body *")) {
      const style = getComputedStyle(e);
      const hasText = [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
      if (e.localName === "title" || style.display === "none") continue;
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
