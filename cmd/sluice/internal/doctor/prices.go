package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
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
// that the run did not measure are those of the reference, and Source names
// both.
func ReadPrices(path string) (Prices, error) {
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

// labRun is the part of results.json with the prices.
type labRun struct {
	Schema  int `json:"schema"`
	Machine struct {
		CPU    string `json:"cpu"`
		CPUs   int    `json:"cpus"`
		GOOS   string `json:"goos"`
		GOARCH string `json:"goarch"`
		Go     string `json:"go"`
	} `json:"machine"`
	Experiments []struct {
		Name     string `json:"name"`
		Sections []struct {
			Name   string `json:"name"`
			Points []struct {
				Panel          string `json:"panel"`
				X              string `json:"x"`
				Procs          int    `json:"gomaxprocs"`
				Oversubscribed bool   `json:"oversubscribed"`
				Entries        []struct {
					Contender string `json:"contender"`
					Summaries map[string]struct {
						Median float64 `json:"median"`
					} `json:"summaries"`
				} `json:"entries"`
			} `json:"points"`
		} `json:"sections"`
	} `json:"experiments"`
}

// labSchema is the supported version of results.json.
const labSchema = 1

func parsePrices(r io.Reader) (Prices, error) {
	var run labRun
	if err := json.NewDecoder(r).Decode(&run); err != nil {
		return Prices{}, fmt.Errorf("is not a results.json of sluice lab: %w", err)
	}
	if run.Schema != labSchema {
		return Prices{}, fmt.Errorf("unsupported schema %d (want %d)", run.Schema, labSchema)
	}
	p := Reference()
	measured := 0
	for _, at := range labPrices {
		if ns, ok := run.find(at); ok {
			*at.price(&p) = ns / at.per
			measured++
		}
	}
	if measured == 0 {
		return Prices{}, fmt.Errorf("has no prices: run sluice lab direct-send cpu-scaling")
	}
	m := run.Machine
	p.OtherMachine = false
	p.Source = fmt.Sprintf("the lab on %s, %d CPUs, %s/%s, %s", m.CPU, m.CPUs, m.GOOS, m.GOARCH, m.Go)
	if missing := len(labPrices) - measured; missing > 0 {
		p.Source += fmt.Sprintf("; %d of %d prices from %s", missing, len(labPrices), Reference().Source)
	}
	return p, nil
}

// A labPrice is the place of a price in results.json.
type labPrice struct {
	price                          func(*Prices) *float64
	experiment, section, panel, by string // panel is a suffix; by is the contender
	x                              string // "" for the last point that is not oversubscribed
	onOneP                         bool
	per                            float64 // prices per figure
}

var labPrices = []labPrice{
	{price: func(p *Prices) *float64 { return &p.Unbuffered }, experiment: "direct-send", section: "one-way", by: "native", x: "0", per: 1},
	{price: func(p *Prices) *float64 { return &p.Wakeup }, experiment: "direct-send", section: "request", by: "native", x: "0", per: 2},
	{price: func(p *Prices) *float64 { return &p.Buffered }, experiment: "cpu-scaling", section: "shapes", by: "native, 1 to 1", per: 1},
	{price: func(p *Prices) *float64 { return &p.OneP }, experiment: "cpu-scaling", section: "shapes", by: "native, P to 1", onOneP: true, per: 1},
	{price: func(p *Prices) *float64 { return &p.Batched }, experiment: "cpu-scaling", section: "remedies", panel: "P producers, one consumer", by: "published, slices", per: 1},
	{price: func(p *Prices) *float64 { return &p.OwnSlices }, experiment: "cpu-scaling", section: "remedies", panel: "P producers, one consumer", by: "native, slices of each sender", per: 1},
	{price: func(p *Prices) *float64 { return &p.Sharded }, experiment: "cpu-scaling", section: "producers", by: "sluice.Sharded, lane each, runs", per: 1},
	{price: func(p *Prices) *float64 { return &p.Contended }, experiment: "buffers", section: "capacity", panel: ", 100 workers", by: "native", x: "100", per: 1},
}

// find returns a median in nanoseconds, of the last point that is not
// oversubscribed.
func (run *labRun) find(at labPrice) (ns float64, ok bool) {
	for _, e := range run.Experiments {
		for _, s := range e.Sections {
			if e.Name != at.experiment || s.Name != at.section {
				continue
			}
			for _, p := range s.Points {
				if p.Oversubscribed || at.onOneP != (p.Procs == 1) ||
					!strings.HasSuffix(p.Panel, at.panel) || at.x != "" && p.X != at.x {
					continue
				}
				for _, entry := range p.Entries {
					if median := entry.Summaries["ns/op"].Median; entry.Contender == at.by && median > 0 {
						ns, ok = median, true
					}
				}
			}
		}
	}
	return ns, ok
}
