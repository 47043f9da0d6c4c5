package capture

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"unicode"
)

// eachLine calls f for each line that is not empty until f returns false. The text may be
// as a log or a document holds it: with BOM or in UTF-16, with CRLF, and in a string of
// JSON or of a structured log, in which a line ends with a backslash and an n.
func eachLine(r io.Reader, f func(line []byte) bool) error {
	l := bufio.NewScanner(narrow{r})
	l.Buffer(make([]byte, maxLine), maxLine)
	l.Split(split)
	quoted := false // goroutines were found in such a string
	for l.Scan() {
		text := l.Bytes()
		quoted = quoted || bytes.Contains(text, []byte("goroutine")) && bytes.Contains(text, []byte(`\n`))
		if quoted && bytes.IndexByte(text, '\\') >= 0 {
			text = []byte(unquote.Replace(string(text)))
		}
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			line = bytes.TrimRight(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \t\r\\")
			if len(line) > 0 && !f(line) {
				return nil
			}
		}
	}
	return l.Err()
}

var unquote = strings.NewReplacer(`\\n`, "\n", `\n`, "\n", `\\t`, "\t", `\t`, "\t", `\u0009`, "\t", `\\"`, `"`, `\"`, `"`)

// narrow leaves out the bytes that UTF-16 adds to ASCII.
type narrow struct{ io.Reader }

func (r narrow) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	kept := p[:0]
	for _, c := range p[:n] {
		if c != 0 && c < 0xfe {
			kept = append(kept, c)
		}
	}
	return len(kept), err
}

// split returns lines of at most maxLine bytes, and cuts longer ones behind a line that
// a string has.
func split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	end := bytes.IndexByte(data, '\n')
	switch {
	case end >= 0:
		return end + 1, data[:end], nil
	case len(data) == maxLine:
		if end = bytes.LastIndex(data, []byte(`\n`)) + 2; end > 1 {
			return end, data[:end], nil
		}
		return len(data), data, nil
	case atEOF && len(data) > 0:
		return len(data), data, nil
	}
	return 0, nil, nil
}

// behind returns what follows a log's prefix in line. Its times and names differ from line
// to line: its length and its other characters do not.
func behind(prefix, line []byte) []byte {
	word := func(c byte) bool { return unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)) }
	for i, c := range prefix {
		if i == len(line) || c != line[i] && !(word(c) && word(line[i])) {
			return line
		}
	}
	return line[len(prefix):]
}
