// Package input reads lines from files, streams and connections, and sends what they
// say into the queue.
//
// What may enter this package: where bytes come from, how long to wait for them, and
// the account of each line. How bytes become lines is the business of package frame;
// what lines say, of package parse.
package input

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/sluice-go/sluice/bench/logagg/frame"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// An Intake is what all streams have in common. Its counts can be read at any time; a
// stream adds to them before it waits for more bytes.
type Intake struct {
	Queue   queue.Queue
	MaxLine int          // bytes of the longest line
	Service string       // of lines that name none
	Clock   func() int64 // nanoseconds
	Aside   *Aside       // for lines that are malformed; nil keeps none

	Lines     atomic.Int64 // lines begun, also those that were cut off
	Malformed atomic.Int64 // of these, those that are no events
	TooLong   atomic.Int64 // of the malformed, those above MaxLine
	Truncated atomic.Int64 // of the malformed, those cut off by the end of their stream
	Rejected  atomic.Int64 // events for which the queue had no room

	Connections atomic.Int64 // open now
	Refused     atomic.Int64 // connections closed at once: there were too many
	Slow        atomic.Int64 // connections closed because no line was complete in time
}

// A Source reads something until its end, or until ctx is done, into the intake.
type Source func(ctx context.Context, in *Intake) error

// A stream is one file or connection. It is the reader that its lines are cut from, so
// that it learns when no whole line is left: then it passes on what is kept back, and
// brings the counts up to date, before it waits.
type stream struct {
	in     *Intake
	name   string
	r      io.Reader
	before func(progress bool) error // called before each wait; progress: a line was complete since the last one
	text   bool                      // a file, in contrast to a connection

	sender queue.Sender
	readAt int64
	counts counts
}

// counts are those of a stream since it last added them to the intake.
type counts struct{ lines, malformed, tooLong, truncated, rejected int64 }

// read reads the stream to its end. It returns nil at the end, or what ended it.
func (s *stream) read(ctx context.Context) error {
	s.sender = s.in.Queue.Sender()
	defer s.settle()
	parser := parse.NewParser(s.in.Service)
	lines := frame.NewReader(s, s.in.MaxLine, s.text)
	for {
		line, err := lines.Next()
		switch {
		case err == nil:
			s.counts.lines++
			event, err := parser.Parse(line)
			if err != nil {
				s.setAside(line, err)
				continue
			}
			event.Read = s.readAt
			s.counts.rejected += int64(s.sender.Send(event))
		case err == frame.ErrTooLong:
			s.counts.lines++
			s.counts.tooLong++
			s.setAside(line, err)
		case err == frame.ErrTruncated && s.text && ctx.Err() != nil:
			// A file is left in the middle of a line: it was not accepted.
		case err == frame.ErrTruncated:
			s.counts.lines++
			s.counts.truncated++
			s.setAside(line, err)
		case err == io.EOF:
			return nil
		default:
			return err
		}
	}
}

// Read is called for more bytes when no whole line is left.
func (s *stream) Read(p []byte) (int, error) {
	progress := s.counts.lines > 0
	s.settle()
	if err := s.before(progress); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	s.readAt = s.in.Clock()
	return n, err
}

// settle leaves nothing behind: neither an event nor a count.
func (s *stream) settle() {
	s.counts.rejected += int64(s.sender.Flush())
	s.counts.addTo(s.in)
	s.counts = counts{}
}

func (c counts) addTo(in *Intake) {
	for _, count := range []struct {
		n  int64
		to *atomic.Int64
	}{
		{c.lines, &in.Lines},
		{c.malformed, &in.Malformed}, // before its parts: see pipeline.Ledger
		{c.tooLong, &in.TooLong},
		{c.truncated, &in.Truncated},
		{c.rejected, &in.Rejected},
	} {
		if count.n > 0 {
			count.to.Add(count.n)
		}
	}
}

func (s *stream) setAside(line []byte, why error) {
	s.counts.malformed++
	if s.in.Aside != nil {
		s.in.Aside.add(s.name, line, why)
	}
}
