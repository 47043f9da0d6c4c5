package lab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// buffersStudy has one sender, ten workers and a buffer between them.
var buffersStudy = Experiment{
	Study: Study{
		Name:  "buffers",
		Title: "How much does a buffer save?",
		Prediction: "A buffer lets the sender continue instead of yielding to a receiver for each value. Most of the gain comes " +
			"from the first slots, up to about twice the workers, and none beyond a few hundred. The time blocked falls as well, " +
			"in receive more than in send, because ten workers wait for one sender.",
		Source: Source{
			Author:  "V. Blanchon",
			Title:   "Go: Buffered and Unbuffered Channels",
			Year:    2019,
			Machine: "8 threads",
			Go:      "not stated",
		},
		Notes: []string{
			"“sluice” is sluice.Rendezvous at capacity 0 and sluice.Bounded above.",
			"The published figures are compared with GOMAXPROCS 8, the author's number of threads. An iteration includes " +
				"making the channel, starting the goroutines, sending 1000 values, and waiting for the goroutines.",
			"From the block profile, the author concluded that the buffer divides the latency by five.",
			"The block profile counts the time from parking a goroutine until it is made ready. It does not count the time " +
				"until the goroutine has a processor, the lock inside a built-in channel, or yielding: sluice yields once before it " +
				"parks, and most of its waits at capacity 0 end there. So compare the capacities of one channel with each other, not " +
				"the two channels.",
		},
		PublishedIn: Measure{Unit: measure.NsPerOp, Axis: "µs per 1000 values"}, // the same number as ns per value
	},
	Sections:  buffersSections,
	Published: buffersPublished(),
	Conclude:  buffersConclusion,
}

// The study's setting: workers, threads, the largest buffer, and the number of values
// that it sends through one channel.
const (
	studyWorkers = 10
	studyProcs   = 8
	studyBuffer  = "25"
	totalRound   = 1000
)

// sectionBlocked is the section of the time blocked, summed over all goroutines, per value
// sent, in two units.
const (
	sectionBlocked = SectionID("blocked")
	blockedSend    = "blocked-send-ns/op"
	blockedReceive = "blocked-receive-ns/op"
)

func buffersPublished() []Published {
	var figures []Published
	for _, f := range []struct {
		capacity string
		value    float64
		margin   int // percent
	}{{"0", 306, 3}, {"1", 248, 1}, {"5", 183, 4}, {studyBuffer, 134, 2}} {
		figures = append(figures, Published{
			Row: "ten workers", Column: fmt.Sprintf("capacity %s (± %d%%)", f.capacity, f.margin), Value: f.value,
			Section: sectionCapacity, Panel: Panel{Procs: studyProcs, Workers: studyWorkers}, X: f.capacity, Contender: native, Ours: withHandOff,
		})
	}
	return figures
}

func buffersSections(s Scale) []Section {
	byCapacity := newSection(sectionCapacity, "The study's load, by capacity", "capacity",
		"One goroutine sends 1000 values of four bytes and closes the channel; the workers receive them and add them "+
			"atomically to one total. Each 1000 values have a new channel and new goroutines.",
		PerValue)
	blocked := newSection(sectionBlocked, "Time blocked in send and in receive", "capacity",
		"The same work in separate passes under the runtime's block profile, which slows them: the time that goroutines "+
			"were parked on either side of the channel, summed over all of them, per value sent.",
		Measure{Unit: blockedSend, Title: "in send", Axis: "ns per value"},
		Measure{Unit: blockedReceive, Title: "in receive", Axis: "ns per value"})
	procs, workers, capacities := s.procs(2, studyProcs), []int{studyWorkers}, []int{0, 1, 2, 5, 10, 25, 100, 1024}
	switch s.Size {
	case Standard:
		workers = []int{1, studyWorkers, 100}
	case AsPublished:
		procs, capacities = s.procs(studyProcs), []int{0, 1, 5, 25}
	}
	point := func(section *Section, procs, workers, capacity int, enter func(sharer) measure.Entry) *Point {
		x := strconv.Itoa(capacity)
		p := section.point(s, Panel{Procs: procs, Workers: workers}, x, procs, totalRound,
			measure.Label{Key: "workers", Value: strconv.Itoa(workers)}, measure.Label{Key: "capacity", Value: x})
		for _, c := range sharers {
			p.Entries = append(p.Entries, enter(c))
		}
		p.leaveOut("it grows, and has no capacity to sweep", elastic)
		return p
	}
	for _, p := range procs {
		for _, w := range workers {
			for _, capacity := range capacities {
				point(&byCapacity, p, w, capacity, func(c sharer) measure.Entry { return c.timed(capacity, w) })
			}
		}
	}
	rounds := [...]int{Standard: 30, Quick: 3, AsPublished: 300}[s.Size]
	for _, capacity := range capacities {
		point(&blocked, s.home(procs...), studyWorkers, capacity, func(c sharer) measure.Entry {
			return c.blocked(capacity, studyWorkers, rounds)
		}).Target = 0
	}
	return arranged(byCapacity, blocked)
}

