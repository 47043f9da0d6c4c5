package lab

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A ContenderID identifies a contender in code, in results.json and in
// results.txt. It is the plain form of the name that people read, and must not change
// from one version to the next, because runs are compared by it. An ID has letters,
// digits, dots, plus signs and underscores.
type ContenderID = measure.ContenderID

// names has the name of each contender.
var names = make(map[ContenderID]string)

// named registers the name of a contender, and returns its ID.
func named(name string) ContenderID {
	id := ContenderID(Plain(name))
	names[id] = name
	return id
}

// variant returns the ID of a contender in a shape or with a capacity.
func variant(id ContenderID, of string) ContenderID { return id + "_" + ContenderID(Plain(of)) }

// Contenders of more than one experiment. The names of the others are in the files of
// their studies.
var (
	native           = named("native")
	nativeUnbuffered = named("native, unbuffered")
	native1024       = named("native, 1024 slots")
	nativeSlotEach   = named("native, N slots")
	bounded          = named("sluice.Bounded")
	bounded1024      = named("sluice.Bounded, 1024 slots")
	boundedSlotEach  = named("sluice.Bounded, N slots")
	elastic          = named("sluice.Elastic")
	rendezvous       = named("sluice.Rendezvous")
	withHandOff      = named("sluice") // a Rendezvous at capacity 0, and a Bounded above
	alone            = named("no channel")
)

// init registers the contenders of cpu-scaling and not-busy in each shape and with each
// capacity: a report that is written again names them, too.
func init() {
	for _, id := range []ContenderID{native, nativeSelects, bounded, ownSelect} {
		for _, s := range shapes {
			named(NameOf(id) + ", " + s.name)
		}
	}
	for _, id := range []ContenderID{native, bounded, rendezvous} {
		for _, capacity := range cpuCapacities {
			named(NameOf(id) + ", " + strconv.Itoa(capacity))
		}
	}
	for _, channels := range clocked {
		named(fmt.Sprintf("published, %d channels by clock", channels))
	}
}

// NameOf returns the name of a contender as people read it. The name of an
// unregistered ID is the ID.
func NameOf(id ContenderID) string { return cmp.Or(names[id], string(id)) }

// A Family is the origin of a contender. Charts tell families apart by color
// and shape.
type Family uint8

const (
	FamilyNone      Family = iota // the same work without a channel
	FamilyNative                  // built-in channels, without a library
	FamilyPublished               // as the author of a study published it
	FamilySluice                  // this library
)

// FamilyOf returns the family of a contender, by the first word of its ID.
func FamilyOf(id ContenderID) Family {
	word := string(id)
	if end := strings.IndexAny(word, "_., "); end >= 0 {
		word = word[:end]
	}
	switch word {
	case "native":
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
// loads.
type Load string

// The loads.
const (
	fillFirst         Load = "seq" // of elastic
	bothAtOnce        Load = "con"
	varySendBuffer    Load = "con, send"
	varyReceiveBuffer Load = "con, receive"
	swinging          Load = "swing"

	oneConsumer Load = "one-consumer" // of remedies, in cpu-scaling
	matched     Load = "matched"
)

var loadNames = map[Load]string{
	fillFirst:         "fill first, then drain",
	bothAtOnce:        "both at once",
	varySendBuffer:    "both at once, send buffer alone",
	varyReceiveBuffer: "both at once, receive buffer alone",
	swinging:          "swinging around a power of two",
	oneConsumer:       "P producers, one consumer",
	matched:           "P producers, matched consumers",
}

func (l Load) String() string { return cmp.Or(loadNames[l], string(l)) }

// work returns the load in the label of a point.
func (l Load) work() string {
	work, _, _ := strings.Cut(string(l), ",")
	return work
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

// AxisProcs is the title of an axis of values of GOMAXPROCS.
const AxisProcs = "GOMAXPROCS"
