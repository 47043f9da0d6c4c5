// Package sink ships counts: to a file, to a stream such as the standard output, or to a
// server by HTTP. A delivery that fails is made again, ever more slowly, until it
// succeeds or the service ends: meanwhile Ship does not return, and that is what slows
// down all that comes before it.
//
// What may enter this package: where counts go, and what to do when they do not get
// there.
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

// A Sink takes tables of counts, one after the other.
type Sink struct {
	Retries func(err error, wait time.Duration) // told of each delivery that failed, if set
	Lost    func(err error, lines int64)        // told of each table that is given up, if set
	Pace    func() backoff.BackOff              // how long to wait between two deliveries of one table

	to     destination
	text   []byte // of the table that is shipped
	tables int64  // that Ship was given
}

// A destination takes text, which consists of whole lines, and is given what is left of
// it again after an error. n counts the bytes that need not be given again. An error
// that no repetition can mend is a *backoff.PermanentError.
type destination interface {
	deliver(ctx context.Context, table int64, text []byte) (n int, err error)
	Close() error
}

// Open returns the sink at a place: "-" is stdout, an address that begins with http://
// or https:// a server, and anything else a file, to which the counts are appended.
func Open(place string, stdout io.Writer) (*Sink, error) {
	s := &Sink{Pace: pace}
	switch {
	case place == "":
		return nil, errors.New("the sink has no name")
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

// Nowhere returns a sink for whoever wants nothing but the summary.
func Nowhere() *Sink { return &Sink{Pace: pace, to: &stream{Writer: io.Discard}} }

// The first wait between two deliveries, and the longest.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 30 * time.Second
)

// pace doubles the wait from try to try, give or take half of it at random, so that
// many services do not come back to one server all at once.
func pace() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = firstWait, longestWait, 2
	return b
}

// Ship delivers t, however often that takes. It returns nil once t is delivered as a
// whole; otherwise ctx is done, or the destination refuses t for good. The error also has
// that of the last try.
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
		err = fmt.Errorf("given up, for there was no time left (%w): %w", err, last)
	}
	if err != nil && s.Lost != nil {
		s.Lost(err, t.Lines())
	}
	return err
}

// Close closes the destination. What was shipped to a file is on its disk then.
func (s *Sink) Close() error { return s.to.Close() }

// stream is a writer that is not ours to close. A write that was cut short, by a full disk
// for example, goes on where it stopped.
type stream struct {
	io.Writer
	torn  bool  // what was written ends within a row
	table int64 // of that row
}

func (s *stream) deliver(_ context.Context, table int64, text []byte) (int, error) {
	if s.torn && table != s.table {
		// The rest of the row was given up with its table. This one begins a new line.
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

// appended is a file of ours.
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

// Close brings a file to its disk. A device or a pipe has none.
func (a *appended) Close() error {
	info, err := a.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = a.file.Sync()
	}
	return errors.Join(err, a.file.Close())
}
