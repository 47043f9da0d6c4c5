// Package frame cuts a stream of bytes into lines. It reads the two framings of
// RFC 6587, which senders mix freely: octet counting, "57 <34>1 2026-…", where
// a number announces how many bytes follow, and lines that end with a line
// feed.
//
// Memory is bounded for any input: a line longer than the limit is skipped
// without being stored, and reported once.
//
// This package finds the boundaries of lines. Package parse parses their
// content.
package frame

import (
	"bytes"
	"errors"
	"io"
)

// Errors of a line. Next may be called again after each of them.
var (
	// ErrTooLong: the line was longer than the limit; its beginning is
	// returned.
	ErrTooLong = errors.New("line too long")
	// ErrTruncated: the stream ended within the line.
	ErrTruncated = errors.New("line cut off by the end of the stream")
)

// bufferBytes is the minimum size of a read: some hundred lines share its cost.
const bufferBytes = 64 << 10

// maxDigits limits an octet count; more digits are text.
const maxDigits = 9

// A Reader cuts one stream into lines. It is for one goroutine.
//
// Invariants: buf[start:end] has been read and is not consumed. Its first
// scanned bytes contain no line feed. At most one of skipOctets and skipLine is
// set, and only while the rest of a line that is too long is skipped.
type Reader struct {
	r    io.Reader
	max  int
	text bool

	buf        []byte
	start, end int
	scanned    int
	skipOctets int  // number of bytes to skip
	skipLine   bool // skip everything up to the next line feed
	err        error
}

// NewReader returns a Reader of lines of at most max bytes; its buffer has 64
// KiB plus max bytes.
//
// A line that the end of the stream cuts off is ErrTruncated. In a text, the
// unterminated last bytes are a line, because editors and programs often omit
// the last line feed; on a connection, an unknown part may be missing.
func NewReader(r io.Reader, max int, text bool) *Reader {
	return &Reader{r: r, max: max, text: text, buf: make([]byte, bufferBytes+max)}
}

// Next returns the next non-empty line, without its terminator. It is valid
// until the next call. Next reads from the stream only when no complete line is
// left, and returns the read error after all lines: io.EOF at the end.
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

// fill moves the remaining bytes, less than a line, to the front and reads
// once.
func (r *Reader) fill() {
	copy(r.buf, r.buf[r.start:r.end])
	r.start, r.end = 0, r.end-r.start
	n, err := r.r.Read(r.buf[r.end:])
	r.end += n
	r.err = err
}

// last returns the bytes before the end of the stream, and then the end.
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

// cut removes one line from the buffer, if a complete one is there.
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
		// The next byte may be the line feed, and the terminator does not
		// count.
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

// passOver skips the rest of a line that was too long. It reports whether the
// rest has arrived completely.
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

// take consumes head+n bytes and returns the last n.
func (r *Reader) take(n, head int) []byte {
	from := r.start + head
	r.start = from + n
	r.scanned = 0
	return r.buf[from:r.start]
}

// octetCount parses "COUNT SP" before a "<". head is its length, 0 if the bytes
// have another form, and -1 if more bytes are needed to decide. The required
// "<" avoids misreading text that begins with a number, such as an IP address.
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

// trim removes the terminator of a line: senders also use CR LF and, even in
// octet-counted frames, a line feed or NUL.
func trim(line []byte) []byte {
	for n := len(line); n > 0; n-- {
		if c := line[n-1]; c != '\n' && c != '\r' && c != 0 {
			return line[:n]
		}
	}
	return nil
}
