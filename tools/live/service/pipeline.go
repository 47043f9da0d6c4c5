package main

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
)

// A pipeline reads the log of a small web shop:
//
//	read -> lines -> parse -> events -> enrich -> orders -> store
//	                                    enrich -> samples -> aggregate
//
// One stage is the slowest: parse, until a request for /slow?stage=NAME chooses another
// one. aggregate is slower than parse, so that samples are dropped, but not than read.
type pipeline struct {
	slow          atomic.Pointer[string]
	lines, events *sluice.Bounded[int]
	orders        *sluice.Elastic[int]
	samples       *sluice.Bounded[int]
}

func newPipeline(ctx context.Context) *pipeline {
	p := &pipeline{
		lines:   sluice.NewBounded[int](1024, &sluice.BoundedOptions[int]{Name: "lines"}),
		events:  sluice.NewBounded[int](512, &sluice.BoundedOptions[int]{Name: "events"}),
		orders:  sluice.NewElastic(100_000, &sluice.ElasticOptions[int]{Name: "orders"}),
		samples: sluice.NewBounded[int](64, &sluice.BoundedOptions[int]{Name: "samples", Overflow: sluice.DropOldest}),
	}
	first := "parse"
	p.slow.Store(&first)
	for range 3 {
		go read(ctx, p)
	}
	go parse(ctx, p)
	go enrich(ctx, p)
	go store(ctx, p)
	go aggregate(ctx, p)
	return p
}

func (p *pipeline) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stage := r.FormValue("stage")
	p.slow.Store(&stage)
}

// work takes the time of a stage for one value, if that stage is the slow one.
func (p *pipeline) work(stage string, duration time.Duration) {
	if *p.slow.Load() == stage {
		time.Sleep(duration)
	}
}

func read(ctx context.Context, p *pipeline) {
	for line := 0; p.lines.Send(ctx, line) == nil; line++ {
		p.work("read", 10*time.Millisecond)
	}
}

func parse(ctx context.Context, p *pipeline) {
	for line := range p.lines.Values(ctx).All() {
		p.work("parse", time.Millisecond)
		if p.events.Send(ctx, line) != nil {
			return
		}
	}
}

func enrich(ctx context.Context, p *pipeline) {
	for event := range p.events.Values(ctx).All() {
		p.work("enrich", time.Millisecond)
		if p.samples.Send(ctx, event) != nil || p.orders.Send(ctx, event) != nil {
			return
		}
	}
}

func store(ctx context.Context, p *pipeline) {
	for range p.orders.Values(ctx).All() {
		p.work("store", time.Millisecond)
	}
}

func aggregate(ctx context.Context, p *pipeline) {
	for range p.samples.Values(ctx).All() {
		time.Sleep(2 * time.Millisecond)
	}
}
