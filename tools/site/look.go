// Package site looks at the web site of the documents in a browser. Sphinx makes the
// site, as conf.py says. Run this package with make site-look.
package site

import (
	"fmt"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/tools/page"
)

// Search sends a query with the search form of a page. It returns the address of the
// first result and the titles of all results, or what the search says if there are none.
func Search(p *page.Page, query string) (address string, titles []string, err error) {
	form, err := chromedp.Run(p.Context(), chromedp.Evaluate[string](fmt.Sprintf(`(form => {
		form.elements.q.value = %q;
		return Object.assign(new URL(form.action), { search: new URLSearchParams(new FormData(form)) }).href;
	})(document.querySelector(".sidebar-search-container"))`, query)))
	if err == nil {
		err = chromedp.Do(p.Context(), chromedp.Navigate(form))
	}
	if err != nil {
		return "", nil, err
	}
	found, err := chromedp.Run(p.Context(), chromedp.Poll[[]string](`(() => {
		const summary = document.querySelector(".search-summary")?.textContent ?? "";
		const links = [...document.querySelectorAll("#search-results li > a")];
		return /finished|did not match/.test(summary) && [links[0]?.href ?? "", ...links.map(a => a.textContent), summary];
	})()`))
	if err != nil {
		return "", nil, err
	}
	return found[0], found[1:], nil
}
