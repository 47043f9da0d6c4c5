package stage_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/batch"
	"github.com/sluice-go/sluice/bridge"
	"github.com/sluice-go/sluice/source"
	"github.com/sluice-go/sluice/workers"
)

// earlyStages receive 11 values or a few more from r, then end early.
var earlyStages = map[string]func(t *testing.T, r sluice.BatchReceiver[int]){
	"batch.Receive": func(t *testing.T, r sluice.BatchReceiver[int]) {
		n := 0
		for vs := range batch.Receive(t.Context(), r, 3, nil).All() {
			if n += len(vs); n > 10 {
				break
			}
		}
	},
	"workers.Run": func(t *testing.T, r sluice.BatchReceiver[int]) {
		broken := errors.New("broken")
		err := workers.Run(t.Context(), r, 3, func(_ context.Context, v int) error {
			if v == 10 {
				return broken
			}
			return nil
		}, nil)
		if !errors.Is(err, broken) {
			t.Errorf("Run: %v", err)
		}
	},
	"bridge.ToChan": func(t *testing.T, r sluice.BatchReceiver[int]) {
		ctx, cancel := context.WithCancel(t.Context())
		values, rest := bridge.ToChan(ctx, r)
		for range 11 {
			<-values
		}
		cancel()
		_, _ = rest()
	},
}

// TestStagesOfIterator: a stage that ends early stops the iterator, unless it is left open. Then
// the iterator continues. The bubble ends only if all goroutines do.
func TestStagesOfIterator(t *testing.T) {
	for name, stage := range earlyStages {
		for _, open := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var ended bool
				src := source.Seq(func(yield func(int) bool) {
					defer func() { ended = true }()
					for i := 0; yield(i); i++ { // however long the worker that fails is preempted
					}
				})
				defer src.Close()
				var r sluice.BatchReceiver[int] = src
				if open {
					r = sluice.LeaveOpen(r)
				}
				stage(t, r)
				if _, err := src.TryRecv(); ended == open || (err == nil) != open {
					t.Errorf("%s, open %v: stopped %v, the next receive: %v", name, open, ended, err)
				}
			})
		}
	}
}

// TestLockedThreads: workers on threads of their own receive from a slice, and refuse an
// iterator, with which the runtime would end the program.
func TestLockedThreads(t *testing.T) {
	for name, r := range map[string]*source.Receiver[int]{
		"Slice": source.Slice(make([]int, 100)),
		"Seq":   source.Seq(slices.Values(make([]int, 100))),
		"Seq2":  source.Seq2(func(yield func(int, error) bool) { yield(0, nil) }),
	} {
		var ran atomic.Int64
		var refusal string
		func() {
			defer func() {
				if p := recover(); p != nil {
					refusal = fmt.Sprint(p)
				}
			}()
			err := workers.Run(t.Context(), sluice.LeaveOpen[int](r), 3, func(context.Context, int) error {
				ran.Add(1)
				return nil
			}, &workers.RunOptions[int]{LockOSThread: true})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if name == "Slice" {
			if ran.Load() != 100 || refusal != "" {
				t.Errorf("%s: %d jobs ran, refused: %q", name, ran.Load(), refusal)
			}
		} else if ran.Load() != 0 || !strings.Contains(refusal, "workers: Run: LockOSThread") {
			t.Errorf("%s: %d jobs ran, refused: %q", name, ran.Load(), refusal)
		}
	}
}
