// Package speed measures the whole service, from the socket to the sink, with
// each channel: lines per second, CPU time per line, and the delay of a line.
//
// All variants take turns within a round, each round starts with a different
// one, and every figure is the median of the rounds, so that a machine that is
// slow for a while slows all variants. Another process sends the lines, so
// their generation does not count.
//
// This package contains the measurement and the tables of its results.
package speed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/sink"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
)

// Settings describe a measurement.
type Settings struct {
	Host  results.Host
	Began time.Time

	Lines       int // per run
	Connections int
	Capacity    int // of the hot channel, in events
	Batch       int // batch size in events, for batched variants
	Rounds      int
	Procs       []int // values of GOMAXPROCS

	// Outside compares the kinds that keep events outside the process's memory
	// instead of those in memory. They are batched, because a sync per line is
	// too expensive.
	Outside bool

	// Prepare prepares sending Lines lines over Connections connections to an
	// address. It returns the function that sends them.
	Prepare func(ctx context.Context, address string) (send func() error, err error)
}

// A Variant is a configuration of the service.
type Variant struct {
	Kind  string
	Batch int
}

func (v Variant) String() string {
	if v.Batch == 1 {
		return v.Kind
	}
	return v.Kind + ", batches"
}

// Variants returns the variants to compare, those without batches first, and
// native first among them.
func (s Settings) Variants() (all []Variant) {
	batches := []int{1, s.Batch}
	if s.Outside {
		batches = batches[1:]
	}
	for _, batch := range batches {
		for _, kind := range queue.Kinds() {
			if kind.Outside == s.Outside || kind.Name == "native" {
				all = append(all, Variant{kind.Name, batch})
			}
		}
	}
	return all
}

// Figures measures all variants and returns their section of bench/logagg/README.md.
func (s Settings) Figures(ctx context.Context, progress func(done, all int)) (string, error) {
	figures, err := s.Measure(ctx, progress)
	if err != nil {
		return "", err
	}
	return s.Markdown(figures), nil
}

// A Run is the measurement of one round of one variant.
type Run struct {
	PerSecond float64       // number of lines
	CPU       time.Duration // of this process, per line
	Delay     time.Duration // the 99th percentile, from reading a line to counting it
}

// A Figure contains all rounds of one variant.
type Figure struct {
	Variant
	Procs int
	Runs  []Run
}

// Measure runs all variants. It calls progress after each run. If ctx is done it
// returns the complete rounds.
func (s Settings) Measure(ctx context.Context, progress func(done, all int)) ([]Figure, error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var figures []Figure
	variants, done := s.Variants(), 0
	for _, procs := range s.Procs {
		runtime.GOMAXPROCS(procs)
		runs := make([][]Run, len(variants))
		for round := range s.Rounds {
			for i := range variants {
				at := (i + round) % len(variants)
				run, err := s.run(ctx, variants[at])
				if err != nil {
					return figures, fmt.Errorf("%v at GOMAXPROCS=%d: %w", variants[at], procs, err)
				}
				runs[at] = append(runs[at], run)
			}
			done++
			progress(done, s.Rounds*len(s.Procs))
		}
		for i, v := range variants {
			figures = append(figures, Figure{v, procs, runs[i]})
		}
	}
	return figures, nil
}

// limits are never reached here.
var limits = input.Limits{Connections: 1 << 20, Drain: time.Hour}

// pollEvery is the interval at which the account is checked for completeness.
const pollEvery = 200 * time.Microsecond

// run measures one variant once.
func (s Settings) run(ctx context.Context, v Variant) (Run, error) {
	hot, err := queue.New(v.Kind, queue.Options{Capacity: s.Capacity, Batch: v.Batch})
	if err != nil {
		return Run{}, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return Run{}, err
	}
	send, err := s.Prepare(ctx, listener.Addr().String())
	if err != nil {
		return Run{}, errors.Join(err, listener.Close())
	}
	p := pipeline.New(pipeline.Config{
		Sources: []input.Source{input.TCP(listener, limits)}, Queue: hot, Sink: sink.Nowhere(),
		Interval: time.Second, Rows: 10_000,
	})
	runtime.GC() // exclude the garbage of the previous run

	running, stop := context.WithCancel(ctx)
	defer stop()
	ended, sent := make(chan error, 1), make(chan error, 1)
	began, used := time.Now(), paced.CPU()
	go func() { ended <- p.Run(running) }()
	go func() { sent <- send() }()
	for ctx.Err() == nil && p.Ledger().In < int64(s.Lines) {
		time.Sleep(pollEvery)
	}
	stop()
	err = <-ended
	took, usedUp := time.Since(began), paced.CPU()-used
	err = errors.Join(err, <-sent, ctx.Err())
	account := p.Ledger()
	if err == nil {
		err = account.Balanced()
	}
	if err == nil && (account.In != int64(s.Lines) || account.Shipped+account.Malformed != account.In) {
		err = fmt.Errorf("lines are missing: %v", account)
	}
	return Run{
		PerSecond: float64(s.Lines) / took.Seconds(),
		CPU:       usedUp / time.Duration(s.Lines),
		Delay:     p.Delay(0.99),
	}, err
}

// median returns the median of one property of the runs.
func (f Figure) median(of func(Run) float64) float64 {
	values := make([]float64, len(f.Runs))
	for i, run := range f.Runs {
		values[i] = of(run)
	}
	return results.Median(values)
}

func perSecond(r Run) float64 { return r.PerSecond }
func cpu(r Run) float64       { return float64(r.CPU) }
func delay(r Run) float64     { return float64(r.Delay) }

// against returns the speedup of f relative to reference, round by round: the
// median, the minimum and the maximum.
func (f Figure) against(reference Figure) (ratio, least, most float64) {
	ratios := make([]float64, len(f.Runs))
	for i := range f.Runs {
		ratios[i] = f.Runs[i].PerSecond / reference.Runs[i].PerSecond
	}
	return results.Median(ratios), slices.Min(ratios), slices.Max(ratios)
}
