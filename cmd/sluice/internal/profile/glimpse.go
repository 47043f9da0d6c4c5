package profile

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// A glimpse is a trace of a few milliseconds. It gives GOMAXPROCS, which
// net/http/pprof has nowhere else, and what runs and wakes at one moment, at a
// cost that no service notices. It is no evidence that something does not
// happen.
const glimpseFile = "glimpse.out"

// savedFigures are the figures of a trace that the doctor took by itself, which
// are a small part of its size.
type savedFigures struct {
	Format     string `json:"format"`
	GOMAXPROCS int    `json:"gomaxprocs,omitempty"`
	Glimpse    *Trace `json:"glimpse,omitempty"` // of figuresOf[KindGlimpse]
	Trace      *Trace `json:"trace,omitempty"`   // of figuresOf[KindTrace]
}

// figuresOf are the formats and names of saved figures by kind.
var figuresOf = map[Kind]struct{ format, file string }{
	KindGlimpse: {"sluice glimpse 1", "glimpse.json"},
	KindTrace:   {"sluice trace 1", "trace.json"},
}

// kindOfFigures returns the kind of trace with a format of figures, or "".
func kindOfFigures(format string) Kind {
	for kind, f := range figuresOf {
		if f.format == format {
			return kind
		}
	}
	return ""
}

// readFigures reads the figures of a trace.
func readFigures(text []byte) (*Trace, int, error) {
	var saved savedFigures
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, 0, fmt.Errorf("invalid figures of a trace: %w", err)
	}
	t := cmp.Or(saved.Glimpse, saved.Trace)
	if t == nil || t.Window < 0 || t.Running < 0 || t.Runnable < 0 || t.Wakeups < 0 || saved.GOMAXPROCS < 0 || saved.GOMAXPROCS > maxCores {
		return nil, 0, errors.New("impossible figures of a trace")
	}
	for _, s := range t.Sites {
		if s.Parks < 0 || s.Waited < 0 || s.Still < 0 {
			return nil, 0, errors.New("impossible figures of a wait in a trace")
		}
	}
	for _, s := range t.Stages {
		if s.Count < 0 || s.Running < 0 || s.Runnable < 0 || s.Waiting < 0 {
			return nil, 0, errors.New("impossible figures of goroutines in a trace")
		}
	}
	return t, saved.GOMAXPROCS, nil
}

// condense replaces a trace by its figures, in what is saved.
func (s *Service) condense(kind Kind) error {
	_, part := s.parts.of(kind)
	saved := savedFigures{Format: figuresOf[kind].format, GOMAXPROCS: part.procs}
	if kind == KindGlimpse {
		saved.Glimpse = part.trace
	} else {
		saved.Trace = part.trace
	}
	text, err := json.MarshalIndent(saved, "", " ")
	if err != nil {
		return err
	}
	last, name := &s.files[len(s.files)-1], figuresOf[kind].file
	last.Name, last.Data, part.name = name, text, name
	return nil
}

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
	return s.glimpse(ctx)
}

func (s *Service) glimpse(ctx context.Context) (*Capture, error) {
	s.drop(KindGlimpse)
	err := s.try(ctx, KindGlimpse, func() error {
		if err := s.watched(ctx, "trace", glimpseFile, firstGlimpse, maxGlimpse); err != nil {
			return err
		}
		if last := s.files[len(s.files)-1]; len(last.Data) > smallGlimpse {
			return s.condense(KindGlimpse)
		}
		s.drop(KindGlimpse)
		if err := s.watched(ctx, "trace", glimpseFile, secondGlimpse, maxGlimpse); err != nil {
			return err
		}
		return s.condense(KindGlimpse)
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
