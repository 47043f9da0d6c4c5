// Package pipeline connects the parts of the service:
//
//	sources ---> queue ---> one goroutine that counts ---> one that ships ---> sink
//	(many)     (chosen)        (package count)      (one table)
//
// A pipeline without a sink ends at the queue, and one with the source Until
// begins there: the two halves may run on different machines.
//
// Each stage waits for the next one, so a failing sink stops first the
// shipping, then, when its table is full, the counting, then the readers, and
// finally the clients, whose TCP windows close. Memory stays bounded all the
// while.
//
// This package defines the order in which stages begin and end, and the account
// of all lines.
package pipeline

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// A Config describes a pipeline.
type Config struct {
	Sources  []input.Source
	Queue    queue.Queue
	Sink     Sink          // nil: the events are counted elsewhere
	Interval time.Duration // between two tables; 0: only when one is full, and at the end
	Rows     int           // of a full table
	Grace    time.Duration // time for the sink after the pipeline is told to end
}

// A Sink delivers tables; see package sink. Its error means that a table will
// never be delivered.
type Sink interface {
	Ship(ctx context.Context, t *count.Table) error
}

// A Pipeline runs once.
type Pipeline struct {
	config Config
	intake input.Intake
	tables *sluice.Bounded[parcel] // counted, to be shipped
	delays delays

	counted   atomic.Int64 // number of events
	shipped   atomic.Int64 // events in tables that were delivered
	unshipped atomic.Int64 // events in tables that never will be
}

// A parcel is a table with the receipt for the events that it counts.
type parcel struct {
	*count.Table
	receipt queue.Receipt
}

// Until is the source of a pipeline that reads nothing: it ends when ctx is
// done.
func Until(ctx context.Context, _ *input.Intake) error {
	<-ctx.Done()
	return nil
}

// New returns a pipeline that is not running yet.
func New(c Config) *Pipeline {
	p := &Pipeline{config: c, tables: sluice.NewBounded[parcel](1, &sluice.BoundedOptions[parcel]{Name: "tables"})}
	began := time.Now()
	p.intake.Queue = c.Queue
	p.intake.Clock = func() int64 { return int64(time.Since(began)) }
	if c.Queue.Account().Shared { // events from other processes are counted here
		p.intake.Clock = func() int64 { return time.Now().UnixNano() }
	}
	return p
}

// Run runs the pipeline until all sources have ended, on their own or because
// ctx is done, and all their lines are counted and shipped. Once ctx is done,
// the sink has at most Grace for that. The error joins the errors of the
// sources and the sink.
func (p *Pipeline) Run(ctx context.Context) error {
	shipping, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	grace := time.AfterFunc(time.Hour, func() {
		giveUp()
		p.config.Queue.GiveUp()
	})
	grace.Stop()
	defer grace.Stop()
	defer context.AfterFunc(ctx, func() { grace.Reset(p.config.Grace) })()

	var stages sync.WaitGroup
	var shipped error
	reading, stop := context.WithCancel(ctx)
	defer stop()
	if p.config.Sink != nil {
		stages.Go(func() { shipped = p.ship(shipping) })
		stages.Go(func() {
			p.count()
			stop() // without a receiver, the queue must not fill
		})
	}
	read := p.read(reading)
	p.config.Queue.Close()
	stages.Wait()
	return errors.Join(read, shipped, p.config.Queue.End())
}

// read runs all sources and the clock, and returns when all have ended.
func (p *Pipeline) read(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var clock, sources sync.WaitGroup
	if p.config.Interval > 0 && p.config.Sink != nil {
		clock.Go(func() { p.tick(running) })
	}
	failed := make([]error, len(p.config.Sources))
	for i, source := range p.config.Sources {
		sources.Go(func() { failed[i] = source(ctx, &p.intake) })
	}
	sources.Wait()
	stop()
	clock.Wait()
	return errors.Join(failed...)
}

// tick sends clock ticks through the queue, in order with the events. The
// counting goroutine therefore waits in one place and needs no select.
func (p *Pipeline) tick(ctx context.Context) {
	ticker := time.NewTicker(p.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			p.config.Queue.Tick()
		}
	}
}

// sampled is the number of events per measured delay and per update of the
// public counter: reading the clock costs as much as counting.
const sampled = 64

// maxOwed limits the outstanding receipts per table: the table may stay small
// while the sink is down, but its events are held where they came from.
const maxOwed = 1 << 14

// count counts the events of the queue until it is closed and drained. After a
// tick, it hands the table to the shipper if the previous one is gone, and
// otherwise continues to fill it; a full table waits. This happens between two
// receives, so that a receipt covers whole slices.
func (p *Pipeline) count() {
	defer p.tables.Close()
	table, n := count.NewTable(), int64(0)
	for events := range p.config.Queue.All() {
		ticked := false
		for i := range events {
			e := &events[i]
			if e.Tick {
				ticked = true
				continue
			}
			table.Add(*e)
			if n++; n%sampled == 0 {
				p.delays.add(p.intake.Clock() - e.Read)
				p.counted.Store(n)
			}
		}
		full := table.Len() >= p.config.Rows || p.config.Queue.Owed() >= maxOwed
		if ticked {
			p.counted.Store(n)
		}
		if table.Lines() > 0 && (full || ticked && p.tables.Len() == 0) {
			p.hand(table)
			table = count.NewTable()
		}
	}
	p.counted.Store(n)
	if table.Lines() > 0 {
		p.hand(table)
	}
}

// hand waits until the previous table is gone. It cannot fail: tables is open,
// and the context is never done.
func (p *Pipeline) hand(table *count.Table) {
	if err := p.tables.Send(context.Background(), parcel{table, p.config.Queue.Receipt()}); err != nil {
		panic("pipeline: " + err.Error())
	}
}

// ship delivers all tables. Once ctx is done it receives the remaining tables
// without delivering them, so that all previous stages can end.
func (p *Pipeline) ship(ctx context.Context) (failed error) {
	for table := range p.tables.Values(context.Background()).All() {
		err := p.config.Sink.Ship(ctx, table.Table)
		if err == nil {
			p.shipped.Add(table.Lines())
			table.receipt(true) // only now: until here, a crash loses nothing
			continue
		}
		p.unshipped.Add(table.Lines())
		table.receipt(ctx.Err() == nil) // a sink that rejects it would reject it again
		if failed == nil {
			failed = err
		}
	}
	return failed
}
