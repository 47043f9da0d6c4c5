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
		Topic: "buffer sizes",
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

// studyAndMore are the workers that the study has, fewer, and more.
var studyAndMore = []int{1, studyWorkers, 100}

// sectionBlocked is the section of the time blocked, summed over all goroutines, per value
// sent, in two units.
const (
	sectionBlocked = SectionID("blocked")
	blockedSend    = "blocked-send-ns/op"
	blockedReceive = "blocked-receive-ns/op"
)

func buffersPublished() (figures []Published) {
	for _, f := range []struct {
		capacity, margin string
		value            float64
	}{{"0", "3%", 306}, {"1", "1%", 248}, {"5", "4%", 183}, {studyBuffer, "2%", 134}} {
		figures = append(figures, Published{
			Row: "ten workers", Column: "capacity " + f.capacity + " (± " + f.margin + ")", Value: f.value,
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
		workers = studyAndMore
	case AsPublished:
		procs, capacities = s.procs(studyProcs), []int{0, 1, 5, 25}
	}
	point := func(section *Section, procs, workers, capacity int, enter func(sharer) measure.Entry) *Point {
		x := strconv.Itoa(capacity)
		p := section.point(s, Panel{Workers: workers}, x, procs, totalRound,
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
	return []Section{byCapacity, blocked}
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

// buffersConclusion draws the answer from the first measured GOMAXPROCS.
func buffersConclusion(m Measured) Conclusion {
	c := Conclusion{Findings: buffersFindings(m)}
	home := m.in(sectionCapacity).where(func(s spot) bool { return s.Panel.Workers == studyWorkers }).at("0").with(native).one()
	panel := m.in(sectionCapacity).panel(home.Panel)
	if len(panel) == 0 {
		return c
	}
	receivers := format.Plural(studyWorkers, "receiver")
	c.Chart = Chart{Conditions: home.under("1 sender, " + receivers), Unit: PerValue.Axis,
		Bars: home.bars(PerValue, native, way{native, "chan, unbuffered", "through an unbuffered channel"})}
	for _, slots := range []string{"1", "5", studyBuffer, "100", "1024"} {
		w := way{contender: native, label: "chan, " + slots + " slots"}
		if slots == studyBuffer {
			w.words = "with " + slots + " slots"
		}
		c.Bars = append(c.Bars, panel.at(slots).one().bars(PerValue, "", w)...)
	}
	c.Answer = "With " + studyBuffer + " slots, a channel from one sender to " + receivers + " is " + speed(saving(panel, "0", studyBuffer)) + " as without a buffer."
	c.Advice = "Buffer busy channels whose sender need not wait."
	if enough := enough(panel); enough != "" && enough != "0" && faster(saving(panel, "0", studyBuffer)) {
		c.Advice = "Give such a channel " + enough + " slots: more save nothing beyond noise."
	}
	return c
}

// saving returns the change of the time through the built-in channel, from one capacity
// to another.
func saving(panel Measured, from, to string) stat.Change {
	return stat.Between(panel.at(from).one().samples(native), panel.at(to).one().samples(native))
}

// enough returns the smallest capacity such that no larger one saves time beyond
// noise, or "" if only the largest qualifies.
func enough(panel Measured) string {
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

func buffersFindings(m Measured) []string {
	var findings []string
	for _, workers := range studyAndMore {
		of := m.in(sectionCapacity).where(func(s spot) bool { return s.Panel.Workers == workers })
		subject := "One sender and " + format.Plural(workers, "worker") + ": "
		var gains, knees []place
		for _, none := range of.at("0").with(native) {
			panel := of.panel(none.Panel)
			if gain := saving(panel, "0", studyBuffer); gain.N > 0 {
				gains = append(gains, place{none.ps(), speed(gain)})
			}
			if enough := enough(panel); enough != "" {
				knees = append(knees, place{none.ps(), enough + " slots"})
			}
		}
		findings = append(findings,
			finding(subject+"a built-in channel with "+studyBuffer+" slots instead of none is", atProcs, gains),
			finding(subject+"more slots of a built-in channel save nothing beyond noise above", atProcs, knees),
			of.at("0").compare(subject+"sluice instead of the built-in channel, without a buffer,", native, withHandOff),
			of.at(studyBuffer).compare(subject+"sluice instead of the built-in channel, with "+studyBuffer+" slots,", native, withHandOff))
	}
	var sides []place
	for _, side := range []struct{ name, unit string }{{"send", blockedSend}, {"receive", blockedReceive}} {
		if blocked := saving(m.in(sectionBlocked).inUnit(side.unit), "0", studyBuffer); blocked.N > 0 {
			sides = append(sides, place{side.name, multiple(blocked, "as long")})
		}
	}
	return said(append(findings, finding("With "+studyBuffer+" slots instead of none, the goroutines of a built-in channel are blocked", " in", sides))...)
}
