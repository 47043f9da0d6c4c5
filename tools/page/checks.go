package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"image"
	"image/png"
	"regexp"
	"slices"
	"strconv"

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

// Quiet complains of each error and each word on the console.
func (p *Page) Quiet() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// Asked returns the addresses of all requests so far.
func (p *Page) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

// Alone complains of each request but that for the page itself.
func (p *Page) Alone() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var wrong []string
	for _, url := range p.asked {
		if url != p.url {
			wrong = append(wrong, "the page asked for "+url)
		}
	}
	if !slices.Contains(p.asked, p.url) {
		wrong = append(wrong, "the request for the page itself was not seen: others may have been missed")
	}
	return wrong
}

// Check complains of everything that is wrong with a page in its view.
func (p *Page) Check(view View) []string {
	wrong := slices.Concat(p.Ask("labels"), p.Ask("axes"), p.Ask("contrast"), p.Ask("width"), p.Ask("reach"))
	if view.Media == "print" {
		wrong = append(wrong, p.Ask("paper")...)
	}
	return slices.Concat(wrong, p.Quiet(), p.Alone())
}

// Screenshot takes the whole page.
func (p *Page) Screenshot() (image.Image, []byte, error) {
	data, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return nil, nil, err
	}
	picture, err := png.Decode(bytes.NewReader(data))
	return picture, data, err
}

// PDF prints the page and returns the number of sheets.
func (p *Page) PDF() (data []byte, sheets int, err error) {
	data, err = chromedp.Run(p.ctx, chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize()))
	return data, len(sheet.FindAll(data, -1)), err
}

var sheet = regexp.MustCompile(`/Type\s*/Page\b`)

// Size returns the size of the paper in points, of which 72 are an inch.
func Size(pdf []byte) (width, height float64, err error) {
	box := regexp.MustCompile(`/MediaBox\s*\[\s*0\s+0\s+([0-9.]+)\s+([0-9.]+)\s*\]`).FindSubmatch(pdf)
	if box == nil {
		return 0, 0, fmt.Errorf("the PDF does not say its size")
	}
	width, _ = strconv.ParseFloat(string(box[1]), 64)
	height, _ = strconv.ParseFloat(string(box[2]), 64)
	return width, height, nil
}
