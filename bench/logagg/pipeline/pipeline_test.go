package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/traffic"
	"github.com/sluice-go/sluice/internal/suite"
)

// A recorder is a sink that sums up its tables and fails on request.
type recorder struct {
	mu     sync.Mutex
	tables int
	all    *count.Table
	ship   func(ctx context.Context) error
}

func (r *recorder) Ship(ctx context.Context, t *count.Table) error {
	if r.ship != nil {
		if err := r.ship(ctx); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tables++
	r.all.Merge(t)
	return nil
}

// config returns the configuration of a pipeline without sources.
func config(t *testing.T, kind string, batch int, sink Sink) Config {
	t.Helper()
	q, err := queue.New(kind, queue.Options{Capacity: 64, Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	return Config{Queue: q, Sink: sink, Rows: 50, Grace: time.Minute}
}

// inMemory returns the kinds that wait only for goroutines: those for synctest.
func inMemory() (names []string) {
	for _, kind := range queue.Kinds() {
		if !kind.Outside {
			names = append(names, kind.Name)
		}
	}
	return names
}

// hosts returns sources with the lines of many hosts, and the expected counts.
func hosts(number, lines int) (sources []input.Source, truth *traffic.Truth) {
	truth = traffic.NewTruth()
	for i := range number {
		host, text := traffic.NewHost(5, i, lines), []byte(nil)
		for range lines {
			text = host.Append(text, truth)
		}
		sources = append(sources, input.Text(bytes.NewReader(text)))
	}
	return sources, truth
}

// TestExact: with every channel, batched or not, the counts match the lines,
// and the account is balanced.
func TestExact(t *testing.T) {
	for _, k := range queue.Kinds() {
		for _, batch := range []int{1, 16} {
			kind, lines := k.Name, 1000
			if k.Outside && batch == 1 {
				lines = 100 // each is synced
			}
			t.Run(fmt.Sprint(kind, " ", batch), func(t *testing.T) {
				if !slices.Contains(inMemory(), kind) {
					suite.Needs(t, "a disk or a server")
				}
				r := &recorder{all: count.NewTable()}
				c := config(t, kind, batch, r)
				var truth *traffic.Truth
				c.Sources, truth = hosts(8, lines)
				c.Interval = time.Millisecond // ticks arrive between the lines
				p := New(c)
				if err := p.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				l := p.Ledger()
				if err := l.Balanced(); err != nil || l.In != truth.Lines || l.Malformed != truth.Malformed || l.Unshipped+l.Rejected > 0 {
					t.Errorf("%v: %v, want %d lines and %d malformed", err, l, truth.Lines, truth.Malformed)
				}
				want := string(truth.Table.AppendJSON(nil))
				if got := string(r.all.AppendJSON(nil)); got != want {
					t.Errorf("shipped:\n%swant:\n%s", got, want)
				}
				if p.Delay(0.5) <= 0 || p.Delay(1) < p.Delay(0) {
					t.Errorf("delays of %v, %v, %v", p.Delay(0), p.Delay(0.5), p.Delay(1))
				}
			})
		}
	}
}

// sizes is a sink that records the number of rows of each table.
type sizes []int

func (s *sizes) Ship(_ context.Context, t *count.Table) error {
	*s = append(*s, t.Len())
	return nil
}

// TestFullTable: a table is shipped when it has the maximum number of rows, not
// later.
func TestFullTable(t *testing.T) {
	var rows sizes
	c := config(t, "native", 1, &rows)
	c.Rows = 2
	const line = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" %d 5` + "\n"
	c.Sources = []input.Source{input.Text(strings.NewReader(fmt.Sprintf(strings.Repeat(line, 6), 200, 200, 201, 202, 203, 204)))}
	if err := New(c).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rows, sizes{2, 2, 1}) {
		t.Errorf("tables with %v rows", rows)
	}
}

// TestBackpressure: a sink that accepts nothing stops the reading, with no more
// in memory than the parts may hold; afterwards every line passes.
func TestBackpressure(t *testing.T) {
	for _, kind := range inMemory() {
		synctest.Test(t, func(t *testing.T) {
			down := make(chan struct{})
			r := &recorder{all: count.NewTable(), ship: func(context.Context) error {
				<-down
				return nil
			}}
			c := config(t, kind, 16, r)
			c.Rows = 4
			sources, truth := hosts(4, 20_000)
			c.Sources = sources
			p := New(c)
			ended := make(chan error, 1)
			go func() { ended <- p.Run(t.Context()) }()
			synctest.Wait() // all stages wait for the sink
			l := p.Ledger()
			if l.In > 10_000 || l.Shipped > 0 {
				t.Errorf("%s: while nothing is shipped, the account is %v", kind, l)
			}
			close(down)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if l := p.Ledger(); l.Balanced() != nil || l.Shipped != truth.Lines-truth.Malformed {
				t.Errorf("%s: %v", kind, l)
			}
			if got, want := string(r.all.AppendJSON(nil)), string(truth.Table.AppendJSON(nil)); got != want {
				t.Errorf("%s: shipped:\n%swant:\n%s", kind, got, want)
			}
		})
	}
}

// TestGrace: a service that is told to end waits for its sink for a while, and
// then reports what it could not ship.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{all: count.NewTable(), ship: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		c := config(t, "bounded", 16, r)
		c.Rows = 4
		c.Sources, _ = hosts(4, 20_000)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		p, began := New(c), time.Now()
		if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Hour+c.Grace {
			t.Errorf("the service ended after %v", took)
		}
		if l := p.Ledger(); l.Balanced() != nil || l.Shipped > 0 || l.Unshipped != l.Counted || l.Counted == 0 {
			t.Errorf("%v", l)
		}
	})
}

