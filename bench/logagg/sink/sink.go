// Package sink ships counts: to a file, to a stream such as the standard
// output, or to a server by HTTP. It retries a failed delivery with increasing
// delays until it succeeds or the service ends. Meanwhile Ship does not return,
// which slows down all stages before it.
//
// This package contains destinations and the handling of their failures.
package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/sluice-go/sluice/bench/logagg/count"
)

// A Sink ships tables of counts, one after the other.
type Sink struct {
	Retries func(err error, wait time.Duration) // called after each failed delivery, if set
	Lost    func(err error, lines int64)        // called for each table that is given up, if set
	Pace    func() backoff.BackOff              // delays between two deliveries of one table

	to     destination
	text   []byte // the encoded table
	tables int64  // number of tables passed to Ship
}

// A destination receives text, which consists of complete lines; after an error
// it receives the rest again. n is the number of bytes that need not be
// repeated. A *backoff.PermanentError means that no retry can succeed.
type destination interface {
	deliver(ctx context.Context, table int64, text []byte) (n int, err error)
	Close() error
}

// Open returns the sink at a place: "-" is stdout, an address that begins with
// http:// or https:// is a server, and anything else is a file, to which the
// counts are appended.
func Open(place string, stdout io.Writer) (*Sink, error) {
	s := &Sink{Pace: pace}
	switch {
	case place == "":
		return nil, errors.New("empty sink (want a file, http://… or -)")
	case place == "-":
		s.to = &stream{Writer: stdout}
	case strings.HasPrefix(place, "http://"), strings.HasPrefix(place, "https://"):
		server, err := newServer(place)
		if err != nil {
			return nil, err
		}
		s.to = server
	default:
		file, err := openAppended(place)
		if err != nil {
			return nil, fmt.Errorf("the sink: %w", err)
		}
		s.to = file
	}
	return s, nil
}

// Nowhere returns a sink that discards the counts, for users who need only the
// summary.
func Nowhere() *Sink { return &Sink{Pace: pace, to: &stream{Writer: io.Discard}} }

// The shortest and the longest delay between two deliveries.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// pace doubles the delay from try to try, with a random deviation of up to
// half, so that many services do not return to one server at the same time.
func pace() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = firstWait, longestWait, 2
	return b
}

// Ship delivers t, with as many retries as necessary. It returns nil once t is
// delivered completely; otherwise ctx is done, or the destination rejects t
// permanently. The error includes the error of the last try.
func (s *Sink) Ship(ctx context.Context, t *count.Table) error {
	if t.Lines() == 0 {
		return nil
	}
	s.text = t.AppendJSON(s.text[:0])
	rest := s.text
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		var n int
		n, last = s.to.deliver(ctx, s.tables, rest)
		rest = rest[n:]
		return struct{}{}, last
	}, backoff.WithBackOff(s.Pace()), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, wait time.Duration) {
		if s.Retries != nil {
			s.Retries(err, wait)
		}
	}))
	s.tables++
	if err != nil && !errors.Is(last, err) {
		err = fmt.Errorf("gave up, out of time (%w): %w", err, last)
	}
	if err != nil && s.Lost != nil {
		s.Lost(err, t.Lines())
	}
	return err
}

// Close closes the destination. By then, a file's content is on its disk.
func (s *Sink) Close() error { return s.to.Close() }

// stream is a writer owned by the caller. A short write, for example to a full
// disk, continues where it stopped.
type stream struct {
	io.Writer
	torn  bool  // the last write ended within a row
	table int64 // the table of that row
}

func (s *stream) deliver(_ context.Context, table int64, text []byte) (int, error) {
	if s.torn && table != s.table {
		// The rest of the row was given up with its table. Begin a new line.
		if _, err := s.Write([]byte{'\n'}); err != nil {
			return 0, err
		}
		s.torn = false
	}
	n, err := s.Write(text)
	if n > 0 {
		s.torn, s.table = text[n-1] != '\n', table
	}
	return n, err
}

func (s *stream) Close() error { return nil }

// appended is a file owned by the sink.
type appended struct {
	stream
	file *os.File
}

func openAppended(path string) (*appended, error) {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, err
	}
	return &appended{stream{Writer: file}, file}, nil
}

// Close syncs a file to its disk. A device or a pipe does not support that.
func (a *appended) Close() error {
	info, err := a.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = a.file.Sync()
	}
	return errors.Join(err, a.file.Close())
}
