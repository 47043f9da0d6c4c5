package sluice_test

import (
	"context"
	"runtime"
	"time"

	"github.com/sluice-go/sluice"
)

// selectKinds contains constructors of channels of every engine, policy and way to
// wait. A Select may mix any of them.
var selectKinds = map[string]func(drop func(int)) sluice.Channel[int]{
	"Rendezvous": func(func(int)) sluice.Channel[int] { return sluice.NewRendezvous[int](nil) },
	"Bounded 1":  func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](1, nil) },
	"Bounded 3":  func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](3, nil) },
	"Bounded 2":  func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](2, nil) },
	"Bounded 16": func(func(int)) sluice.Channel[int] { return sluice.NewBounded[int](16, nil) },
	"Elastic 2":  func(func(int)) sluice.Channel[int] { return sluice.NewElastic[int](2, nil) },
	"Elastic 1":  func(func(int)) sluice.Channel[int] { return sluice.NewElastic[int](1, nil) },
	"Elastic of bytes": func(func(int)) sluice.Channel[int] {
		return sluice.NewElastic(3, &sluice.ElasticOptions[int]{MaxBytes: 5, Size: byteSize})
	},
	"Bounded 2 DropOldest": func(drop func(int)) sluice.Channel[int] {
		return sluice.NewBounded(2, &sluice.BoundedOptions[int]{Overflow: sluice.DropOldest, OnUndelivered: dropped(drop)})
	},
	"Elastic 2 DropNewest": func(drop func(int)) sluice.Channel[int] {
		return sluice.NewElastic(2, &sluice.ElasticOptions[int]{Overflow: sluice.DropNewest, OnUndelivered: dropped(drop)})
	},
	"Aged 2": func(func(int)) sluice.Channel[int] {
		return sluice.NewAged(2, &sluice.AgedOptions[int]{MaxAge: 1000 * time.Hour})
	},
	"Delay 2":    func(func(int)) sluice.Channel[int] { return sluice.NewDelay[int](2, nil) },
	"Priority 2": func(func(int)) sluice.Channel[int] { return sluice.NewPriority[int](2, 2, nil) },
	"Priority 2 DropLeastUrgent": func(drop func(int)) sluice.Channel[int] {
		return sluice.NewPriority(2, 2, &sluice.PriorityOptions[int]{Overflow: sluice.DropLeastUrgent, OnUndelivered: dropped(drop)})
	},
	"Bounded 1 Reject": func(func(int)) sluice.Channel[int] {
		return sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.Reject})
	},
}

// byteSize returns the size of a value in "Elastic of bytes".
func byteSize(v int) int { return 1 + v%3 }

// yielding is a context whose methods yield the processor.
type yielding struct{ context.Context }

func (y yielding) Done() <-chan struct{} {
	defer runtime.Gosched()
	return y.Context.Done()
}

func (y yielding) Err() error {
	defer runtime.Gosched()
	return y.Context.Err()
}
