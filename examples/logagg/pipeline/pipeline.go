// Package pipeline joins the parts of the service:
//
//	sources ---> queue ---> one goroutine that counts ---> one that ships ---> sink
//	(many)     (chosen)        (package count)      (one table)
//
// Each stage waits for the next one, so a sink that fails stops the shipping, then the
// counting, once its table is full, then the readers, and then the clients, whose TCP
// windows close. Memory stays bounded all the while.
//
// What may enter this package: the order in which stages begin and end, and the account
// of all lines.
package pipeline

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/examples/logagg/count"
	"github.com/sluice-go/sluice/examples/logagg/input"
	"github.com/sluice-go/sluice/examples/logagg/parse"
	"github.com/sluice-go/sluice/examples/logagg/queue"
)

// A Config says what a pipeline is made of.
type Config struct {
	Sources []input.Source
	Queue   queue.Queue
	Sink    Sink
	Counted func(*count.Table) // sees each table before it is shipped, if set

	MaxLine  int           // bytes of the longest line
	Service  string        // of lines that name none
	Aside    *input.Aside  // keeps malformed lines, if set
	Interval time.Duration // between two tables; 0: only when one is full, and at the end
	Rows     int           // of a table that is full
	Grace    time.Duration // for the sink, once the pipeline is told to end
}

// A Sink delivers tables; see package sink. Its error says that a table will never be
// delivered.
type Sink interface {
	Ship(ctx context.Context, t *count.Table) error
}

// A Pipeline runs once.
type Pipeline struct {
	config Config
	intake input.Intake
	tables *sluice.Bounded[*count.Table] // counted, to be shipped
	delays delays

	counted   atomic.Int64 // events
	shipped   atomic.Int64 // of these, those in tables that were delivered
	unshipped atomic.Int64 // and those in tables that never will be
}

// New returns a pipeline that does not run yet.
func New(c Config) *Pipeline {
	p := &Pipeline{config: c, tables: sluice.NewBounded[*count.Table](1, &sluice.Options[*count.Table]{Name: "tables"})}
	began := time.Now()
	p.intake.Queue = c.Queue
	p.intake.MaxLine = c.MaxLine
	p.intake.Service = c.Service
	p.intake.Aside = c.Aside
	p.intake.Clock = func() int64 { return int64(time.Since(began)) }
	return p
}

// Run runs the pipeline until all sources have ended, of themselves or because ctx is
// done, and all that they have brought is counted and shipped. Once ctx is done the sink
// has no longer than Grace for that. The error joins those of sources and of the sink.
func (p *Pipeline) Run(ctx context.Context) error {
	shipping, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	grace := time.AfterFunc(time.Hour, giveUp)
	grace.Stop()
	defer grace.Stop()
	defer context.AfterFunc(ctx, func() { grace.Reset(p.config.Grace) })()

	var stages sync.WaitGroup
	var shipped error
	stages.Go(func() { shipped = p.ship(shipping) })
	stages.Go(p.count)
	read := p.read(ctx)
	p.config.Queue.Close()
	stages.Wait()
	return errors.Join(read, shipped)
}

// read runs all sources, and the clock beside them, and returns when all have ended.
func (p *Pipeline) read(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	var clock, sources sync.WaitGroup
	if p.config.Interval > 0 {
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

// tick sends the word of the clock through the queue, in line with the events. So
// whoever counts waits in one place and needs no select.
func (p *Pipeline) tick(ctx context.Context) {
	sender := p.config.Queue.Sender()
	ticker := time.NewTicker(p.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			// A tick that finds no room is not missed: the next one comes.
			sender.Send(parse.Event{Tick: true})
			sender.Flush()
		}
	}
}

// sampled is how many events there are for each whose delay is measured, and for each
// update of the count that others see: a look at the clock costs as much as counting.
const sampled = 64

// count counts what comes out of the queue until that is closed and drained. A table is
// handed over at each tick if the one before is gone, and otherwise goes on growing;
// one that is full waits.
func (p *Pipeline) count() {
	defer p.tables.Close()
	table, n := count.NewTable(), int64(0)
	for events := range p.config.Queue.All() {
		for i := range events {
			e := &events[i]
			if e.Tick {
				p.counted.Store(n)
				if table.Lines() > 0 && p.tables.TrySend(table) == nil {
					table = count.NewTable()
				}
				continue
			}
			table.Add(*e)
			if n++; n%sampled == 0 {
				p.delays.add(p.intake.Clock() - e.Read)
				p.counted.Store(n)
			}
			if table.Len() >= p.config.Rows {
				p.hand(table)
				table = count.NewTable()
			}
		}
	}
	p.counted.Store(n)
	if table.Lines() > 0 {
		p.hand(table)
	}
}

// hand waits until the table before is gone. Nobody closes tables meanwhile, and the
// context is never done: it cannot fail.
func (p *Pipeline) hand(table *count.Table) {
	if err := p.tables.Send(context.Background(), table); err != nil {
		panic("pipeline: " + err.Error())
	}
}

// ship delivers all tables. Once ctx is done those that are left are not delivered, but
// they are taken, so that all stages before can end.
func (p *Pipeline) ship(ctx context.Context) (failed error) {
	for table := range p.tables.All(context.Background()) {
		if p.config.Counted != nil {
			p.config.Counted(table)
		}
		err := p.config.Sink.Ship(ctx, table)
		if err == nil {
			p.shipped.Add(table.Lines())
			continue
		}
		p.unshipped.Add(table.Lines())
		if failed == nil {
			failed = err
		}
	}
	return failed
}
