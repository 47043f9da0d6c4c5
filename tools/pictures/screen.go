package main

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A style is how a terminal shows a character. A color is a number of the palette, plus
// one; 0 is the terminal's own color.
type style struct {
	color              int
	bold, dim, reverse bool
}

// A span is a run of characters with one style.
type span struct {
	text  string
	style style
}

// parseScreen turns the output of a terminal into lines of spans. It knows colors of the
// palette and the attributes of style, and leaves out any other control sequence.
func parseScreen(output string) (lines [][]span) {
	var now style
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r", ""), "\n") {
		var spans []span
		for line != "" {
			if codes, rest, is := sequence(line); is {
				now, line = now.apply(codes), rest
				continue
			}
			end := 1
			if line[0] != 0x1b {
				if end = strings.IndexByte(line, 0x1b); end < 0 {
					end = len(line)
				}
				spans = append(spans, span{line[:end], now})
			}
			line = line[end:]
		}
		lines = append(lines, spans)
	}
	for len(lines) > 0 && len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// sequence cuts a control sequence from the beginning of a line, and returns its
// parameters if it sets a style.
func sequence(line string) (codes []int, rest string, is bool) {
	if !strings.HasPrefix(line, "\x1b[") {
		return nil, "", false
	}
	end := strings.IndexFunc(line[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return nil, "", true
	}
	parameters, final := line[2:2+end], line[2+end]
	if final == 'm' {
		for part := range strings.SplitSeq(strings.ReplaceAll(parameters, ":", ";"), ";") {
			code, _ := strconv.Atoi(part) // an empty parameter is 0
			codes = append(codes, code)
		}
	}
	return codes, line[2+end+1:], true
}

// apply returns the style after a control sequence.
func (s style) apply(codes []int) style {
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			s = style{}
		case c == 1:
			s.bold = true
		case c == 2:
			s.dim = true
		case c == 7:
			s.reverse = true
		case c == 22:
			s.bold, s.dim = false, false
		case c == 27:
			s.reverse = false
		case c >= 30 && c <= 37:
			s.color = c - 30 + 1
		case c == 39:
			s.color = 0
		case c == 38 && i+2 < len(codes) && codes[i+1] == 5:
			s.color = codes[i+2] + 1
			i += 2
		}
	}
	return s
}

// sentence returns the first lines that are bold and have no color: what a screen says first.
func sentence(lines [][]span) string {
	loud := func(line []span) bool {
		return len(line) > 0 && !slices.ContainsFunc(line, func(s span) bool { return s.style != style{bold: true} })
	}
	var said []string
	for _, line := range lines {
		if loud(line) {
			said = append(said, strings.TrimSpace(plain(line)))
		} else if said != nil {
			break
		}
	}
	return strings.Join(said, " ")
}

// width returns the number of columns of a line.
func width(line []span) (columns int) {
	for _, s := range line {
		columns += utf8.RuneCountInString(s.text)
	}
	return columns
}

// plain returns the text of a line.
func plain(line []span) string {
	var text strings.Builder
	for _, s := range line {
		text.WriteString(s.text)
	}
	return strings.TrimRight(text.String(), " ")
}
