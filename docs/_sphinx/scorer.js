// How the search ranks pages. Sphinx only counts whether a word is in a heading (15) or in the text (5) of a page.
// Here more words in headings are better, and users' pages come before those for contributors.
var Scorer = {
  score: ([page, title, anchor, description, score, file, kind]) => {
    if (kind === "text") score += 10 * shareInHeadings(page);
    if (kind === "title") score += 30; // a heading that contains the query
    if (USERS_PAGES.includes(page)) return score + 30;
    if (page.startsWith("api/")) return score + (kind === "object" ? 25 : 0);
    return page.includes("decisions/") || page.includes("results/") ? score - 10 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// The share of the words of the query that the headings of a page contain.
function shareInHeadings(page) {
  const { docnames, titleterms } = Search._index;
  const number = docnames.indexOf(page);
  const [, words] = Search._parseQuery(document.querySelector('input[name="q"]').value);
  const found = [...words].filter((word) => [titleterms[word]].flat().includes(number));
  return found.length / words.size;
}
