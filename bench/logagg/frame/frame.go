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
	"bufio"
	"errors"
	"io"
)

// Errors of a line. Next may be called again after each of them.
var (
	ErrTooLong   = errors.New("line too long")
	ErrTruncated = errors.New("line cut off by the end of the stream")
)

// bufferBytes is the minimum size of a read: some hundred lines share its cost.
const bufferBytes = 64 << 10

// maxDigits limits an octet count; more digits are text.
const maxDigits = 9

// A Reader cuts one stream into lines. It is for one goroutine.
type Reader struct {
	r    *bufio.Reader
	max  int
	text bool
	err  error // of the stream, after its last line was returned
}

// NewReader returns a Reader of lines of at most max bytes; its buffer has 64
// KiB plus max bytes.
//
// A line that the end of the stream cuts off is ErrTruncated. In a text, the
// unterminated last bytes are a line, because editors and programs often omit
// the last line feed; on a connection, an unknown part may be missing.
func NewReader(r io.Reader, max int, text bool) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, bufferBytes+max), max: max, text: text}
}

// Next returns the next non-empty line, without its terminator. It is valid
// until the next call. Next reads from the stream only when no complete line is
// left, and returns the read error after all lines: io.EOF at the end.
func (r *Reader) Next() (line []byte, err error) {
	for len(line) == 0 && err == nil {
		if err = r.err; err == nil {
			line, err = r.cut()
		}
	}
	return line, err
}

// cut consumes one line.
func (r *Reader) cut() ([]byte, error) {
	count, head := r.octetCount()
	switch {
	case count > r.max:
		_, r.err = r.r.Discard(head + count)
		return nil, ErrTooLong
	case head > 0:
		framed, err := r.r.Peek(head + count)
		_, _ = r.r.Discard(len(framed)) // they are in the buffer, and stay valid
		if err != nil {
			r.err = err
			return nil, ErrTruncated
		}
		return trim(framed[head:]), nil
	}
	line, err := r.r.ReadSlice('\n')
	tooLong := len(trim(line)) > r.max
	for err == bufio.ErrBufferFull {
		tooLong = true
		_, err = r.r.ReadSlice('\n')
	}
	line, r.err = trim(line), err
	switch {
	case tooLong:
		return nil, ErrTooLong
	case len(line) > 0 && err != nil && !(r.text && err == io.EOF):
		return nil, ErrTruncated
	}
	return line, nil
}

// octetCount parses "COUNT SP" before a "<", and returns the count and the
// length of both, which is 0 if the bytes have another form. The required "<"
// avoids misreading text that begins with a number, such as an IP address. It
// reads more bytes only while all that are there may be a count.
func (r *Reader) octetCount() (count, head int) {
	for n := 1; ; n++ {
		window, err := r.r.Peek(n)
		if err != nil {
			return 0, 0
		}
		switch c := window[n-1]; {
		case c >= '0' && c <= '9' && n <= maxDigits && (c > '0' || n > 1):
			count = count*10 + int(c-'0')
		case c == ' ' && n > 1:
			if window, err = r.r.Peek(n + 1); err == nil && window[n] == '<' {
				return count, n
			}
			return 0, 0
		default:
			return 0, 0
		}
	}
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
