// How the search sorts pages: Sphinx puts this before its own script. First a word of
// index.txt, then a heading that is the query, then guides, in the order of the menu, then
// pages that only lead to others, then how sluice is built and what has changed.
const menu = [...document.querySelectorAll(".sidebar-tree a")].map(a => a.getAttribute("href"));
const leads = /^(docs\/|examples\/|)README$/;
const behind = /^(docs\/(adr|design)|bench|tools|sluicetest|ARCHITECTURE|CHANGELOG|CONTRIBUTING)/;
var Scorer = {
  score: ([page, , , , score, , kind]) => {
    const at = menu.indexOf(page + ".html");
    return score + (kind === "title" ? 20 : 0) - (leads.test(page) ? 15 : behind.test(page) ? 30 : 0) - (at < 0 ? menu.length : at) / 100;
  },
  objPrio: {}, title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
