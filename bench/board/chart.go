package main

import (
	"fmt"
	"math"
	"strings"
)

// A panel is a column of bars.
type panel struct {
	title string
	scale float64                              // of the full width; 0 for one that follows from the bars
	value func(r row) (v float64, text string) // NaN without a bar
}

// The measures of a chart, in pixels.
const (
	labelWidth, panelWidth, barWidth = 265, 190, 120
	rowHeight, headHeight            = 21, 74
)

// style holds the colors, for light and for dark pages.
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #1f2328 } .title { font-weight: 600; font-size: 15px } .head { font-weight: 600 } .small { font-size: 12px }
.ours { fill: #1a7f5a } .parks { fill: #6e7f96 } .burns { fill: #d98c3f } .page { fill: #ffffff }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .ours { fill: #3fb98a } .parks { fill: #8494ab } .burns { fill: #e0a060 } .page { fill: #0d1117 } }
</style>
`

// width returns the value that fills the width of the panel: that of the longest bar of a
// row that parks, but at most eight times the longest of ours.
func (p panel) width(rows []row) float64 {
	if p.scale > 0 {
		return p.scale
	}
	ours, all := 0.0, 1.0
	for _, r := range rows {
		v, _ := p.value(r)
		if r.ours && v > ours {
			ours = v
		}
		if r.waits == parks && v > all {
			all = v
		}
	}
	if ours > 0 {
		all = min(all, 8*ours)
	}
	return all
}

// chart returns an SVG with a line of bars for each row. Bars that are longer than their
// panel are cut, with an arrow.
func chart(title string, rows []row, panels []panel) string {
	width, height := labelWidth+len(panels)*panelWidth, headHeight+len(rows)*rowHeight+14
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">\n%s",
		width, height, width, height, escape(title), style)
	fmt.Fprintf(&b, "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n<text class=\"title\" x=\"12\" y=\"24\">%s</text>\n", width, height, escape(title))
	legend := []struct{ class, text string }{{"ours", "sluice"}, {"parks", "waits by parking"}, {"burns", "waits by sleeping or polling"}}
	for i, l := range legend {
		x := labelWidth + 150*i
		fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"36\" width=\"11\" height=\"11\" rx=\"2\"/><text class=\"small\" x=\"%d\" y=\"46\">%s</text>\n", l.class, x, x+16, l.text)
	}
	for i, r := range rows {
		fmt.Fprintf(&b, "<text x=\"12\" y=\"%d\">%s</text>\n", headHeight+i*rowHeight+15, escape(r.name))
	}
	for p, panel := range panels {
		x := labelWidth + p*panelWidth
		fmt.Fprintf(&b, "<text class=\"head small\" x=\"%d\" y=\"66\">%s</text>\n", x, escape(panel.title))
		scale := panel.width(rows)
		for i, r := range rows {
			v, text := panel.value(r)
			y := headHeight + i*rowHeight
			if !math.IsNaN(v) {
				length := min(1.0, v/scale) * barWidth
				if v > scale {
					text = "→ " + text
				}
				fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"15\" rx=\"2\"/>", r.class(), x, y+3, max(1.5, length))
				fmt.Fprintf(&b, "<text class=\"small\" x=\"%.1f\" y=\"%d\">%s</text>\n", float64(x)+length+5, y+15, escape(text))
			} else {
				fmt.Fprintf(&b, "<text class=\"small\" x=\"%d\" y=\"%d\">%s</text>\n", x, y+15, escape(text))
			}
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// class is the color of a row.
func (r row) class() string {
	switch {
	case r.ours:
		return "ours"
	case r.waits == parks:
		return "parks"
	}
	return "burns"
}

var escape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;").Replace
