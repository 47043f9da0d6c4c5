package lab

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/measure"
	"github.com/sluice-go/sluice/cmd/sluice/internal/plot"
	"github.com/sluice-go/sluice/cmd/sluice/internal/stat"
)

// buffersStudy has one sender, ten workers and a buffer between them. The work
// itself is in buffers_total.go.
var buffersStudy = register(Experiment{
	Study: Study{
		Name:  Buffers,
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
		Pictures:    insides,
		PublishedIn: Measure{Unit: measure.NsPerOp, Axis: "µs per 1000 values"}, // the same number as ns per value
	},
	Sections:  buffersSections,
	Published: buffersPublished(),
	Conclude:  buffersConclusion,
})

// The study's setting: workers, threads, and the largest buffer.
const (
	studyWorkers = 10
	studyProcs   = 8
	studyBuffer  = "25"
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
			Section: SectionCapacity, Panel: Panel{Procs: studyProcs, Workers: studyWorkers}, X: f.capacity, Contender: Native, Ours: withHandOff,
		})
	}
	return figures
}

func (s Scale) bufferCapacities() []int {
	if s.Size == AsPublished {
		return []int{0, 1, 5, 25}
	}
	return []int{0, 1, 2, 5, 10, 25, 100, 1024}
}

func (s Scale) bufferProcs() []int {
	if s.Size == AsPublished {
		return s.procs(studyProcs)
	}
	return s.procs(2, studyProcs)
}

func (s Scale) bufferWorkers() []int {
	if s.Size == Standard {
		return []int{1, studyWorkers, 100}
	}
	return []int{studyWorkers}
}

func buffersSections(s Scale) []Section {
	return []Section{buffersByCapacity(s), buffersBlocked(s)}
}

// bufferPoint returns a point of the study without entries.
func (s Scale) bufferPoint(section SectionID, procs, workers, capacity int) *Point {
	x := strconv.Itoa(capacity)
	return s.point(section, Panel{Procs: procs, Workers: workers}, string(section), x, procs, totalRound, []measure.Label{
		{Key: LabelWorkers, Value: strconv.Itoa(workers)}, {Key: LabelCapacity, Value: x},
	})
}

// unbufferable are the contenders that the study's sweep leaves out.
var unbufferable = []measure.LeftOut{{Contender: elastic, Reason: "it grows, and has no capacity to sweep"}}

func buffersByCapacity(s Scale) Section {
	section := Section{Sweep: Sweep{
		Name:  SectionCapacity,
		Title: "The study's load, by capacity",
		Text: "One goroutine sends 1000 values of four bytes and closes the channel; the workers receive them and add them " +
			"atomically to one total. Each 1000 values have a new channel and new goroutines.",
		Axis:     "capacity",
		Measures: []Measure{PerValue},
	}}
	for _, procs := range s.bufferProcs() {
		for _, workers := range s.bufferWorkers() {
			for _, capacity := range s.bufferCapacities() {
				p := s.bufferPoint(SectionCapacity, procs, workers, capacity)
				for _, c := range sharers {
					p.Entries = append(p.Entries, c.timed(capacity, workers))
				}
				p.LeftOut = unbufferable
				section.Points = append(section.Points, p)
			}
		}
	}
	return section
}

func buffersBlocked(s Scale) Section {
	rounds := [...]int{Standard: 30, Quick: 3, AsPublished: 300}[s.Size]
	section := Section{Sweep: Sweep{
		Name:  sectionBlocked,
		Title: "Time blocked in send and in receive",
		Text: "The same work in separate passes under the runtime's block profile, which slows them: the time that goroutines " +
			"were parked on either side of the channel, summed over all of them, per value sent.",
		Axis: "capacity",
		Measures: []Measure{
			{Unit: blockedSend, Title: "in send", Axis: "ns per value"},
			{Unit: blockedReceive, Title: "in receive", Axis: "ns per value"},
		},
		Stacked: true,
	}}
	for _, capacity := range s.bufferCapacities() {
		p := s.bufferPoint(sectionBlocked, s.home(s.bufferProcs()...), studyWorkers, capacity)
		p.Target = 0
		for _, c := range sharers {
			p.Entries = append(p.Entries, c.blocked(capacity, studyWorkers, rounds))
		}
		p.LeftOut = unbufferable
		section.Points = append(section.Points, p)
	}
	return section
}

// insides shows the state of a channel, as the author explains it.
var insides = []Picture{
	{
		State: plot.ChannelState{
			Title: "Empty: receivers wait", Capacity: 8, SendIndex: 3, ReceiveIndex: 3,
			Receivers: []string{"w4", "w1", "w7", "w2"},
		},
		Caption: "Both indices are at the same slot. The next value does not pass through the ring: the sender writes it to the " +
			"first waiting receiver and makes it ready. An unbuffered channel has no ring: every value is handed off.",
	},
	{
		State: plot.ChannelState{Title: "Half full: no goroutine waits", Capacity: 8, Queued: 4, SendIndex: 7, ReceiveIndex: 3},
		Caption: "A send fills the slot at the send index, a receive empties the slot at the receive index, and each moves its " +
			"index to the next slot of the ring. No goroutine is parked or woken: that is the benefit of a buffer.",
	},
	{
		State: plot.ChannelState{
			Title: "Full: senders wait", Capacity: 8, Queued: 8, SendIndex: 5, ReceiveIndex: 5,
			Senders: []string{"p1", "p3"},
		},
		Caption: "Each waiting sender has its value. The next receive takes the oldest value from the ring, puts the first " +
			"sender's value into the free slot, and makes that sender ready: the order is kept.",
	},
}

func buffersConclusion(m *Measured) Conclusion {
	c := Conclusion{Summary: buffersSummary(m), Findings: buffersFindings(m)}
	m.buffersAnswer(&c)
	return c
}

