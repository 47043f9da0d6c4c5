package lab

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

// Names of the experiments, on the command line and in files.
const (
	Elastic    = "elastic"
	LockCost   = "lock-cost"
	DirectSend = "direct-send"
	Buffers    = "buffers"
	CPUScaling = "cpu-scaling"
	NotBusy    = "not-busy"
)

// A SectionID identifies a section of an experiment in code and in files.
type SectionID string

// The sections.
const (
	SectionOneWay   SectionID = "one-way" // of direct-send
	SectionRequest  SectionID = "request"
	sectionAllFirst SectionID = "all-first"

	sectionProcs       SectionID = "procs" // of elastic
	sectionLength      SectionID = "length"
	sectionShrink      SectionID = "shrink"
	sectionPumpBuffers SectionID = "buffers"
	sectionMemory      SectionID = "memory"

	SectionCapacity SectionID = "capacity" // of buffers, and of cpu-scaling
	sectionBlocked  SectionID = "blocked"  // of buffers

	sectionBusy    SectionID = "busy" // of lock-cost
	sectionBatch   SectionID = "batch"
	sectionWorkers SectionID = "workers"
	sectionBacklog SectionID = "backlog"
	sectionSleep   SectionID = "sleep"

	SectionShapes    SectionID = "shapes" // of cpu-scaling
	SectionRemedies  SectionID = "remedies"
	SectionProducers SectionID = "producers"

	sectionRate SectionID = "rate" // of not-busy
	sectionEnds SectionID = "ends"
)

// Keys of the labels by which a program finds a point, in results.json and in the
// names of results.txt.
const (
	LabelWork     = "work" // a Load, or the section's name
	LabelWorkers  = "workers"
	LabelCapacity = "capacity"
)

// A Load is the work that the contenders of a point do, in a section with several
// loads.
type Load string

// The loads.
const (
	fillFirst         Load = "seq" // of elastic, and of direct-send
	bothAtOnce        Load = "con"
	varySendBuffer    Load = "con, send"
	varyReceiveBuffer Load = "con, receive"
	swinging          Load = "swing"

	LoadOneConsumer Load = "one-consumer" // of remedies, in cpu-scaling
	loadMatched     Load = "matched"
)

var loadNames = map[Load]string{
	fillFirst:         "fill first, then drain",
	bothAtOnce:        "both at once",
	varySendBuffer:    "both at once, send buffer alone",
	varyReceiveBuffer: "both at once, receive buffer alone",
	swinging:          "swinging around a power of two",
	LoadOneConsumer:   "P producers, one consumer",
	loadMatched:       "P producers, matched consumers",
}

func (l Load) String() string {
	if name, ok := loadNames[l]; ok {
		return name
	}
	return string(l)
}

// A Panel identifies one chart of a section by the settings that its points
// share. The zero Panel is the only one of its section.
type Panel struct {
	Procs   int // GOMAXPROCS
	Workers int
	Job     time.Duration // the size of a job
	Load    Load
}

// String returns the panel's title: "GOMAXPROCS 2, 10 workers".
func (p Panel) String() string { return p.title("") }

// title returns the title with a remark on GOMAXPROCS behind it.
func (p Panel) title(onProcs string) string {
	var parts []string
	if p.Procs > 0 {
		parts = append(parts, AxisProcs+" "+strconv.Itoa(p.Procs)+onProcs)
	}
	if p.Workers > 0 {
		parts = append(parts, format.Plural(p.Workers, "worker"))
	}
	if p.Job > 0 {
		parts = append(parts, "jobs of "+format.Duration(p.Job))
	}
	if p.Load != "" {
		parts = append(parts, p.Load.String())
	}
	return strings.Join(parts, ", ")
}

// atProcs is the panel of one GOMAXPROCS.
func atProcs(procs int) Panel { return Panel{Procs: procs} }

// AxisProcs is the title of an axis of values of GOMAXPROCS.
const AxisProcs = "GOMAXPROCS"
