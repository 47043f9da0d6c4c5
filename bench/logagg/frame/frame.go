// Package frame cuts a stream of bytes into lines. It reads the two framings of RFC
// 6587, which senders mix freely: octet counting, "57 <34>1 2026-…", where a number
// says how many bytes follow, and lines that end with a line feed.
//
// Memory is bounded whatever is sent: a line longer than the limit is passed over
// without being kept, and reported once.
//
// What may enter this package: where a line begins and ends. What it says is the
// business of package parse.
package frame

import (
	"bytes"
	"errors"
	"io"
)

// What is wrong with a line. After each of them Next may be called again.
var (
	// ErrTooLong: the line was longer than the limit; what is returned is its begin.
	ErrTooLong = errors.New("line too long")
	// ErrTruncated: the stream ended within the line.
	ErrTruncated = errors.New("line cut off by the end of the stream")
)

// bufferBytes is how much a read can bring, at least: one that brings some hundred lines
// is paid for by all of them.
const bufferBytes = 64 << 10

// maxDigits bounds the number of an octet count; more digits are text.
const maxDigits = 9

// A Reader cuts one stream. It is for one goroutine.
//
// Invariants: buf[start:end] was read and is not consumed. The first scanned bytes of
// it hold no line feed. At most one of skipOctets and skipLine is set, and only while
// the rest of a line that is too long is passed over.
type Reader struct {
	r    io.Reader
	max  int
	text bool

	buf        []byte
	start, end int
	scanned    int
	skipOctets int  // bytes to pass over
	skipLine   bool // pass over all up to the next line feed
	err        error
}

// NewReader returns a Reader of lines of at most max bytes; it holds 64 KiB and
// max bytes more.
//
// A line that the end of the stream cuts off is ErrTruncated. If the stream is a text,
// what stands at its end is a line all the same, for editors and programs often leave out
// the last line feed; on a connection nobody can tell what is missing.
func NewReader(r io.Reader, max int, text bool) *Reader {
	return &Reader{r: r, max: max, text: text, buf: make([]byte, bufferBytes+max)}
}

// Next returns the next line that is not empty, without its end. It is valid until the
// next call. It calls Read of the stream only when it has no whole line left, and
// returns that one's error, io.EOF at the end, after all lines.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err, found := r.cut()
		switch {
		case found && len(line) == 0 && err == nil:
		case found:
			return line, err
		case r.err != nil:
			return r.last()
		default:
			r.fill()
		}
	}
}

// fill reads once, after moving what is left to the front: it is less than a line.
func (r *Reader) fill() {
	copy(r.buf, r.buf[r.start:r.end])
	r.start, r.end = 0, r.end-r.start
	n, err := r.r.Read(r.buf[r.end:])
	r.end += n
	r.err = err
}

// last returns what stands before the end of the stream, and then the end.
func (r *Reader) last() ([]byte, error) {
	rest := trim(r.take(r.end-r.start, 0))
	switch {
	case len(rest) == 0:
		return nil, r.err
	case r.text && r.err == io.EOF:
		return rest, nil
	}
	return rest, ErrTruncated
}

// cut takes one line out of the buffer, if a whole one is there.
func (r *Reader) cut() (line []byte, err error, found bool) {
	if !r.passOver() {
		return nil, nil, false
	}
	window := r.buf[r.start:r.end]
	if len(window) > 0 && window[0] >= '1' && window[0] <= '9' {
		switch count, head := octetCount(window); {
		case head < 0:
			return nil, nil, false
		case head > 0 && count > r.max:
			line = r.take(min(len(window)-head, count), head)
			r.skipOctets = count - len(line)
			return line[:min(len(line), r.max)], ErrTooLong, true
		case head > 0 && len(window) < head+count:
			return nil, nil, false
		case head > 0:
			return trim(r.take(count, head)), nil, true
		}
	}
	i := bytes.IndexByte(window[r.scanned:], '\n')
	if i < 0 {
		r.scanned = len(window)
		// What comes next may be its line feed, and what ends it does not count.
		if len(trim(window)) <= r.max && len(window) < len(r.buf) {
			return nil, nil, false
		}
		r.skipLine = true
		return r.take(len(window), 0)[:r.max], ErrTooLong, true
	}
	line = trim(r.take(r.scanned+i+1, 0))
	if len(line) > r.max {
		return line[:r.max], ErrTooLong, true
	}
	return line, nil, true
}

// passOver drops the rest of a line that was too long. It reports whether all of that
// has come.
func (r *Reader) passOver() bool {
	if n := min(r.skipOctets, r.end-r.start); n > 0 {
		r.take(n, 0)
		r.skipOctets -= n
	}
	if r.skipLine {
		i := bytes.IndexByte(r.buf[r.start:r.end], '\n')
		if i < 0 {
			r.take(r.end-r.start, 0)
			return false
		}
		r.take(i+1, 0)
		r.skipLine = false
	}
	return r.skipOctets == 0
}

// take consumes head bytes and n more, and returns the latter.
func (r *Reader) take(n, head int) []byte {
	from := r.start + head
	r.start = from + n
	r.scanned = 0
	return r.buf[from:r.start]
}

// octetCount reads "COUNT SP" before a "<". head is the length of the former, 0 if that
// is not what stands there, and -1 if more bytes are needed to know. The "<" keeps text
// that begins with a number, an address for example, from being taken for a count.
func octetCount(window []byte) (count, head int) {
	for i, c := range window {
		switch {
		case c >= '0' && c <= '9' && i < maxDigits:
			count = count*10 + int(c-'0')
		case c == ' ' && i+1 == len(window):
			return 0, -1
		case c == ' ' && window[i+1] == '<':
			return count, i + 1
		default:
			return 0, 0
		}
	}
	return 0, -1
}

// trim takes off what ends a line: senders also use CR LF and, in octet-counted frames
// too, a line feed or NUL.
func trim(line []byte) []byte {
	for n := len(line); n > 0; n-- {
		if c := line[n-1]; c != '\n' && c != '\r' && c != 0 {
			return line[:n]
		}
	}
	return nil
}
