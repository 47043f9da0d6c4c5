// How the search sorts pages, which Sphinx puts before its own script. A heading that is
// the query comes first, then guides, in the order of the menu, then what explains how sluice is
// built and what has changed.
const menu = [...document.querySelectorAll(".sidebar-tree a")].map(a => a.getAttribute("href"));
const behind = /^(docs\/(adr|design)|bench|tools|sluicetest|ARCHITECTURE|CHANGELOG|CONTRIBUTING)/;
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const at = menu.indexOf(page + ".html");
    return score + (kind === "title" ? 20 : 0) - (behind.test(page) ? 12 : 0) - (at < 0 ? menu.length : at) / 100;
  },
  objPrio: {}, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
