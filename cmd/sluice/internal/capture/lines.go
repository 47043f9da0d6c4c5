package capture

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// lines reads a text line by line, as a log or a document may hold it: with BOM or in
// UTF-16, with CRLF, and as a string of JSON or of a structured log, in which a line
// ends with a backslash and an n.
type lines struct {
	*bufio.Scanner
	escaped bool // goroutines were found in such a string
}

func newLines(r io.Reader) *lines {
	l := &lines{Scanner: bufio.NewScanner(narrow{r})}
	l.Buffer(make([]byte, maxLine), maxLine)
	l.Split(l.split)
	return l
}

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

// split visits each byte a bounded number of times, because a line may have 30,000 escaped
// line breaks.
func (l *lines) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	for i := 0; l.escaped && i+1 < len(data) && data[i] != '\n'; i++ {
		if data[i] == '\\' && data[i+1] == 'n' {
			return i + 2, bytes.TrimRight(data[:i], `\`), nil
		}
	}
	end := bytes.IndexByte(data, '\n')
	switch {
	case end >= 0:
		advance = end + 1
	case len(data) > 0 && (atEOF || len(data) == maxLine):
		end, advance = len(data), len(data)
	default:
		return 0, nil, nil
	}
	if !l.escaped && escapedHeader(data[:end]) {
		l.escaped = true
		return l.split(data, atEOF)
	}
	return advance, data[:end], nil
}

// escapedHeader reports whether line has a header of goroutines, and behind it a line
// break as strings have it.
func escapedHeader(line []byte) bool {
	return bytes.Contains(line, goroutineWord) && (bytes.Contains(line, []byte(`]:\`)) || bytes.Contains(line, []byte(`}:\`))) ||
		bytes.Contains(line, totalWords) && bytes.Contains(line, []byte(`\n`))
}

var unescape = strings.NewReplacer(`\\t`, "\t", `\t`, "\t", `\u0009`, "\t", `\\"`, `"`, `\"`, `"`)

// line returns the current line.
func (l *lines) line() []byte {
	line := l.Bytes()
	if l.escaped && bytes.IndexByte(line, '\\') >= 0 {
		line = []byte(unescape.Replace(string(line)))
	}
	return bytes.TrimRight(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \t\r")
}

// alike reports whether line begins as prefix does, but for the digits of times and the
// letters of names.
func alike(prefix, line []byte) bool {
	if len(line) < len(prefix) {
		return false
	}
	for i, c := range prefix {
		if class(c) != class(line[i]) {
			return false
		}
	}
	return true
}

func class(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return '0'
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return 'a'
	}
	return c
}
