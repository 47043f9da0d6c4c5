package doctor

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/lab"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

// Prices are the costs of operations on built-in channels on one machine, in
// nanoseconds.
type Prices struct {
	Source         string  `json:"source"`             // machine and Go version: predictions hold for similar ones
	Unbuffered     float64 `json:"unbuffered_ns"`      // one value through an unbuffered channel
	Buffered       float64 `json:"buffered_ns"`        // one value through a buffered channel that is neither full nor empty
	Contended      float64 `json:"contended_ns"`       // one value through a channel with many senders that park
	Batched        float64 `json:"batched_ns"`         // one value in a slice of 64 that all senders fill under one mutex
	OwnSlices      float64 `json:"own_slices_ns"`      // one value in a slice of 64 that each sender fills alone
	Sharded        float64 `json:"sharded_ns"`         // one value through a lane per sender
	OneP           float64 `json:"one_p_ns"`           // one value through a buffered channel at GOMAXPROCS 1
	Wakeup         float64 `json:"wakeup_ns"`          // parking and waking a goroutine
	Case           float64 `json:"select_case_ns"`     // one additional case of a select
	Mutex          float64 `json:"mutex_ns"`           // a Lock and its Unlock, alternating between two CPUs
	ContendedMutex float64 `json:"contended_mutex_ns"` // the same if goroutines park on it every time
	OtherMachine   bool    `json:"other_machine"`      // not measured where the service runs

	beside string // a run of the lab in the working folder, which was not read; or ""
}

// Beside returns p with the folder of a run of the lab that is at hand: the text
// names the flag that uses it.
func (p Prices) Beside(folder string) Prices {
	p.beside = folder
	return p
}

// yours says how to predict gains from prices of the service's machine.
func (p Prices) yours() string {
	if p.beside != "" {
		return "-prices " + p.beside + " takes the prices of your run of sluice lab."
	}
	return "-prices takes yours."
}

// Reference returns the prices of a reference machine: medians of this
// project's own runs in November 2026, Contended with 100 slots and 100
// workers. The lab does not measure Case, Mutex and ContendedMutex.
func Reference() Prices {
	return Prices{
		Source:     "a reference machine (AMD EPYC, 2 CPUs, linux/amd64, go1.26.8)",
		Unbuffered: 145, Buffered: 35, Contended: 63, Batched: 23, OwnSlices: 3.3, Sharded: 13.5, OneP: 30,
		Wakeup: 152, Case: 20, Mutex: 20, ContendedMutex: 250, OtherMachine: true,
	}
}

// maxPrices limits the size of the file; a full run has 3 MB.
const maxPrices = 64 << 20

// ReadPrices reads prices from the results.json of a run of the lab. Prices
// that the run did not measure come from the reference, and Source names both. The
// folder of the run will do.
func ReadPrices(path string) (Prices, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, report.JSONFile)
	}
	file, err := os.Open(path)
	if err != nil {
		return Prices{}, err
	}
	defer file.Close()
	p, err := parsePrices(io.LimitReader(file, maxPrices))
	if err != nil {
		return Prices{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func parsePrices(r io.Reader) (Prices, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Prices{}, err
	}
	run, err := report.Decode(text)
	if err != nil {
		return Prices{}, err
	}
	p := Reference()
	measured := 0
	for _, at := range labPrices {
		if ns, ok := at.find(run); ok {
			*at.price(&p) = ns / at.per
			measured++
		}
	}
	if measured == 0 {
		return Prices{}, fmt.Errorf("no prices: run sluice lab %s %s", lab.DirectSend, lab.CPUScaling)
	}
	m := run.Machine
	p.OtherMachine = false
	p.Source = fmt.Sprintf("the lab on %s, %d CPUs, %s/%s, %s", m.CPU, m.CPUs, m.OS, m.Arch, m.Go)
	if missing := len(labPrices) - measured; missing > 0 {
		p.Source += fmt.Sprintf("; %d of %d prices from %s", missing, len(labPrices), Reference().Source)
	}
	return p, nil
}

// A labPrice is the place of a price in results.json.
type labPrice struct {
	price      func(*Prices) *float64
	experiment string
	section    lab.SectionID
	labels     []measure.Label
	contender  lab.ContenderID
	onOneP     bool
	per        float64 // prices per figure
}

var (
	unbuffered  = []measure.Label{{Key: lab.LabelCapacity, Value: "0"}}
	manyWorkers = []measure.Label{{Key: lab.LabelCapacity, Value: "100"}, {Key: lab.LabelWorkers, Value: "100"}}
	oneConsumer = []measure.Label{{Key: lab.LabelWork, Value: string(lab.LoadOneConsumer)}}
)

var labPrices = []labPrice{
	{func(p *Prices) *float64 { return &p.Unbuffered }, lab.DirectSend, lab.SectionOneWay, unbuffered, lab.Native, false, 1},
	{func(p *Prices) *float64 { return &p.Wakeup }, lab.DirectSend, lab.SectionRequest, unbuffered, lab.Native, false, 2},
	{func(p *Prices) *float64 { return &p.Buffered }, lab.CPUScaling, lab.SectionShapes, nil, lab.NativeOneToOne, false, 1},
	{func(p *Prices) *float64 { return &p.OneP }, lab.CPUScaling, lab.SectionShapes, nil, lab.NativeManyToOne, true, 1},
	{func(p *Prices) *float64 { return &p.Batched }, lab.CPUScaling, lab.SectionRemedies, oneConsumer, lab.SharedSlices, false, 1},
	{func(p *Prices) *float64 { return &p.OwnSlices }, lab.CPUScaling, lab.SectionRemedies, oneConsumer, lab.OwnSlices, false, 1},
	{func(p *Prices) *float64 { return &p.Sharded }, lab.CPUScaling, lab.SectionProducers, nil, lab.ShardedLanes, false, 1},
	{func(p *Prices) *float64 { return &p.Contended }, lab.Buffers, lab.SectionCapacity, manyWorkers, lab.Native, false, 1},
}

// find returns a median in nanoseconds, of the last point that is not
// oversubscribed.
func (at labPrice) find(run *report.Report) (ns float64, ok bool) {
	for _, p := range run.Points(at.experiment, at.section, at.labels...) {
		if p.Oversubscribed || at.onOneP != (p.Procs == 1) {
			continue
		}
		if entry := p.Entry(at.contender); entry != nil && entry.Summaries[measure.NsPerOp].Median > 0 {
			ns, ok = entry.Summaries[measure.NsPerOp].Median, true
		}
	}
	return ns, ok
}