// buffersSummary returns the cost of the study's load with and without its
// buffer, at the first measured GOMAXPROCS.
func buffersSummary(m *Measured) []string {
	for _, panel := range m.panels(SectionCapacity) {
		without, with := m.through(panel, "0"), m.through(panel, studyBuffer)
		if len(without) == 0 || len(with) == 0 || panel.Workers != studyWorkers {
			continue
		}
		text := fmt.Sprintf("From one sender to %s, one value costs %.0f ns through an unbuffered built-in channel and %.0f ns with %s slots (%s)",
			format.Plural(panel.Workers, "worker"), stat.Summarize(without).Median, stat.Summarize(with).Median, studyBuffer, m.procs(SectionCapacity, panel))
		if enough := m.enough(panel); enough != "" {
			text += "; more than " + enough + " slots save nothing beyond noise"
		}
		return []string{text + "."}
	}
	return nil
}

func buffersFindings(m *Measured) []string {
	var findings []string
	for _, load := range m.bufferLoads() {
		subject := "One sender and " + format.Plural(load.workers, "worker")
		var places []place
		for _, procs := range load.procs {
			panel := load.panel(procs)
			if c := stat.Between(m.through(panel, "0"), m.through(panel, studyBuffer)); c.N > 0 {
				places = append(places, place{m.marked(strconv.Itoa(procs), SectionCapacity, panel, studyBuffer), c})
			}
		}
		findings = append(findings, effect(subject+": a built-in channel with "+studyBuffer+" slots instead of none", atGOMAXPROCS, places),
			m.enoughFor(load))
		for _, capacity := range []string{"0", studyBuffer} {
			places = nil
			for _, procs := range load.procs {
				panel := load.panel(procs)
				if c, ok := m.change(SectionCapacity, panel, capacity, Native, withHandOff); ok {
					places = append(places, place{m.marked(strconv.Itoa(procs), SectionCapacity, panel, capacity), c})
				}
			}
			findings = append(findings, effect(subject+", capacity "+capacity+": sluice instead of the built-in channel", atGOMAXPROCS, places))
		}
	}
	return slices.DeleteFunc(append(findings, m.blockedByBuffer()), func(f string) bool { return f == "" })
}

// A bufferLoad is a number of workers, and the values of GOMAXPROCS that they were
// measured with.
type bufferLoad struct {
	workers int
	procs   []int
}

func (l bufferLoad) panel(procs int) Panel { return Panel{Procs: procs, Workers: l.workers} }

func (m *Measured) bufferLoads() []bufferLoad {
	var loads []bufferLoad
	for _, panel := range m.panels(SectionCapacity) {
		i := slices.IndexFunc(loads, func(l bufferLoad) bool { return l.workers == panel.Workers })
		if i < 0 {
			i = len(loads)
			loads = append(loads, bufferLoad{workers: panel.Workers})
		}
		loads[i].procs = append(loads[i].procs, panel.Procs)
	}
	return loads
}

// through returns the times per value through the built-in channel.
func (m *Measured) through(panel Panel, capacity string) []float64 {
	return m.Samples(SectionCapacity, panel, capacity, Native, measure.NsPerOp)
}

// enough returns the smallest capacity such that no larger one saves time beyond
// noise, or "" if only the largest qualifies.
func (m *Measured) enough(panel Panel) string {
	xs := m.xs(SectionCapacity, panel)
	for i, x := range xs[:max(0, len(xs)-1)] {
		maySave := func(larger string) bool {
			change := stat.Between(m.through(panel, x), m.through(panel, larger))
			return change.Confidence == 0 || change.Clear() && change.Median < 0
		}
		if !slices.ContainsFunc(xs[i+1:], maySave) {
			return x
		}
	}
	return ""
}

func (m *Measured) enoughFor(load bufferLoad) string {
	var found []string
	at := " slots at GOMAXPROCS " // then only the figures
	for _, procs := range load.procs {
		panel := load.panel(procs)
		if enough := m.enough(panel); enough != "" {
			found = append(found, enough+at+m.marked(strconv.Itoa(procs), SectionCapacity, panel, enough))
			at = " at "
		}
	}
	if len(found) == 0 {
		return ""
	}
	return "One sender and " + format.Plural(load.workers, "worker") + ": more slots of a built-in channel save nothing beyond noise above " + format.And(found) + "."
}

// blockedByBuffer compares the time that goroutines of the built-in channel
// were parked, without a buffer and with the study's.
func (m *Measured) blockedByBuffer() string {
	for _, panel := range m.panels(sectionBlocked) {
		blocked := func(x string) (text string, total []float64) {
			send := m.Samples(sectionBlocked, panel, x, Native, blockedSend)
			receive := m.Samples(sectionBlocked, panel, x, Native, blockedReceive)
			for i := range min(len(send), len(receive)) {
				total = append(total, send[i]+receive[i])
			}
			return fmt.Sprintf("%.0f ns in send and %.0f ns in receive", stat.Summarize(send).Median, stat.Summarize(receive).Median), total
		}
		none, without := blocked("0")
		some, with := blocked(studyBuffer)
		change := stat.Between(without, with)
		if change.N == 0 {
			continue
		}
		text := "Time blocked per value, at " + m.markedPanel(sectionBlocked, panel) + ", summed over all goroutines of a built-in channel: " + none +
			" without a buffer, " + some + " with " + studyBuffer + " slots"
		if fraction := 1 + change.Median; change.Clear() && fraction > 0 {
			text += ", which is " + factor(change) + " times as much"
		} else {
			text += ", no difference beyond noise"
		}
		return text + "; the author found a fifth."
	}
	return ""
}
