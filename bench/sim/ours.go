package sim

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
)

// The works of our operations, in nanoseconds: chosen so that one CPU takes as long as one
// of the machine that atomicHit and loadHit are from (see TestOneCPU).
const (
	nativeWork  = 6.5
	chainWork   = 4
	shardWork   = 6
	handoffWork = 7
)

// laneLimit is the limit of a channel, or of each lane.
const laneLimit = 1024

// A Contender is a design to be compared.
type Contender struct {
	Name     string
	programs func(senders, receivers int) []Program
}

// Contenders are the designs that are compared. A sharded channel has as many lanes as
// there are CPUs. The built-in channel is not among them: while its goroutines sleep and
// wake, its throughput depends on the scheduler, which the model leaves out.
var Contenders = []Contender{
	{"Elastic", func(s, r int) []Program { return stream(newSegqueue(laneLimit, chainWork), s, r) }},
	{"Sharded", shards(1, func(i, _ int) laneChoice { return affinity{lane: i} })},
	{"Sharded, short-lived senders", shards(1, func(i, _ int) laneChoice { return affinity{i, tokenCost} })},
	{"fixed lane", shards(1, func(_, n int) laneChoice { return &fixedLane{lanes: n, values: forever} })},
	{"fixed lane, moves if taken", shards(1, func(_, n int) laneChoice { return &fixedLane{lanes: n, values: forever, moves: true} })},
	{"fixed lane, short-lived senders", shards(1, func(_, n int) laneChoice { return &fixedLane{lanes: n, values: 1} })},
	{"a Lane per sender, runs", handles},
}

const forever = math.MaxInt

// shards returns the programs of a sharded channel with a lane for each CPU.
func shards(most int, choose func(sender, lanes int) laneChoice) func(senders, receivers int) []Program {
	return func(senders, receivers int) []Program {
		s := newSharded(senders+receivers, laneLimit, shardWork)
		return s.programs(senders, receivers, most, choose)
	}
}

// handles is a lane for each sender, and receivers of runs.
func handles(senders, receivers int) []Program {
	s := newSharded(senders, laneLimit, 0)
	for _, lane := range s.lanes {
		lane.singleSender, lane.anySenders = true, nil
	}
	return s.programs(senders, receivers, laneTurn, nil)
}

// A Setting is one measurement of the contenders.
type Setting struct {
	CPUs        int
	OneReceiver bool // or as many as senders
}

// Settings are the measurements.
func Settings() []Setting {
	var all []Setting
	for _, one := range []bool{false, true} {
		for _, cpus := range []int{4, 8, 16, 32, 64, 128} {
			all = append(all, Setting{cpus, one})
		}
	}
	return all
}

// A Forecast is the time per value of one contender in one setting, on each machine.
type Forecast struct {
	Contender string
	Setting   Setting
	Ns        []float64
}

// Compare simulates every contender in every setting on every machine.
func Compare(all []Machine) ([]Forecast, error) {
	var forecasts []Forecast
	for _, contender := range Contenders {
		for _, s := range Settings() {
			forecasts = append(forecasts, Forecast{contender.Name, s, make([]float64, len(all))})
		}
	}
	var (
		running sync.WaitGroup
		slots   = make(chan struct{}, runtime.GOMAXPROCS(0))
		mu      sync.Mutex
		failed  error
	)
	for i, f := range forecasts {
		contender := Contenders[slices.IndexFunc(Contenders, func(c Contender) bool { return c.Name == f.Contender })]
		for j, m := range all {
			slots <- struct{}{}
			running.Go(func() {
				defer func() { <-slots }()
				ns, err := contender.time(m, f.Setting)
				mu.Lock()
				defer mu.Unlock()
				if forecasts[i].Ns[j] = ns; err != nil {
					failed = fmt.Errorf("%s on %d CPUs: %w", f.Contender, f.Setting.CPUs, err)
				}
			})
		}
	}
	running.Wait()
	return forecasts, failed
}

// time returns the nanoseconds per value.
func (c Contender) time(m Machine, s Setting) (float64, error) {
	receivers := s.CPUs / 2
	if s.OneReceiver {
		receivers = 1
	}
	duration := max(40e3, 1.6e6/float64(s.CPUs))
	if c.Name == "Elastic" {
		duration *= 10 // few values pass
	}
	rate, err := total(m, c.programs(s.CPUs-receivers, receivers), duration)
	return 1 / rate, err
}

// Of returns the forecast of a contender in a setting.
func Of(forecasts []Forecast, contender string, s Setting) Forecast {
	i := slices.IndexFunc(forecasts, func(f Forecast) bool { return f.Contender == contender && f.Setting == s })
	return forecasts[i]
}

// Over returns how many times as long as b one value takes in a, on each machine.
func (f Forecast) Over(b Forecast) []float64 {
	ratios := make([]float64, len(f.Ns))
	for i := range ratios {
		ratios[i] = f.Ns[i] / b.Ns[i]
	}
	return ratios
}
