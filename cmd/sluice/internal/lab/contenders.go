package lab

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
)

// A ContenderID identifies a contender in code, in results.json and in
// results.txt. A person sees the name that [NameOf] returns. A name may change
// from one version to the next; an ID must not, because runs are compared by
// it. An ID has letters, digits, dots, plus signs and underscores.
type ContenderID = measure.ContenderID

// Contenders of more than one experiment.
const (
	Native           ContenderID = "native"
	nativeUnbuffered ContenderID = "native_unbuffered"
	native1024       ContenderID = "native_1024_slots"
	nativeSlotEach   ContenderID = "native_N_slots"
	ownBounded       ContenderID = "sluice.Bounded"
	bounded1024      ContenderID = "sluice.Bounded_1024_slots"
	boundedSlotEach  ContenderID = "sluice.Bounded_N_slots"
	elastic          ContenderID = "sluice.Elastic"
	elasticBatches   ContenderID = "sluice.Elastic_batches"
	pipe             ContenderID = "bridge.Pipe"
	rendezvous       ContenderID = "sluice.Rendezvous"
	simplePump       ContenderID = "published_simple"
	flushingPump     ContenderID = "published_flushing"
)

// Contenders of direct-send. withHandOff is a Rendezvous at capacity 0 and a
// Bounded above; buffers has it too.
const (
	withHandOff   ContenderID = "sluice"
	withNoHandOff ContenderID = "sluice_no_hand-off"
)

// Contenders of elastic.
const (
	boundedOneToOne ContenderID = "sluice.Bounded_1024_1_1"

	shrinkHalf     ContenderID = "published_halves_below_a_half"
	shrinkEmpty    ContenderID = "published_when_empty"
	shrinkNever    ContenderID = "published_never"
	shrinkQuarter  ContenderID = "lazier_halves_below_a_quarter"
	shrinkIntended ContenderID = "when_empty_as_intended"
	presized       ContenderID = "pre-sized_never"
	ownHalf        ContenderID = "sluice.Elastic_ShrinkHalf"
	ownEmpty       ContenderID = "sluice.Elastic_ShrinkEmpty"
	ownNever       ContenderID = "sluice.Elastic_NoShrink"
)

// Contenders of lock-cost.
const (
	alone         ContenderID = "no_channel"
	publishedFarm ContenderID = "published"
	nativeSlices  ContenderID = "native_slices_of_64"
	workersRun    ContenderID = "workers.Run"
	workersMap    ContenderID = "workers.Map"
	senderMap     ContenderID = "batch.Sender_of_64_Map"

	// In its section batch, whose axis is the size of a batch:
	nativeBatches  ContenderID = "native_slices"
	boundedBatches ContenderID = "sluice.Bounded_batches"
	senderBatches  ContenderID = "batch.Sender_Map"

	// In its section backlog:
	nativeBacklog  ContenderID = "native_a_slot_for_each"
	byHandBacklog  ContenderID = "sluice.Bounded_64_by_hand"
	workersBacklog ContenderID = "workers.Run_a_backlog"
)

// Contenders of cpu-scaling. The remedies of the study's author are called
// published; the native ones are other remedies that need no library. Its
// section shapes has Native, nativeSelects, ownBounded and ownSelect, each in a
// shape (see shape.of), and its section capacity has Native, ownBounded and
// rendezvous, each with a capacity (see withSlots).
const (
	nativeSelects   ContenderID = "native_select"
	NativeOneToOne  ContenderID = "native_1_to_1" // oneToOne.of(Native)
	NativeManyToOne ContenderID = "native_P_to_1" // manyToOne.of(Native)
	ownSelect       ContenderID = "sluice.Select"

	capped       ContenderID = "published_GOMAXPROCS_32"
	pinned       ContenderID = "published_pinned_threads"
	timeAfter    ContenderID = "published_timeout_by_time.After"
	reusedTimer  ContenderID = "native_timeout_by_reused_timer"
	SharedSlices ContenderID = "published_slices"              // one slice under one mutex
	OwnSlices    ContenderID = "native_slices_of_each_sender"  // a slice for each sender
	byClock      ContenderID = "published_P_channels_by_clock" // see also byClockOf
	asNeeded     ContenderID = "published_channels_as_needed"
	byGoroutine  ContenderID = "native_P_channels_one_each"
	nativeFan2   ContenderID = "native_select_of_2_channels"
	nativeFan4   ContenderID = "native_select_of_4_channels"
	clockSlices  ContenderID = "published_P_channels_+_slices"
	eachSlices   ContenderID = "native_P_channels_one_each_+_slices"
	withoutMore  ContenderID = "published_slices_+_timeout_+_threads"
	allTogether  ContenderID = "published_all_together"
	ownSharded   ContenderID = "sluice.Sharded"
	ShardedLanes ContenderID = "sluice.Sharded_lane_each_runs" // each sender has a lane of its own
	batchSender  ContenderID = "batch.Sender_of_64"
)

// Contenders of not-busy, with a context that can be canceled. The others are those of
// other studies, withSlots at a capacity.
const (
	nativeDone  ContenderID = "native_128_select_ctx.Done"
	boundedDone ContenderID = "sluice.Bounded_128_ctx"
)

// A Family is the origin of a contender. Charts tell families apart by color
// and shape.
type Family uint8

const (
	FamilyPublished Family = iota // as the author of a study published it
	FamilyNative                  // built-in channels, without a library
	FamilySluice                  // this library
	FamilyNone                    // the same work without a channel
)

