// Package look checks the web site of the documents in a real browser: pages fit a
// phone and a desk, are readable in light and dark, request nothing from elsewhere, and
// the search finds sections. Run it with make site-look.
package look

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"

	"github.com/sluice-go/sluice/tools/page"
)

// Check returns the faults of a page of the site in one view.
func Check(p *page.Page) (wrong []string) {
	for _, check := range []string{"contrast", "width"} {
		wrong = append(wrong, p.Ask(check)...)
	}
	for _, url := range p.Asked() {
		if !strings.HasPrefix(url, "file://") && !strings.HasPrefix(url, "data:") {
			wrong = append(wrong, "the page asked for "+url)
		}
	}
	return append(wrong, p.Quiet()...)
}

// Search types a query, and returns the titles of the results and the link of the
// first.
func Search(p *page.Page, query string) (titles []string, link string, err error) {
	found, err := chromedp.Run(p.Context(), chromedp.Evaluate[[]string](fmt.Sprintf(`(async () => {
		document.dispatchEvent(new KeyboardEvent("keydown", { key: "/" }));
		const input = document.activeElement, found = document.getElementById("found");
		if (input.id !== "search") return ["the key / does not lead to the search"];
		found.replaceChildren();
		input.value = %q;
		input.dispatchEvent(new Event("input"));
		while (found.hidden || !found.children.length) await new Promise(requestAnimationFrame);
		const links = [...found.querySelectorAll("a")];
		if (!links.length) return [found.textContent.trim()];
		return [links[0].href, ...links.map(a => a.querySelector("b").textContent)];
	})()`, query), chromedp.EvalAwaitPromise))
	if err != nil || len(found) == 1 {
		return found, "", err
	}
	return found[1:], found[0], nil
}
