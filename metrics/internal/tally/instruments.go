package tally

import "time"

// An Instrument is one figure that is told of each series. It is named in the way of
// OpenTelemetry, whose rules also say what that is for Prometheus: dots become
// underscores, a unit its plain plural, and a counter ends in _total.
type Instrument struct {
	Name string
	Unit string // in UCUM; what stands in braces is no unit, it says what is counted
	Type Type
	Help string

	// Split names what a series is split by in this figure, empty if by nothing: then
	// there is one part.
	Split string
	Parts []Part
}

// Type is what may be done with a figure.
type Type uint8

const (
	Counter       Type = iota // never falls; look at its rate
	UpDownCounter             // rises and falls; its sum over names is of use
	Gauge                     // rises and falls; its sum says nothing
)

// A Part is what a series has of a figure under one value of Split.
type Part struct {
	Value string
	of    func(*Series) int64
}

// What a figure is split by.
const (
	Side  = "side"
	State = "state"
)

// Of returns the figure for a series. Of the unit s it is in nanoseconds, so that
// nothing is rounded on the way to a counter; use [Instrument.Float] or a
// time.Duration. It may be [Infinite].
func (p Part) Of(s *Series) int64 { return p.of(s) }

// Float returns a figure in the instrument's unit.
func (in *Instrument) Float(figure int64) float64 {
	if in.Unit == "s" {
		return time.Duration(figure).Seconds()
	}
	return float64(figure)
}

// Instruments are told of every series.
var Instruments = []Instrument{
	{"sluice.channel.sent", "{value}", Counter, "Values accepted from senders.",
		"", whole(func(s *Series) int64 { return s.Sent })},
	{"sluice.channel.received", "{value}", Counter, "Values taken by receivers.",
		"", whole(func(s *Series) int64 { return s.Received })},
	{"sluice.channel.dropped", "{value}", Counter, "Values discarded by an overflow policy.",
		"", whole(func(s *Series) int64 { return s.Dropped })},
	{"sluice.channel.waits", "{wait}", Counter, "Times a goroutine parked to wait for room or for a value, by side.",
		Side, sides(func(s *Series) int64 { return s.SendWaits }, func(s *Series) int64 { return s.RecvWaits })},
	{"sluice.channel.wait.time", "s", Counter, "Time that goroutines spent in waits that have ended, by side, estimated from samples.",
		Side, sides(func(s *Series) int64 { return int64(s.SendWaitTime) }, func(s *Series) int64 { return int64(s.RecvWaitTime) })},
	{"sluice.channel.waiting", "{goroutine}", UpDownCounter, "Goroutines that are parked now, by side.",
		Side, sides(func(s *Series) int64 { return s.Senders }, func(s *Series) int64 { return s.Receivers })},
	{"sluice.channel.usage", "{value}", UpDownCounter, "Values queued now.",
		"", whole(func(s *Series) int64 { return s.Queued })},
	{"sluice.channel.limit", "{value}", UpDownCounter, "Values that can be queued.",
		"", whole(func(s *Series) int64 { return s.Capacity })},
	{"sluice.channel.high_water", "{value}", Gauge, "Most values that were ever queued in one of the channels alive now.",
		"", whole(func(s *Series) int64 { return s.HighWater })},
	{"sluice.channel.memory.usage", "By", UpDownCounter, "Memory held for queued values and for spare room.",
		"", whole(func(s *Series) int64 { return s.Memory })},
	{"sluice.channel.disk.usage", "By", UpDownCounter, "Room taken on disk by channels that have some of their values there.",
		"", whole(func(s *Series) int64 { return s.Disk })},
	{"sluice.channel.lanes", "{lane}", UpDownCounter, "Lanes, of which each channel but a Sharded has one.",
		"", whole(func(s *Series) int64 { return s.Lanes })},
	{"sluice.channels", "{channel}", UpDownCounter, "Channels that are not garbage yet, by state.",
		State, []Part{{"open", func(s *Series) int64 { return s.Open }}, {"closed", func(s *Series) int64 { return s.Closed }}}},
	{"sluice.channel.warned", "{channel}", UpDownCounter, "Channels with a warning in their Stats: a promise of theirs is weaker than was asked for.",
		"", whole(func(s *Series) int64 { return s.Warned })},
}

// OtherNames is told once, of all series together. It has no parts.
var OtherNames = Instrument{
	Name: "sluice.channel.other_names", Unit: "{name}", Type: UpDownCounter,
	Help: "Names, of one kind each, that have no series of their own because the limit is reached: their channels are counted together as " + Other + ".",
}

func whole(of func(*Series) int64) []Part { return []Part{{"", of}} }

func sides(send, receive func(*Series) int64) []Part {
	return []Part{{"send", send}, {"receive", receive}}
}
