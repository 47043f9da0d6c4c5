package page

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"
)

//go:embed checks.js
var checks string

// Ask runs one of the checks of checks.js.
func (p *Page) Ask(check string) []string {
	wrong, err := chromedp.Run(p.ctx, chromedp.Evaluate[[]string]("("+checks+")."+check+"()", chromedp.EvalAwaitPromise))
	if err != nil {
		return []string{check + ": " + err.Error()}
	}
	return wrong
}

// Quiet reports each error and each message on the console.
func (p *Page) Quiet() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// Alone reports each request for an address that does not begin with a prefix.
func (p *Page) Alone(prefix string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var wrong []string
	for _, url := range p.asked {
		if !strings.HasPrefix(url, prefix) && !strings.HasPrefix(url, "data:") {
			wrong = append(wrong, "the page asked for "+url)
		}
	}
	if !slices.Contains(p.asked, p.url) {
		wrong = append(wrong, "no request for the page itself: other requests may be missing, too")
	}
	return wrong
}

// Sound reports what no page may do in any view: be too wide or hard to read, report
// errors, or request what does not begin with a prefix.
func (p *Page) Sound(prefix string) []string {
	return slices.Concat(p.Ask("width"), p.Ask("contrast"), p.Quiet(), p.Alone(prefix))
}

// Check reports all faults of a page in its view. On a screen it opens all folded
// parts.
func (p *Page) Check(view View) []string {
	var wrong []string
	if view.Media == "screen" {
		wrong = slices.Concat(p.Ask("width"), p.Ask("whole"), p.Ask("parts"), p.Ask("unfold"), p.Ask("tables"))
	}
	for _, check := range []string{"labels", "axes", "series", "reach"} {
		wrong = append(wrong, p.Ask(check)...)
	}
	if view.Media == "print" {
		wrong = append(wrong, p.Ask("paper")...)
	}
	return slices.Concat(wrong, p.Sound(p.url))
}

// Screenshot takes the whole page.
func (p *Page) Screenshot() ([]byte, error) { return chromedp.Run(p.ctx, chromedp.FullScreenshot(100)) }

// Screen takes what the screen shows.
func (p *Page) Screen() ([]byte, error) { return chromedp.Run(p.ctx, chromedp.CaptureScreenshot()) }

// PDF prints the page and returns the number of sheets.
func (p *Page) PDF() (data []byte, sheets int, err error) {
	data, err = chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	return data, len(sheet.FindAll(data, -1)), err
}

var sheet = regexp.MustCompile(`/Type\s*/Page\b`)

// Size returns the size of the paper in points; an inch has 72.
func Size(pdf []byte) (width, height float64, err error) {
	box := regexp.MustCompile(`/MediaBox\s*\[\s*0\s+0\s+([0-9.]+)\s+([0-9.]+)\s*\]`).FindSubmatch(pdf)
	if box == nil {
		return 0, 0, fmt.Errorf("the PDF has no MediaBox")
	}
	width, _ = strconv.ParseFloat(string(box[1]), 64)
	height, _ = strconv.ParseFloat(string(box[2]), 64)
	return width, height, nil
}
