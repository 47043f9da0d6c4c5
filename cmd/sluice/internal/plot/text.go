package plot

import "strings"

// Font sizes in SVG units, as in the page's style.
const (
	titleSize = 15.5 // 13.5 in bold is as wide
	labelSize = 12.0
	tickSize  = 11.5
)

// lineGap is the distance between the baselines of two lines of one text.
const lineGap = 14

// widthOf returns the width of s at a font size. The font is unknown: the
// widths are those in DejaVu Sans and Verdana, the widest of the usual system
// fonts, so that no text is cut off.
func widthOf(s string, size float64) float64 {
	width := 0.0
	for _, r := range s {
		width += size * letterWidth(r)
	}
	return width
}

// letterWidth is the width of a letter as a fraction of the font size.
func letterWidth(r rune) float64 {
	switch {
	case strings.ContainsRune("ijlI.,:;'|! ", r):
		return 0.34
	case strings.ContainsRune("frt()[]-/·\"", r):
		return 0.42
	case strings.ContainsRune("mwMW%@→—", r):
		return 0.98
	case r >= 'A' && r <= 'Z', strings.ContainsRune("+±=<>~×", r):
		return 0.78
	}
	return 0.64
}

// inLines breaks s at its spaces into lines no wider than room. It also breaks
// words that are wider.
func inLines(s string, size, room float64) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		for word != "" && widthOf(word, size) > room {
			if line != "" {
				lines, line = append(lines, line), ""
			}
			head := fitting(word, size, room)
			lines, word = append(lines, head), word[len(head):]
		}
		switch {
		case line == "" || word == "":
			line += word
		case widthOf(line+" "+word, size) <= room:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fitting returns the longest prefix of a word that fits, and at least one letter.
func fitting(word string, size, room float64) string {
	width := 0.0
	for i, r := range word {
		width += size * letterWidth(r)
		if i > 0 && width > room {
			return word[:i]
		}
	}
	return word
}

// widest returns the width of the widest of some texts.
func widest(texts []string, size float64) float64 {
	width := 0.0
	for _, s := range texts {
		width = max(width, widthOf(s, size))
	}
	return width
}
