// Package pipeline joins the parts of the service:
//
//	sources ---> queue ---> one goroutine that counts ---> one that ships ---> sink
//	(many)     (chosen)        (package count)      (one table)
//
// A pipeline without a sink ends at the queue, and one whose source is Until begins there:
// two halves, which may be far from each other.
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
	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/parse"
	"github.com/sluice-go/sluice/bench/logagg/queue"
)

// A Config says what a pipeline is made of.
type Config struct {
	Sources []input.Source
	Queue   queue.Queue
	Sink    Sink               // nil: what the queue holds is counted elsewhere
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
	tables *sluice.Bounded[parcel] // counted, to be shipped
	delays delays

	counted   atomic.Int64 // events
	shipped   atomic.Int64 // of these, those in tables that were delivered
	unshipped atomic.Int64 // and those in tables that never will be
}

// A parcel is a table, and the receipt for what it counts.
type parcel struct {
	*count.Table
	receipt queue.Receipt
}

// Until is the source of those who read nothing: it ends when ctx is done.
func Until(ctx context.Context, _ *input.Intake) error {
	<-ctx.Done()
	return nil
}

// New returns a pipeline that does not run yet.
func New(c Config) *Pipeline {
	p := &Pipeline{config: c, tables: sluice.NewBounded[parcel](1, &sluice.BoundedOptions[parcel]{Name: "tables"})}
	began := time.Now()
	p.intake.Queue = c.Queue
	p.intake.MaxLine = c.MaxLine
	p.intake.Service = c.Service
	p.intake.Aside = c.Aside
	p.intake.Clock = func() int64 { return int64(time.Since(began)) }
	if c.Queue.Account().Apart { // what others have read is counted here
		p.intake.Clock = func() int64 { return time.Now().UnixNano() }
	}
	return p
}

// Run runs the pipeline until all sources have ended, of themselves or because ctx is
// done, and all that they have brought is counted and shipped. Once ctx is done the sink
// has no longer than Grace for that. The error joins those of sources and of the sink.
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
			stop() // a queue that nobody receives from is not to be filled
		})
	}
	read := p.read(reading)
	p.config.Queue.Close()
	stages.Wait()
	return errors.Join(read, shipped, p.config.Queue.End())
}

// read runs all sources, and the clock beside them, and returns when all have ended.
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

// maxOwed is how many receipts may be outstanding for one table: the table can be small
// while the sink is away, but what it counts is held where it came from.
const maxOwed = 1 << 14

// count counts what comes out of the queue until that is closed and drained. A table is
// handed over after a tick if the one before is gone, and otherwise goes on growing; one
// that is full waits. That is between two receives, so that a receipt is for whole ones.
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

// hand waits until the table before is gone. Nobody closes tables meanwhile, and the
// context is never done: it cannot fail.
func (p *Pipeline) hand(table *count.Table) {
	if err := p.tables.Send(context.Background(), parcel{table, p.config.Queue.Receipt()}); err != nil {
		panic("pipeline: " + err.Error())
	}
}

// ship delivers all tables. Once ctx is done those that are left are not delivered, but
// they are taken, so that all stages before can end.
func (p *Pipeline) ship(ctx context.Context) (failed error) {
	for table := range p.tables.Values(context.Background()).All() {
		if p.config.Counted != nil {
			p.config.Counted(table.Table)
		}
		err := p.config.Sink.Ship(ctx, table.Table)
		if err == nil {
			p.shipped.Add(table.Lines())
			table.receipt.Done() // not before: a crash until now loses nothing
			continue
		}
		p.unshipped.Add(table.Lines())
		if ctx.Err() != nil {
			table.receipt.Return()
		} else {
			table.receipt.Done() // the sink refuses it, and would the next time
		}
		if failed == nil {
			failed = err
		}
	}
	return failed
}
