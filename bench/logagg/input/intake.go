// Package input reads lines from files, streams and connections, and sends the
// parsed events into the queue.
//
// This package contains the sources of bytes, their timeouts, and the account
// of each line. Package frame cuts bytes into lines, and package parse parses
// them.
package input

import (
	"context"
	"io"
	"sync"

	"github.com/sluice-go/sluice/bench/logagg/frame"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// An Intake contains what all streams share.
type Intake struct {
	Queue queue.Queue
	Clock func() int64 // nanoseconds

	mu     sync.Mutex
	counts Counts
}

// Counts are those of an intake, of one moment. A stream adds its own before it waits for
// more bytes.
type Counts struct {
	In        int64 // lines begun, including those that were cut off
	Malformed int64 // lines that are not events, including TooLong and Truncated
	TooLong   int64 // lines longer than maxLine
	Truncated int64 // lines cut off by the end of their stream
	Rejected  int64 // events for which the queue, which had failed, had no room

	Connections int64 // open now
	Refused     int64 // connections closed at once, above the maximum number
}

// Counts returns the current counts.
func (in *Intake) Counts() Counts { return in.add(Counts{}) }

// add adds to the counts and returns them.
func (in *Intake) add(more Counts) Counts {
	in.mu.Lock()
	defer in.mu.Unlock()
	c := &in.counts
	c.In += more.In
	c.Malformed += more.Malformed
	c.TooLong += more.TooLong
	c.Truncated += more.Truncated
	c.Rejected += more.Rejected
	c.Connections += more.Connections
	c.Refused += more.Refused
	return *c
}

const (
	maxLine        = 8 << 10   // bytes
	unknownService = "unknown" // for lines without a service
)

// A Source reads its input until the end, or until ctx is done, into the
// intake.
type Source func(ctx context.Context, in *Intake) error

// A stream is one file or connection. It is also the reader that frame.Reader
// reads from, so it knows when no complete line is left: before it waits, it
// sends buffered events and updates the counters.
type stream struct {
	in     *Intake
	r      io.Reader
	before func() error // called before each wait
	text   bool         // a file rather than a connection

	sender *queue.Sender
	readAt int64
	counts Counts // since they were last added to the intake
}

// read reads the stream to its end. It returns nil at the end, or the error
// that ended it.
func (s *stream) read(ctx context.Context) error {
	s.sender = s.in.Queue.Sender()
	defer s.settle()
	parser := parse.NewParser(unknownService)
	lines := frame.NewReader(s, maxLine, s.text)
	for {
		line, err := lines.Next()
		switch c := &s.counts; {
		case err == nil:
			c.In++
			event, err := parser.Parse(line)
			if err != nil {
				c.Malformed++
				continue
			}
			event.Read = s.readAt
			c.Rejected += int64(s.sender.Send(event))
		case err == frame.ErrTooLong:
			c.In++
			c.TooLong++
			c.Malformed++
		case err == frame.ErrTruncated && s.text && ctx.Err() != nil:
			// A file may be left in the middle of a line: that line does not
			// count.
		case err == frame.ErrTruncated:
			c.In++
			c.Truncated++
			c.Malformed++
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// Read is called for more bytes when no complete line is left.
func (s *stream) Read(p []byte) (int, error) {
	s.settle()
	if err := s.before(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.readAt = s.in.Clock()
	return n, err
}

// settle sends buffered events and adds the counts to the intake's.
func (s *stream) settle() {
	s.counts.Rejected += int64(s.sender.Flush())
	s.in.add(s.counts)
	s.counts = Counts{}
}
