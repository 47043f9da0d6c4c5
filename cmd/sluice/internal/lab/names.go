package lab

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A ContenderID identifies a contender in code, in results.json and in results.txt. It must
// not change from one version to the next, because runs are compared by it. An ID has
// letters, digits, dots, dashes, plus signs and underscores.
type ContenderID = measure.ContenderID

// NameOf returns the name of a contender as people read it.
func NameOf(id ContenderID) string { return strings.ReplaceAll(string(id), "_", " ") }

// Contenders of more than one experiment. The names of the others are in the files of
// their studies.
const (
	native           ContenderID = "native"
	nativeUnbuffered ContenderID = "native_unbuffered"
	native1024       ContenderID = "native_1024_slots"
	nativeSlotEach   ContenderID = "native_N_slots"
	bounded          ContenderID = "sluice.Bounded"
	bounded1024      ContenderID = "sluice.Bounded_1024_slots"
	boundedSlotEach  ContenderID = "sluice.Bounded_N_slots"
	elastic          ContenderID = "sluice.Elastic"
	rendezvous       ContenderID = "sluice.Rendezvous"
	withHandOff      ContenderID = "sluice" // a Rendezvous at capacity 0, and a Bounded above
	alone            ContenderID = "no_channel"
)

// A Family is the origin of a contender. Charts tell families apart by color
// and shape.
type Family uint8

const (
	FamilyNone      Family = iota // the same work without a channel
	FamilyNative                  // built-in channels, without a library
	FamilyPublished               // as the author of a study published it
	FamilySluice                  // this library
)

// FamilyOf returns the family of a contender, by the first word of its ID or of its label in
// a chart.
func FamilyOf(id ContenderID) Family {
	word := string(id)
	if end := strings.IndexAny(word, "_., "); end >= 0 {
		word = word[:end]
	}
	switch word {
	case "native", "chan":
		return FamilyNative
	case "sluice", "bridge", "workers", "batch":
		return FamilySluice
	case "no":
		return FamilyNone
	}
	return FamilyPublished
}

// Plain replaces by underscores what must not stand in an ID, nor in the name of a
// benchmark.
func Plain(text string) string {
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(",:/=", r)
	})
	return strings.Join(fields, "_")
}

// A SectionID identifies a section of an experiment in code and in files.
type SectionID string

// sectionCapacity is a section of buffers, and of cpu-scaling.
const sectionCapacity SectionID = "capacity"

// A Load is the work that the contenders of a point do, in a section with several
// loads: its name in the label of a point, and its title.
type Load struct{ work, title string }

var (
	fillFirst         = Load{"seq", "fill first, then drain"} // of elastic
	bothAtOnce        = Load{"con", "both at once"}
	varySendBuffer    = Load{"con", "both at once, send buffer alone"}
	varyReceiveBuffer = Load{"con", "both at once, receive buffer alone"}
	swinging          = Load{"swing", "swinging around a power of two"}

	oneConsumer = Load{"one-consumer", "P producers, one consumer"} // of remedies, in cpu-scaling
	matched     = Load{"matched", "P producers, matched consumers"}
)

// A Panel identifies one chart of a section by the settings that its points
// share. The zero Panel is the only one of its section.
type Panel struct {
	Procs   int // GOMAXPROCS
	Workers int
	Job     time.Duration // the size of a job
	Load    Load
}

// String returns the panel's title: "GOMAXPROCS 2, 10 workers".
func (p Panel) String() string {
	var parts []string
	if p.Procs > 0 {
		parts = append(parts, AxisProcs+" "+strconv.Itoa(p.Procs))
	}
	if p.Workers > 0 {
		parts = append(parts, format.Plural(p.Workers, "worker"))
	}
	if p.Job > 0 {
		parts = append(parts, "jobs of "+format.Duration(p.Job))
	}
	if p.Load.title != "" {
		parts = append(parts, p.Load.title)
	}
	return strings.Join(parts, ", ")
}

// AxisProcs is the title of an axis of values of GOMAXPROCS.
const AxisProcs = "GOMAXPROCS"
