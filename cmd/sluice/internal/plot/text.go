package plot

import "strings"

// Sizes of the letters, in SVG units. The page's style says the same.
const (
	titleSize = 15.5 // set in 13.5, but bold, which is as wide
	labelSize = 12.0
	tickSize  = 11.5
)

// lineGap is the distance between the baselines of two lines of one text.
const lineGap = 14

// widthOf is how wide s is when it is set in letters of a size. No font is known
// here: these are the widths of DejaVu Sans and Verdana, the widest of the fonts
// that a system sets its dialogs in. A text must not be cut off, so this errs on
// the large side.
func widthOf(s string, size float64) float64 {
	width := 0.0
	for _, r := range s {
		width += size * letterWidth(r)
	}
	return width
}

// letterWidth is the width of a letter as a share of its size.
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

// inLines breaks s at its spaces into lines no wider than room. A word that is wider
// is broken where it must be.
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

// fitting returns as much of a word's beginning as fits: one letter at the least.
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