// A total is the sum of the values of a round and their number. Each worker
// adds its count once: it proves that the work was done.
type total struct {
	sum   atomic.Uint32
	count atomic.Uint32
}

// A sharing is a channel of the study with its loops, as its users would write them. The
// contenders of the other studies carry values of eight bytes; the values of this study
// have four.
type sharing struct {
	produce func()       // sends 1 … totalRound and closes
	work    func(*total) // receives until the end
}

func shareNative(capacity int) sharing {
	c := make(chan uint32, capacity)
	return sharing{
		produce: func() {
			for v := range uint32(totalRound) {
				c <- v + 1
			}
			close(c)
		},
		work: func(t *total) {
			var received uint32
			for v := range c {
				t.sum.Add(v)
				received++
			}
			t.count.Add(received)
		},
	}
}

// shareSluice is sluice.Rendezvous at capacity 0 and sluice.Bounded above.
func shareSluice(capacity int) sharing {
	var c sluice.Channel[uint32] = sluice.NewRendezvous[uint32](nil)
	if capacity > 0 {
		c = sluice.NewBounded[uint32](capacity, nil)
	}
	return sharing{
		produce: func() {
			for v := range uint32(totalRound) {
				if c.Send(background, v+1) != nil {
					return // the count is too low
				}
			}
			c.Close()
		},
		work: func(t *total) {
			var received uint32
			for {
				v, err := c.Recv(background)
				if err != nil {
					break
				}
				t.sum.Add(v)
				received++
			}
			t.count.Add(received)
		},
	}
}

// A sharer is a contender of this study.
type sharer struct {
	id    ContenderID
	share func(capacity int) sharing
}

var sharers = []sharer{{native, shareNative}, {withHandOff, shareSluice}}

// round is an iteration of the study, with a new channel and new goroutines.
func (s sharer) round(capacity, workers int) error {
	var t total
	var all sync.WaitGroup
	c := s.share(capacity)
	for range workers {
		all.Go(func() { c.work(&t) })
	}
	all.Go(c.produce)
	all.Wait()
	const sum = totalRound * (totalRound + 1) / 2
	if got, count := t.sum.Load(), t.count.Load(); got != sum || count != totalRound {
		return fmt.Errorf("%s: received %d values that add up to %d, not %d to %d", s.id, count, got, totalRound, sum)
	}
	return nil
}

// timed enters s in the study's work. As in the study, the time of a whole
// iteration counts.
func (s sharer) timed(capacity, workers int) measure.Entry {
	return measure.Entry{Contender: s.id, Pass: func() (measure.Reading, error) {
		began := time.Now()
		err := s.round(capacity, workers)
		return measure.Reading{Ops: totalRound, Elapsed: time.Since(began)}, err
	}}
}

// blocked enters s in a number of rounds of the study's work under the block
// profile.
func (s sharer) blocked(capacity, workers, rounds int) measure.Entry {
	return measure.Entry{Contender: s.id, Pass: func() (measure.Reading, error) {
		spent, err := measure.Blocked(func() error {
			for range rounds {
				if err := s.round(capacity, workers); err != nil {
					return err
				}
			}
			return nil
		}, sideOf)
		if err != nil {
			return measure.Reading{}, err
		}
		values := rounds * totalRound
		figures := make([]measure.Figure, 0, 2)
		for _, unit := range []string{blockedSend, blockedReceive} {
			figures = append(figures, measure.Figure{Unit: unit, Value: float64(spent[unit].Nanoseconds()) / float64(values)})
		}
		return measure.Reading{Ops: values, Figures: figures}, nil
	}}
}

// sideOf returns the side of the channel on which a goroutine of the study's
// work was blocked, as the unit of its time, or "" if it is not the study's.
// The kinds of this library park goroutines on a built-in channel, always in a
// receive: their methods, further out on the stack, show the side.
func sideOf(functions []string) string {
	side := map[string]string{
		"runtime.chansend1": blockedSend,
		"runtime.chanrecv1": blockedReceive,
		"runtime.chanrecv2": blockedReceive,
	}[functions[0]]
	ours := false
	for _, function := range functions {
		switch {
		case strings.HasPrefix(function, library+".(") && strings.HasSuffix(function, ".Send"):
			side = blockedSend
		case strings.HasPrefix(function, library+".(") && strings.HasSuffix(function, ".Recv"):
			side = blockedReceive
		case strings.HasPrefix(function, library+"/cmd/sluice/internal/lab.share"):
			ours = true
		}
	}
	if !ours {
		return "" // another goroutine of the process
	}
	return side
}

// library is the import path of the library.
const library = "github.com/sluice-go/sluice"

// buffersWays are the capacities in the study's chart.
var buffersWays = []struct {
	x string
	way
}{
	{"0", way{native, "chan, unbuffered", "through an unbuffered channel", true}},
	{"1", way{native, "chan, 1 slot", "", false}},
	{"5", way{native, "chan, 5 slots", "", true}},
	{studyBuffer, way{native, "chan, " + studyBuffer + " slots", "with " + studyBuffer + " slots", true}},
	{"100", way{native, "chan, 100 slots", "", false}},
	{"1024", way{native, "chan, 1024 slots", "", false}},
}

