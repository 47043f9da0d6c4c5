// Package format writes numbers, durations, rates and lists as people read
// them, and breaks text into the lines of a screen.
//
// What may enter: the form of a text. Its content belongs to the packages that
// write reports. Nothing here imports another package of this module.
package format

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// NoBreak is a space at which Wrap never breaks a line. Wrap writes it as an
// ordinary space.
const NoBreak = "\u00a0"

// Wrap breaks text between words into lines of at most width cells, with a line feed
// after the last. The first word follows start cells that the caller has written; the
// other lines begin with indent. A word longer than a line is not broken.
func Wrap(text string, width, start int, indent string) string {
	return wrap(text, width, start, indent, false)
}

// wrap is Wrap, and breaks words longer than a line if hard is true.
func wrap(text string, width, start int, indent string, hard bool) string {
	var b strings.Builder
	margin, used := displaywidth.String(indent), start
	end := func() {
		b.WriteString("\n" + indent)
		used = margin
	}
	for i, word := range strings.Split(text, " ") {
		word = strings.ReplaceAll(word, NoBreak, " ")
		switch cells := displaywidth.String(word); {
		case i == 0:
		case used+1+cells > width:
			end()
		default:
			b.WriteString(" ")
			used++
		}
		for hard && used+displaywidth.String(word) > width {
			part := displaywidth.TruncateString(word, width-used, "")
			if part == "" && used <= margin {
				break // not even a letter fits
			}
			b.WriteString(part)
			word = word[len(part):]
			end()
		}
		b.WriteString(word)
		used += displaywidth.String(word)
	}
	return b.String() + "\n"
}

// A Text is written in lines of at most Width cells.
type Text struct {
	strings.Builder
	Width int
}

// Paragraph breaks sentences into lines. All but the first begin with indent.
func (t *Text) Paragraph(indent string, sentences ...string) {
	if len(sentences) > 0 {
		t.WriteString(Wrap(strings.Join(sentences, " "), t.Width, 0, indent))
	}
}

// Table writes rows in columns that are two spaces apart. align has a letter for each column,
// l for left and r for right, and the last one is for the others, too. A row of one cell is a
// line, and a first cell that leaves no room for the others has a line of its own.
func (t *Text) Table(align string, rows [][]string) {
	widths := []int{0}
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			if len(row) > 1 {
				widths[i] = max(widths[i], displaywidth.String(cell))
			}
		}
	}
	room := t.Width
	for _, width := range widths[1:] {
		room -= 2 + width
	}
	widths[0] = max(1, min(room, widths[0]))
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			switch space := Pad(cell, widths[i]); {
			case i == 0 && (len(row) == 1 || displaywidth.String(cell) > widths[0]):
				t.WriteString(Cut(cell, t.Width) + "\n")
				line = strings.Repeat(" ", widths[0]+2)
			case align[min(i, len(align)-1)] == 'r':
				line += space + cell + "  "
			default:
				line += cell + space + "  "
			}
		}
		if len(row) > 1 {
			t.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
}

// Print writes the text to w. It is cleaned, because names come from files.
func (t *Text) Print(w io.Writer) error {
	_, err := io.WriteString(w, CleanLines(t.String()))
	return err
}

// Pad returns the spaces that fill text up to width cells.
func Pad(text string, width int) string {
	return strings.Repeat(" ", max(0, width-displaywidth.String(text)))
}

// Cut shortens text to at most n cells. The last of them is an ellipsis if text was
// longer. With n < 2 it returns "".
func Cut(text string, n int) string {
	switch {
	case displaywidth.String(text) <= n:
		return text
	case n < 2:
		return ""
	}
	return displaywidth.TruncateString(text, n, "…")
}

// Capital returns text with an upper-case first letter. The name of a Go package
// before a dot stays as it is.
func Capital(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 || qualified(text) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// qualified reports whether text begins with a qualified identifier, such as
// sync.Mutex.
func qualified(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	dot := strings.IndexByte(word, '.')
	return dot > 0 && dot+1 < len(word)
}

// A Screen is where text is written: a terminal, or a file in its place.
type Screen struct {
	Width int  // in cells
	Color bool // whether it understands escape codes
}

// The widths of a screen: a narrower or wider terminal is treated as one of these, and
// a file as one of UsualWidth.
const (
	NarrowestWidth = 40
	UsualWidth     = 80
	WidestWidth    = 120
)

// In returns text, which may come from anywhere, in a style if the screen has styles.
func (s Screen) In(style, text string) string {
	text = Clean(text)
	if !s.Color || style == "" || text == "" {
		return text
	}
	return style + text + "\x1b[0m"
}

// Paragraph breaks text into lines of the screen, each in a style.
func (s Screen) Paragraph(style, text, indent string) []string {
	var lines []string
	for line := range strings.Lines(wrap(text, s.Width, 0, indent, true)) {
		lines = append(lines, s.In(style, strings.TrimSuffix(line, "\n")))
	}
	return lines
}

// WriteLines writes lines.
func WriteLines(w io.Writer, lines []string) error {
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// WriteJSON writes a result for programs.
func WriteJSON(w io.Writer, result any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

// maxText limits the text from a service that is processed, in bytes: far more
// than a line shows.
const maxText = 1024

// maxMarks limits the combining marks on one letter, which could reach into
// other lines.
const maxMarks = 3

// Clean makes text from a service safe to display: characters that are not
// printable, or that change direction or width, are escaped as in a Go string.
func Clean(s string) string {
	if len(s) > maxText {
		end := maxText // end of a rune, if there are runes
		for end > maxText-utf8.UTFMax && !utf8.RuneStart(s[end]) {
			end--
		}
		s = s[:end] + "…"
	}
	var b strings.Builder
	marks := 0
	for i, r := range s {
		if marks++; !unicode.Is(unicode.M, r) {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r) && marks <= maxMarks:
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return b.String()
}

// CleanLines is Clean for each line of a text: the ends of its lines remain.
func CleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Clean(line)
	}
	return strings.Join(lines, "\n")
}

// Unknown returns an error about a name that is not among names: it suggests the name that
// may have been meant, or else lists all.
func Unknown(kind, name string, names []string) error {
	nearest, least := "", 1+max(1, len(name)/3)
	for _, candidate := range names {
		d := distance(strings.ToLower(name), candidate)
		if len(name) > 2 && strings.HasPrefix(candidate, strings.ToLower(name)) {
			d = 0
		}
		if d < least {
			nearest, least = candidate, d
		}
	}
	if nearest != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, name, nearest)
	}
	return fmt.Errorf("unknown %s %q (want %s)", kind, name, strings.Join(names, ", "))
}

// distance returns the number of letters to insert, delete or replace in a to make it b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0]++
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