// names has the name and the family of each contender.
var names = map[ContenderID]struct {
	name   string
	family Family
}{
	Native:           {"native", FamilyNative},
	nativeUnbuffered: {"native, unbuffered", FamilyNative},
	native1024:       {"native, 1024 slots", FamilyNative},
	nativeSlotEach:   {"native, N slots", FamilyNative},
	ownBounded:       {"sluice.Bounded", FamilySluice},
	bounded1024:      {"sluice.Bounded, 1024 slots", FamilySluice},
	boundedSlotEach:  {"sluice.Bounded, N slots", FamilySluice},
	elastic:          {"sluice.Elastic", FamilySluice},
	elasticBatches:   {"sluice.Elastic, batches", FamilySluice},
	pipe:             {"bridge.Pipe", FamilySluice},
	rendezvous:       {"sluice.Rendezvous", FamilySluice},
	simplePump:       {"published, simple", FamilyPublished},
	flushingPump:     {"published, flushing", FamilyPublished},

	withHandOff:   {"sluice", FamilySluice},
	withNoHandOff: {"sluice, no hand-off", FamilySluice},

	boundedOneToOne: {"sluice.Bounded, 1024, 1:1", FamilySluice},
	shrinkHalf:      {"published, halves below a half", FamilyPublished},
	shrinkEmpty:     {"published, when empty", FamilyPublished},
	shrinkNever:     {"published, never", FamilyPublished},
	shrinkQuarter:   {"lazier: halves below a quarter", FamilyPublished},
	shrinkIntended:  {"when empty, as intended", FamilyPublished},
	presized:        {"pre-sized, never", FamilyPublished},
	ownHalf:         {"sluice.Elastic, ShrinkHalf", FamilySluice},
	ownEmpty:        {"sluice.Elastic, ShrinkEmpty", FamilySluice},
	ownNever:        {"sluice.Elastic, NoShrink", FamilySluice},

	alone:          {"no channel", FamilyNone},
	publishedFarm:  {"published", FamilyPublished},
	nativeSlices:   {"native, slices of 64", FamilyNative},
	workersRun:     {"workers.Run", FamilySluice},
	workersMap:     {"workers.Map", FamilySluice},
	senderMap:      {"batch.Sender of 64, Map", FamilySluice},
	nativeBatches:  {"native, slices", FamilyNative},
	boundedBatches: {"sluice.Bounded, batches", FamilySluice},
	senderBatches:  {"batch.Sender, Map", FamilySluice},
	nativeBacklog:  {"native, a slot for each", FamilyNative},
	byHandBacklog:  {"sluice.Bounded, 64 by hand", FamilySluice},
	workersBacklog: {"workers.Run, a backlog", FamilySluice},

	nativeSelects: {"native select", FamilyNative},
	ownSelect:     {"sluice.Select", FamilySluice},
	capped:        {"published, GOMAXPROCS 32", FamilyPublished},
	pinned:        {"published, pinned threads", FamilyPublished},
	timeAfter:     {"published, timeout by time.After", FamilyPublished},
	reusedTimer:   {"native, timeout by reused timer", FamilyNative},
	SharedSlices:  {"published, slices", FamilyPublished},
	OwnSlices:     {"native, slices of each sender", FamilyNative},
	byClock:       {"published, P channels by clock", FamilyPublished},
	byClockOf(2):  {"published, 2 channels by clock", FamilyPublished},
	byClockOf(4):  {"published, 4 channels by clock", FamilyPublished},
	byClockOf(8):  {"published, 8 channels by clock", FamilyPublished},
	asNeeded:      {"published, channels as needed", FamilyPublished},
	byGoroutine:   {"native, P channels, one each", FamilyNative},
	nativeFan2:    {"native, select of 2 channels", FamilyNative},
	nativeFan4:    {"native, select of 4 channels", FamilyNative},
	clockSlices:   {"published, P channels + slices", FamilyPublished},
	eachSlices:    {"native, P channels, one each + slices", FamilyNative},
	withoutMore:   {"published, slices + timeout + threads", FamilyPublished},
	allTogether:   {"published, all together", FamilyPublished},
	ownSharded:    {"sluice.Sharded", FamilySluice},
	ShardedLanes:  {"sluice.Sharded, lane each, runs", FamilySluice},
	batchSender:   {"batch.Sender of 64", FamilySluice},

	nativeDone:  {"native, 128, select with ctx.Done", FamilyNative},
	boundedDone: {"sluice.Bounded, 128, with ctx", FamilySluice},
}

func init() {
	for _, base := range []ContenderID{Native, nativeSelects, ownBounded, ownSelect} {
		for _, shape := range shapes {
			variant := names[base]
			variant.name += ", " + shape.name
			names[shape.of(base)] = variant
		}
	}
	for _, base := range []ContenderID{Native, ownBounded, rendezvous} {
		for _, capacity := range cpuCapacities {
			variant := names[base]
			variant.name += ", " + strconv.Itoa(capacity)
			names[withSlots(base, capacity)] = variant
		}
	}
}

// NameOf returns the name of a contender as people read it. The name of an
// unregistered ID is the ID.
func NameOf(id ContenderID) string {
	if named, ok := names[id]; ok {
		return named.name
	}
	return string(id)
}

// FamilyOf returns the family of a contender. It guesses the family of an
// unregistered ID by its first letters.
func FamilyOf(id ContenderID) Family {
	named, ok := names[id]
	switch {
	case ok:
		return named.family
	case strings.HasPrefix(string(id), string(Native)):
		return FamilyNative
	case strings.HasPrefix(string(id), string(withHandOff)):
		return FamilySluice
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