// buffersConclusion draws the answer from the first measured GOMAXPROCS.
func buffersConclusion(m *Measured) Conclusion {
	c := Conclusion{Findings: buffersFindings(m)}
	of := m.in(sectionCapacity).where(func(s spot) bool { return s.Panel.Workers == studyWorkers }).with(native)
	if len(of.at("0")) == 0 {
		return c
	}
	first := of.at("0")[0]
	panel := of.where(func(s spot) bool { return s.Panel == first.Panel })
	receivers := format.Plural(studyWorkers, "receiver")
	c.Chart = Chart{Conditions: "1 sender, " + receivers + ", " + first.conditions(), Unit: PerValue.Axis}
	var ways []way
	for _, w := range buffersWays {
		baseline := native
		if w.x != "0" {
			baseline = ""
		}
		c.Bars, ways = append(c.Bars, panel.at(w.x).one().bars(PerValue, baseline, w.way)...), append(ways, w.way)
	}
	c.costs, c.sentence = c.Chart, costSentence(c.Chart, ways...)
	const with, without = "chan, " + studyBuffer + " slots", "chan, unbuffered"
	slower := saving(panel, studyBuffer, "0")
	c.Answer = "With " + studyBuffer + " slots, a channel from one sender to " + receivers + " " + c.speed(slower, with, without, "without a buffer") + "."
	c.Advice = "Buffer busy channels whose sender need not wait."
	if enough := enough(panel); enough != "" && enough != "0" && more(slower) {
		c.Advice = "Give such a channel " + enough + " slots: more save nothing beyond noise."
	}
	c.claims = c.bufferClaim(slower, without, with, studyBuffer)
	return c
}

// saving returns the change of the time through the built-in channel, from one capacity
// to another.
func saving(panel spots, from, to string) stat.Change {
	return stat.Between(panel.at(from).one().samples(native), panel.at(to).one().samples(native))
}

// enough returns the smallest capacity such that no larger one saves time beyond
// noise, or "" if only the largest qualifies.
func enough(panel spots) string {
	for i, p := range panel[:max(0, len(panel)-1)] {
		maySave := func(larger spot) bool {
			change := saving(panel, p.X, larger.X)
			return change.Confidence == 0 || change.Clear() && change.Median < 0
		}
		if !slices.ContainsFunc(panel[i+1:], maySave) {
			return p.X
		}
	}
	return ""
}

func buffersFindings(m *Measured) []string {
	panels := make(map[int][]spots) // by the number of workers
	var workers []int
	for _, panel := range m.in(sectionCapacity).panels() {
		n := panel[0].Panel.Workers
		if panels[n] == nil {
			workers = append(workers, n)
		}
		panels[n] = append(panels[n], panel)
	}
	var findings []string
	for _, n := range workers {
		subject := "One sender and " + format.Plural(n, "worker")
		var places []place
		var enoughAt []string
		at := " slots at GOMAXPROCS " // then only the figures
		for _, panel := range panels[n] {
			if c := saving(panel, "0", studyBuffer); c.N > 0 {
				places = append(places, place{panel[0].ps(), c})
			}
			if enough := enough(panel); enough != "" {
				enoughAt, at = append(enoughAt, enough+at+panel[0].ps()), " at "
			}
		}
		findings = append(findings, effect(subject+": a built-in channel with "+studyBuffer+" slots instead of none", byProcs, places))
		if len(enoughAt) > 0 {
			findings = append(findings, subject+": more slots of a built-in channel save nothing beyond noise above "+format.And(enoughAt)+".")
		}
		for _, x := range []string{"0", studyBuffer} {
			findings = append(findings, slices.Concat(panels[n]...).at(x).effect(
				subject+", capacity "+x+": sluice instead of the built-in channel", byProcs, native, withHandOff))
		}
	}
	return said(append(findings, blockedByBuffer(m.in(sectionBlocked)))...)
}

// blockedByBuffer compares the time that goroutines of the built-in channel
// were parked, without a buffer and with the study's.
func blockedByBuffer(at spots) string {
	blocked := func(x string) (text string, total []float64) {
		send, receive := at.at(x).in(blockedSend).one(), at.at(x).in(blockedReceive).one()
		total = send.samples(native)
		for i, ns := range receive.samples(native) {
			total[i] += ns
		}
		return fmt.Sprintf("%.0f ns in send and %.0f ns in receive", send.summary(native).Median, receive.summary(native).Median), total
	}
	none, without := blocked("0")
	some, with := blocked(studyBuffer)
	change := stat.Between(without, with)
	if change.N == 0 {
		return ""
	}
	text := "Time blocked per value, at " + at[0].title() + ", summed over all goroutines of a built-in channel: " + none +
		" without a buffer, " + some + " with " + studyBuffer + " slots"
	if fraction := 1 + change.Median; change.Clear() && fraction > 0 {
		text += ", which is " + factor(change) + " times as much"
	} else {
		text += ", no difference beyond noise"
	}
	return text + "; the author found a fifth."
}
