package profile

import (
	"context"
	"path/filepath"
	"strings"
	"time"
)

// A glimpse is a trace of a few milliseconds. It gives GOMAXPROCS, which
// net/http/pprof has nowhere else, and what runs and wakes at one moment, at a
// cost that no service notices. It is no evidence that something does not
// happen.
const glimpseFile = "glimpse.out"

// The first glimpse of a busy service has 100 kB, most of it stacks. If it is
// small, a longer one costs no more.
const (
	firstGlimpse  = time.Millisecond
	secondGlimpse = 20 * time.Millisecond
	smallGlimpse  = 32 << 10 // bytes
	maxGlimpse    = 16 << 20 // bytes: thousands of goroutines have a stack each
)

// Glimpse takes a glimpse as well and returns the extended capture. A failure is
// in Capture.Missing.
func (s *Service) Glimpse(ctx context.Context) (*Capture, error) {
	s.due = s.due.Add(firstGlimpse + secondGlimpse)
	s.drop(KindGlimpse)
	err := s.try(ctx, KindGlimpse, func() error {
		if err := s.watched(ctx, "trace", glimpseFile, firstGlimpse, maxGlimpse); err != nil {
			return err
		}
		if last := s.files[len(s.files)-1]; len(last.Data) > smallGlimpse {
			return nil
		}
		s.drop(KindGlimpse)
		return s.watched(ctx, "trace", glimpseFile, secondGlimpse, maxGlimpse)
	})
	if err != nil {
		return nil, err
	}
	return s.capture()
}

// kindOfTrace returns the kind of a trace, by the name of its file.
func kindOfTrace(name string) Kind {
	base, _, _ := strings.Cut(filepath.Base(name), ".")
	if stem, _, _ := strings.Cut(glimpseFile, "."); base == stem {
		return KindGlimpse
	}
	return KindTrace
}
