package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// The size of a character, and the space around the text, in pixels.
const (
	cellWidth  = 8.4
	cellHeight = 18
	baseline   = 13.5
	margin     = 16
)

// head has the colors: of the page and of text, for both schemes. The colors of the
// palette are set where they occur.
const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]g" height="%[2]g" viewBox="0 0 %[1]g %[2]g" role="img">
<title>%[3]s</title>
<style>
svg { color-scheme: light dark; --paper: #fbfbf8; --ink: #1d2226; --soft: #5b646c; --edge: #d5d9d6 }
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); white-space: pre }
.page { fill: var(--paper); stroke: var(--edge) } .block { fill: var(--ink) } .dim { fill: var(--soft) } .bold { font-weight: bold }
.c2 { fill: #a3301c } .c3 { fill: #156252 } .c4 { fill: #8a5a00 } .c5 { fill: #1a56c4 } .c6 { fill: #8a2a76 } .c7 { fill: #0b6a7a }
@media (prefers-color-scheme: dark) {
svg { --paper: #14171a; --ink: #e3e6e8; --soft: #9da6ad; --edge: #3a4147 }
.c2 { fill: #f08a72 } .c3 { fill: #84d1b0 } .c4 { fill: #e6b95c } .c5 { fill: #8ab8ff } .c6 { fill: #e3a1d3 } .c7 { fill: #7fd0df }
}
</style>
<rect class="page" x=".5" y=".5" width="%[4]g" height="%[5]g" rx="8"/>
`

// drawScreen draws the lines of a terminal as SVG. Each run of characters has a fixed
// length, so that columns are aligned in any font.
func drawScreen(title string, lines [][]span) []byte {
	columns := 0
	for _, line := range lines {
		columns = max(columns, width(line))
	}
	w, h := float64(columns)*cellWidth+2*margin, float64(len(lines)*cellHeight+2*margin)
	var out strings.Builder
	fmt.Fprintf(&out, head, round(w), h, html.EscapeString(title), round(w-1), h-1)
	for row, line := range lines {
		column := 0
		for _, s := range line {
			drawSpan(&out, s, row, column)
			column += utf8.RuneCountInString(s.text)
		}
	}
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

func round(x float64) float64 { return float64(int(x*10+.5)) / 10 }

// drawSpan draws a run of characters: blocks, of which bars consist, as rectangles, and
// the rest as text, cut at spaces that align columns.
func drawSpan(out *strings.Builder, s span, row, column int) {
	text, color := s.style.paint()
	top := float64(row*cellHeight + margin)
	left := func(column int) float64 { return round(margin + float64(column)*cellWidth) }
	if ground := s.style.groundColor(); ground != "" {
		fmt.Fprintf(out, "<rect%s x=\"%g\" y=\"%g\" width=\"%g\" height=\"%d\"/>\n", ground, left(column), top, round(float64(utf8.RuneCountInString(s.text))*cellWidth), cellHeight)
	}
	runes := []rune(s.text)
	for i := 0; i < len(runes); {
		if runes[i] == ' ' {
			i++
			continue
		}
		if b, is := block(runes[i]); is {
			n := 1
			for b.whole && i+n < len(runes) && runes[i+n] == runes[i] {
				n++
			}
			fmt.Fprintf(out, "<rect%s x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", color,
				left(column+i)+round(b.x*cellWidth), round(top+b.y*cellHeight), round(b.w*cellWidth*float64(n)), round(b.h*cellHeight))
			i += n
			continue
		}
		end := i
		for end < len(runes) && !isGap(runes[end:]) {
			if _, is := block(runes[end]); is {
				break
			}
			end++
		}
		fmt.Fprintf(out, "<text%s x=\"%g\" y=\"%g\" textLength=\"%g\">%s</text>\n", text,
			left(column+i), top+baseline, round(float64(end-i)*cellWidth), html.EscapeString(string(runes[i:end])))
		i = end
	}
}

// isGap reports whether two spaces, or a last one, begin here.
func isGap(runes []rune) bool {
	return runes[0] == ' ' && (len(runes) == 1 || runes[1] == ' ')
}

// A part is a part of a character's cell, from 0 to 1.
type part struct {
	x, y, w, h float64
	whole      bool // as wide as the cell: neighbors form one rectangle
}

// block returns the rectangle of a block character.
func block(r rune) (part, bool) {
	switch {
	case r >= '▁' && r <= '█': // eighths from below
		h := float64(r-'▁'+1) / 8
		return part{0, 1 - h, 1, h, true}, true
	case r >= '▉' && r <= '▏': // eighths from the left
		return part{0, 0, float64('▏'-r+1) / 8, 1, false}, true
	case r == '▀':
		return part{0, 0, 1, .5, true}, true
	case r == '▐':
		return part{.5, 0, .5, 1, false}, true
	case r == '─':
		return part{0, .47, 1, .06, true}, true
	case r == '│':
		return part{.47, 0, .1, 1, false}, true
	}
	return part{}, false
}

// paint returns the attributes of text and of blocks in a style.
func (s style) paint() (text, blocks string) {
	class, fill := "", ""
	switch {
	case s.reverse:
		fill = ` style="fill:var(--paper)"`
	case s.dim && s.color == 0:
		class = "dim"
	case s.color >= 2 && s.color <= 7:
		class = fmt.Sprintf("c%d", s.color)
	case s.color > 16:
		fill = fmt.Sprintf(` style="fill:%s"`, palette(s.color-1))
	}
	text, blocks = class, class
	if s.bold {
		text = strings.TrimSpace(text + " bold")
	}
	if class == "" && fill == "" {
		blocks = "block"
	}
	return attribute(text) + fill, attribute(blocks) + fill
}

// groundColor returns the attributes of the background, or nothing.
func (s style) groundColor() string {
	switch {
	case s.reverse && s.color > 16:
		return fmt.Sprintf(` style="fill:%s"`, palette(s.color-1))
	case s.reverse:
		return ` class="block"`
	}
	return ""
}

func attribute(class string) string {
	if class == "" {
		return ""
	}
	return ` class="` + class + `"`
}

// palette returns a color of the fixed part of the palette: a cube of 6 by 6 by 6
// colors, then grays.
func palette(n int) string {
	if n >= 232 {
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := func(n int) int {
		if n == 0 {
			return 0
		}
		return 55 + 40*n
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}
