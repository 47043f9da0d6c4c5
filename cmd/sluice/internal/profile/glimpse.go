package profile

import (
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

// A savedGlimpse is the figures of a glimpse, which are a tenth of its size.
type savedGlimpse struct {
	Format     string `json:"format"`
	GOMAXPROCS int    `json:"gomaxprocs,omitempty"`
	Glimpse    *Trace `json:"glimpse"`
}

const (
	glimpseFormat = "sluice glimpse 1"
	savedFile     = "glimpse.json"
)

// readSavedGlimpse reads the figures of a glimpse.
func readSavedGlimpse(text []byte) (*Trace, int, error) {
	var saved savedGlimpse
	if err := json.Unmarshal(text, &saved); err != nil {
		return nil, 0, fmt.Errorf("invalid figures of a short trace: %w", err)
	}
	t := saved.Glimpse
	if t == nil || t.Window < 0 || t.Running < 0 || t.Runnable < 0 || t.Wakeups < 0 || saved.GOMAXPROCS < 0 || saved.GOMAXPROCS > maxCores {
		return nil, 0, errors.New("impossible figures of a short trace")
	}
	return t, saved.GOMAXPROCS, nil
}

// condense replaces the trace of a glimpse by its figures.
func (s *Service) condense() error {
	_, part := s.parts.of(KindGlimpse)
	text, err := json.MarshalIndent(savedGlimpse{glimpseFormat, part.procs, part.trace}, "", " ")
	if err != nil {
		return err
	}
	last := &s.files[len(s.files)-1]
	last.Name, last.Data, part.name = savedFile, text, savedFile
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
	s.drop(KindGlimpse)
	err := s.try(ctx, KindGlimpse, func() error {
		if err := s.watched(ctx, "trace", glimpseFile, firstGlimpse, maxGlimpse); err != nil {
			return err
		}
		if last := s.files[len(s.files)-1]; len(last.Data) > smallGlimpse {
			return s.condense()
		}
		s.drop(KindGlimpse)
		if err := s.watched(ctx, "trace", glimpseFile, secondGlimpse, maxGlimpse); err != nil {
			return err
		}
		return s.condense()
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
