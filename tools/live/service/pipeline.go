package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// A pipeline has the stages read, parse and store, one of which is slow:
// a request for /slow?stage=NAME chooses it.
type pipeline struct {
	slow          atomic.Pointer[string]
	lines, events *sluice.Bounded[int]
}

func newPipeline(ctx context.Context) *pipeline {
	p := &pipeline{
		lines:  sluice.NewBounded[int](16, &sluice.BoundedOptions[int]{Name: "lines"}),
		events: sluice.NewBounded[int](16, &sluice.BoundedOptions[int]{Name: "events"}),
	}
	none := ""
	p.slow.Store(&none)
	go read(ctx, p)
	go parse(ctx, p)
	go store(ctx, p)
	return p
}

func (p *pipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stage := r.FormValue("stage")
	p.slow.Store(&stage)
}

// work takes the time of a stage for one value.
func (p *pipeline) work(stage string) {
	if *p.slow.Load() == stage {
		time.Sleep(20 * time.Millisecond)
		return
	}
	time.Sleep(time.Millisecond)
}

func read(ctx context.Context, p *pipeline) {
	for line := 0; p.lines.Send(ctx, line) == nil; line++ {
		p.work("read")
	}
}

func parse(ctx context.Context, p *pipeline) {
	for {
		line, err := p.lines.Recv(ctx)
		if err != nil {
			return
		}
		p.work("parse")
		if p.events.Send(ctx, line) != nil {
			return
		}
	}
}

func store(ctx context.Context, p *pipeline) {
	for {
		if _, err := p.events.Recv(ctx); err != nil {
			return
		}
		p.work("store")
	}
}
