package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// Prices are what operations on native channels cost on a machine, in
// nanoseconds.
type Prices struct {
	Source    string  `json:"source"`             // machine and Go version: gains are as good as it is like the service's
	HandOver  float64 `json:"hand_over_ns"`       // a value through a channel without slots, from one goroutine to another
	Buffered  float64 `json:"buffered_ns"`        // a value through a channel that is neither full nor empty
	Contended float64 `json:"contended_ns"`       // a value through a channel on which many goroutines send and park
	Batched   float64 `json:"batched_ns"`         // a value in a slice of 64 that all senders fill under one mutex
	OwnSlices float64 `json:"own_slices_ns"`      // a value in a slice of 64 that each sender fills alone
	Sharded   float64 `json:"sharded_ns"`         // a value through lanes of their own
	OneP      float64 `json:"one_p_ns"`           // a value through a buffered channel at GOMAXPROCS 1
	Wakeup    float64 `json:"wakeup_ns"`          // a goroutine parked, and woken
	Case      float64 `json:"select_case_ns"`     // one more case of a select
	Mutex     float64 `json:"mutex_ns"`           // a Lock and its Unlock, in turns on two CPUs
	Fought    float64 `json:"fought_mutex_ns"`    // the same where goroutines park on it every time
	Guesses   bool    `json:"of_another_machine"` // nobody measured where the service runs
}

// Reference is what is used where nobody measured: medians of this project's
// own runs, in November 2026, Contended with 100 slots and 100 workers. Case,
// Mutex and Fought are not in results.json.
func Reference() Prices {
	return Prices{
		Source:   "a reference machine (AMD EPYC, 2 CPUs, linux/amd64, go1.26.8)",
		HandOver: 145, Buffered: 35, Contended: 63, Batched: 23, OwnSlices: 3.3, Sharded: 13.5, OneP: 30,
		Wakeup: 152, Case: 20, Mutex: 20, Fought: 250, Guesses: true,
	}
}

// maxPrices bounds the file that is read: that of a full run has 3 MB.
const maxPrices = 64 << 20

// ReadPrices takes prices from the results.json of a run of the lab. What that
// run did not measure stays that of the reference, and Source says so.
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

// labRun is what is needed of results.json.
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

// labSchema is the version of results.json that is understood.
const labSchema = 1

func parsePrices(r io.Reader) (Prices, error) {
	var run labRun
	if err := json.NewDecoder(r).Decode(&run); err != nil {
		return Prices{}, fmt.Errorf("is no results.json of the lab: %w", err)
	}
	if run.Schema != labSchema {
		return Prices{}, fmt.Errorf("is of schema %d, this program reads %d", run.Schema, labSchema)
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
		return Prices{}, fmt.Errorf("has no price: run sluice lab direct-send cpu-scaling")
	}
	m := run.Machine
	p.Guesses = false
	p.Source = fmt.Sprintf("the lab on %s, %d CPUs, %s/%s, %s", m.CPU, m.CPUs, m.GOOS, m.GOARCH, m.Go)
	if missing := len(labPrices) - measured; missing > 0 {
		p.Source += fmt.Sprintf("; %d of %d prices from %s", missing, len(labPrices), Reference().Source)
	}
	return p, nil
}

// A labPrice is where in results.json a price stands.
type labPrice struct {
	price                          func(*Prices) *float64
	experiment, section, panel, by string // panel by its end; by is the contender
	x                              string // "" for the last one that has its CPUs
	onOneP                         bool
	per                            float64 // prices in one figure
}

var labPrices = []labPrice{
	{price: func(p *Prices) *float64 { return &p.HandOver }, experiment: "direct-send", section: "one-way", by: "native", x: "0", per: 1},
	{price: func(p *Prices) *float64 { return &p.Wakeup }, experiment: "direct-send", section: "request", by: "native", x: "0", per: 2},
	{price: func(p *Prices) *float64 { return &p.Buffered }, experiment: "cpu-scaling", section: "shapes", by: "native, 1 to 1", per: 1},
	{price: func(p *Prices) *float64 { return &p.OneP }, experiment: "cpu-scaling", section: "shapes", by: "native, P to 1", onOneP: true, per: 1},
	{price: func(p *Prices) *float64 { return &p.Batched }, experiment: "cpu-scaling", section: "remedies", panel: "P producers, one consumer", by: "published, slices", per: 1},
	{price: func(p *Prices) *float64 { return &p.OwnSlices }, experiment: "cpu-scaling", section: "remedies", panel: "P producers, one consumer", by: "native, slices of each sender", per: 1},
	{price: func(p *Prices) *float64 { return &p.Sharded }, experiment: "cpu-scaling", section: "producers", by: "sluice.Sharded, lane each, runs", per: 1},
	{price: func(p *Prices) *float64 { return &p.Contended }, experiment: "buffers", section: "capacity", panel: ", 100 workers", by: "native", x: "100", per: 1},
}

// find returns a median in nanoseconds: of several points, the last one that
// has a CPU for each P.
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