// TestInterval: counts are shipped at each interval while lines arrive.
func TestInterval(t *testing.T) {
	for _, kind := range inMemory() {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{all: count.NewTable()}
			c := config(t, kind, 16, r)
			c.Interval = time.Second
			lines, typed := io.Pipe()
			c.Sources = []input.Source{input.Stream(lines)}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			p := New(c)
			go func() { ended <- p.Run(ctx) }()
			const line = `203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5` + "\n"
			for n := range 3 {
				if _, err := io.WriteString(typed, strings.Repeat(line, 10)); err != nil {
					t.Error(err)
				}
				time.Sleep(1500 * time.Millisecond)
				synctest.Wait()
				if l := p.Ledger(); l.Shipped != int64(10*(n+1)) {
					t.Errorf("%s: after %d s: %v", kind, 2*n+2, l)
				}
			}
			cancel()
			if err := <-ended; err != nil || r.tables != 3 {
				t.Errorf("%s: %v, %d tables", kind, err, r.tables)
			}
			typed.Close()
		})
	}
}

// TestRefused: a table that the sink rejects is not shipped, and the next one
// is.
func TestRefused(t *testing.T) {
	refused := errors.New("refused")
	first := true
	r := &recorder{all: count.NewTable()}
	r.ship = func(context.Context) error {
		if !first {
			return nil
		}
		first = false
		return refused
	}
	c := config(t, "bounded", 16, r)
	c.Rows = 10
	c.Sources, _ = hosts(2, 1000)
	p := New(c)
	if err := p.Run(t.Context()); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
	if l := p.Ledger(); l.Balanced() != nil || l.Shipped == 0 || l.Unshipped == 0 {
		t.Errorf("%v", l)
	}
}

// TestSourceFails: the other sources continue, and the error is reported.
func TestSourceFails(t *testing.T) {
	broken := errors.New("broken")
	r := &recorder{all: count.NewTable()}
	c := config(t, "elastic", 1, r)
	sources, truth := hosts(2, 100)
	c.Sources = append(sources, func(context.Context, *input.Intake) error { return broken })
	p := New(c)
	if err := p.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if l := p.Ledger(); l.Balanced() != nil || l.In != truth.Lines {
		t.Errorf("%v", l)
	}
}

