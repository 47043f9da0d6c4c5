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
	"sync/atomic"

	"github.com/sluice-go/sluice/bench/logagg/frame"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// An Intake contains what all streams share. Its counters can be read at any
// time; a stream updates them before it waits for more bytes.
type Intake struct {
	Queue queue.Queue
	Clock func() int64 // nanoseconds

	Lines     atomic.Int64 // lines begun, including those that were cut off
	Malformed atomic.Int64 // lines that are not events
	TooLong   atomic.Int64 // malformed lines longer than maxLine
	Truncated atomic.Int64 // malformed lines cut off by the end of their stream
	Rejected  atomic.Int64 // events for which the queue had no room

	Connections atomic.Int64 // open now
	Refused     atomic.Int64 // connections closed at once, above the maximum number
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
	counts counts
}

// counts are a stream's counts since it last added them to the intake.
type counts struct{ lines, malformed, tooLong, truncated, rejected int64 }

// read reads the stream to its end. It returns nil at the end, or the error
// that ended it.
func (s *stream) read(ctx context.Context) error {
	s.sender = s.in.Queue.Sender()
	defer s.settle()
	parser := parse.NewParser(unknownService)
	lines := frame.NewReader(s, maxLine, s.text)
	for {
		line, err := lines.Next()
		switch {
		case err == nil:
			s.counts.lines++
			event, err := parser.Parse(line)
			if err != nil {
				s.counts.malformed++
				continue
			}
			event.Read = s.readAt
			s.counts.rejected += int64(s.sender.Send(event))
		case err == frame.ErrTooLong:
			s.counts.lines++
			s.counts.tooLong++
			s.counts.malformed++
		case err == frame.ErrTruncated && s.text && ctx.Err() != nil:
			// A file may be left in the middle of a line: that line does not
			// count.
		case err == frame.ErrTruncated:
			s.counts.lines++
			s.counts.truncated++
			s.counts.malformed++
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

// settle sends buffered events and updates the counters.
func (s *stream) settle() {
	c := s.counts
	c.rejected += int64(s.sender.Flush())
	s.in.Lines.Add(c.lines)
	s.in.Malformed.Add(c.malformed) // before its parts: see pipeline.Ledger
	s.in.TooLong.Add(c.tooLong)
	s.in.Truncated.Add(c.truncated)
	s.in.Rejected.Add(c.rejected)
	s.counts = counts{}
}
