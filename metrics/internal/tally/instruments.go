package tally

import "time"

// An Instrument is a metric that every series has. Names follow the conventions of
// OpenTelemetry, which also define the names for Prometheus: dots become underscores, the
// unit is appended as a plural, and counters end in _total.
type Instrument struct {
	Name string
	Unit string // in UCUM; a word in braces is an annotation: the thing that is counted
	Type Type
	Help string

	// Split is the label by which this metric is split into parts, or empty: then there
	// is one part.
	Split string
	Parts []Part
}

// A Type is the type of a metric.
type Type uint8

const (
	Counter       Type = iota // never falls; query its rate
	UpDownCounter             // rises and falls; its sum over names is meaningful
	Gauge                     // rises and falls; its sum is meaningless
)

// A Part is the figure of a series for one value of Split.
type Part struct {
	Value string
	of    func(*Series) int64
}

// The labels by which metrics are split.
const (
	Side   = "side"
	State  = "state"
	Reason = "reason"
)

// Of returns the figure of a series, which may be [Infinite]. If the unit is s, the figure
// is in nanoseconds, to avoid rounding; see [Instrument.Float].
func (p Part) Of(s *Series) int64 { return p.of(s) }

// Float converts a figure to the instrument's unit.
func (in *Instrument) Float(figure int64) float64 {
	if in.Unit == "s" {
		return time.Duration(figure).Seconds()
	}
	return float64(figure)
}

// Missing reports whether s has no figure for the instrument: a gauge is missing while a
// channel of the series does not answer, and an age while there are only bounds.
func (in *Instrument) Missing(s *Series) bool {
	return s.Unanswered > 0 && in.Type != Counter && in.Name != unanswered || in.Name == "sluice.channel.oldest_value" && s.Oldest.Unknown()
}

// unanswered is the instrument that is never missing.
const unanswered = "sluice.channel.unanswered"

// Instruments are the metrics of each series.
var Instruments = []Instrument{
	{"sluice.channel.sent", "{value}", Counter, "Values accepted from senders.",
		"", whole(func(s *Series) int64 { return s.Sent })},
	{"sluice.channel.received", "{value}", Counter, "Values taken by receivers.",
		"", whole(func(s *Series) int64 { return s.Received })},
	{"sluice.channel.dropped", "{value}", Counter, "Values discarded by an overflow policy, or because they were older than MaxAge, by reason.",
		Reason, []Part{{"overflow", func(s *Series) int64 { return s.Overflowed }}, {"age", func(s *Series) int64 { return s.TooOld }}}},
	{"sluice.channel.rejected", "{send}", Counter, "Sends that failed because the channel was full.",
		"", whole(func(s *Series) int64 { return s.Rejected })},
	{"sluice.channel.waits", "{wait}", Counter, "Times that a goroutine parked to wait for room or for a value, by side.",
		Side, sides(func(s *Series) int64 { return s.SendWaits }, func(s *Series) int64 { return s.RecvWaits })},
	{"sluice.channel.wait.time", "s", Counter, "Time that goroutines spent in waits that have ended, by side, estimated from samples.",
		Side, sides(func(s *Series) int64 { return int64(s.SendWaitTime) }, func(s *Series) int64 { return int64(s.RecvWaitTime) })},
	{"sluice.channel.waiting", "{goroutine}", UpDownCounter, "Goroutines that are parked, by side.",
		Side, sides(func(s *Series) int64 { return s.Senders }, func(s *Series) int64 { return s.Receivers })},
	{"sluice.channel.usage", "{value}", UpDownCounter, "Values in the queue.",
		"", whole(func(s *Series) int64 { return s.Queued })},
	{"sluice.channel.capacity", "{value}", UpDownCounter, "Values that can be queued.",
		"", whole(func(s *Series) int64 { return s.Capacity })},
	{"sluice.channel.high_water", "{value}", Gauge, "High-water mark: the most values ever queued in one channel, over the channels that are alive.",
		"", whole(func(s *Series) int64 { return s.HighWater })},
	{"sluice.channel.oldest_value", "s", Gauge, "Age of the oldest queued value, over the channels that are alive, estimated from the rate of sends. Missing while it is unknown.",
		"", whole(func(s *Series) int64 { return int64(s.Oldest.Estimate) })},
	{"sluice.channel.memory.usage", "By", UpDownCounter, "Memory for queued values, including spare room.",
		"", whole(func(s *Series) int64 { return s.Memory })},
	{"sluice.channel.disk.usage", "By", UpDownCounter, "Disk space of channels that store values on disk.",
		"", whole(func(s *Series) int64 { return s.Disk })},
	{"sluice.channel.lanes", "{lane}", UpDownCounter, "Lanes. Every channel has one, except a Sharded, which may have more.",
		"", whole(func(s *Series) int64 { return s.Lanes })},
	{"sluice.channels", "{channel}", UpDownCounter, "Channels that are not garbage, by state.",
		State, []Part{{"open", func(s *Series) int64 { return s.Open }}, {"closed", func(s *Series) int64 { return s.Closed }}}},
	{"sluice.channel.warned", "{channel}", UpDownCounter, "Channels with a warning in their Stats, because a guarantee is weaker than requested or the channel has failed.",
		"", whole(func(s *Series) int64 { return s.Warned })},
	{unanswered, "{channel}", UpDownCounter, "Channels whose Stats did not return in time, or panicked. Until they answer, the other gauges of their name are missing, and its counters lack what they count.",
		"", whole(func(s *Series) int64 { return s.Unanswered })},
}

// OtherNames is a single metric, which does not belong to a series. It has no parts.
var OtherNames = Instrument{
	Name: "sluice.channel.other_names", Unit: "{name}", Type: UpDownCounter,
	Help: "Names (counted once for each kind) without series of their own because the limit is reached. Their channels are added up as " + Other + ".",
}

func whole(of func(*Series) int64) []Part { return []Part{{"", of}} }

func sides(send, receive func(*Series) int64) []Part {
	return []Part{{"send", send}, {"receive", receive}}
}