// TestBalanced: an account with a line too few or too many is detected.
func TestBalanced(t *testing.T) {
	good := Ledger{Counts: input.Counts{In: 10, Malformed: 3, Rejected: 3}, Counted: 4, Shipped: 3, Unshipped: 1}
	if err := good.Balanced(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*Ledger){
		func(l *Ledger) { l.In++ }, func(l *Ledger) { l.Counted-- }, func(l *Ledger) { l.Malformed++ }, func(l *Ledger) { l.Rejected-- },
		func(l *Ledger) { l.Shipped-- }, func(l *Ledger) { l.Unshipped++ },
	} {
		bad := good
		spoil(&bad)
		if bad.Balanced() == nil {
			t.Errorf("%v counts as balanced", bad)
		}
	}
}

// TestBalancedShared: with a shared queue, lines read and lines counted have
// separate accounts, and doubtful lines are reported.
func TestBalancedShared(t *testing.T) {
	good := Ledger{
		Counts:  input.Counts{In: 10, Malformed: 3, Rejected: 3},
		Account: queue.Account{Shared: true, Sent: 4, Again: 7, Doubtful: 5},
		Counted: 50, Shipped: 49, Unshipped: 1,
	}
	if err := good.Balanced(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*Ledger){
		func(l *Ledger) { l.In++ }, func(l *Ledger) { l.Sent-- }, func(l *Ledger) { l.Shipped-- }, func(l *Ledger) { l.Shared = false },
	} {
		bad := good
		spoil(&bad)
		if bad.Balanced() == nil {
			t.Errorf("%v counts as balanced", bad)
		}
	}
	want := `in 10 = sent 4 + malformed 3 + rejected 3
counted 50 = shipped 49 + not shipped 1
of the counted lines, 7 had been delivered before: at most these are counted twice
5 lines have an unknown outcome: stored never, once or twice`
	if good.String() != want {
		t.Errorf("got\n%v\nwant\n%s", good, want)
	}
}

// TestReceipts: packets are settled once the sink has accepted or rejected
// their table, and returned when time is up.
func TestReceipts(t *testing.T) {
	refused := errors.New("refused")
	for _, test := range []struct {
		name string
		ship func(context.Context) error
		left int // batches that the next process receives
	}{
		{"shipped", func(context.Context) error { return nil }, 0},
		{"refused", func(context.Context) error { return refused }, 0},
		{"given up", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 1},
	} {
		dir := t.TempDir()
		open := func() queue.Queue {
			q, err := queue.New("durable", queue.Options{Capacity: 64, Batch: 16, Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			return q
		}
		c := config(t, "native", 1, &recorder{all: count.NewTable(), ship: test.ship})
		c.Queue, c.Grace = open(), 0
		c.Sources = []input.Source{input.Text(strings.NewReader(
			`203.0.113.9 - - [21/Nov/2026:15:04:05 +0000] "GET / HTTP/1.1" 200 5` + "\n"))}
		ctx, cancel := context.WithCancel(t.Context())
		p := New(c)
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		for test.left > 0 && p.Ledger().Counted == 0 {
			time.Sleep(time.Millisecond)
		}
		if test.left > 0 {
			cancel()
		}
		<-ended
		cancel()
		if l := p.Ledger(); l.Balanced() != nil || !l.Shared || l.In != 1 || l.Sent != 1 || l.Counted != 1 {
			t.Errorf("%s: %v", test.name, l)
		}
		q := open()
		if q.Account().Packets != test.left {
			t.Errorf("%s: %d are left, want %d", test.name, q.Account().Packets, test.left)
		}
		if err := q.End(); err != nil {
			t.Error(err)
		}
	}
}

func TestDelays(t *testing.T) {
	var d delays
	if d.quantile(0.99) != 0 {
		t.Error("a quantile without delays is not 0")
	}
	for n := range 2 * remembered {
		d.add(int64(n))
	}
	for q, want := range map[float64]time.Duration{0: remembered, 0.5: remembered * 3 / 2, 1: 2*remembered - 1} {
		if got := d.quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}

// TestDelay: a delay starts when a line was read, not when the clock started.
func TestDelay(t *testing.T) {
	c := config(t, "bounded", 16, &recorder{all: count.NewTable()})
	c.Sources, _ = hosts(1, 1000)
	p := New(c)
	p.intake.Clock = func() int64 { return int64(time.Hour) }
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.delays.met == 0 || p.Delay(0.99) != 0 {
		t.Errorf("%d delays, up to %v on a stopped clock", p.delays.met, p.Delay(0.99))
	}
}
