package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

const (
	maxText = 512 << 20 // size limit of a text in bytes; net/http/pprof stops at 64 MB
	maxLine = 64 << 10  // length limit of a line in bytes
)

// states are the runtime's names of wait states.
var states = map[string]Op{
	"chan send":           Send,
	"chan receive":        Receive,
	"select":              Select,
	"sync.Mutex.Lock":     Lock,
	"sync.RWMutex.Lock":   Lock,
	"sync.RWMutex.RLock":  Lock,
	"semacquire":          Lock,
	"sync.Cond.Wait":      Wait,
	"sync.WaitGroup.Wait": Wait,
	"sleep":               Sleep,
	"IO wait":             IO,
	"syscall":             IO,
}

// active are the states of goroutines that run or are runnable.
var active = map[string]bool{
	"running": true, "runnable": true, "copystack": true, "preempted": true, "idle": true, "dead": true,
}

// A goroutine is one paragraph of a text.
type goroutine struct {
	id        uint64
	creator   uint64 // 0 if unknown
	state     string
	waited    time.Duration
	nilChan   bool
	frames    stack
	createdBy Frame
}

// readGoroutineText reads the debug=2 form, which is also what a crash prints.
func readGoroutineText(r io.Reader) (*Goroutines, error) {
	g := &Goroutines{StatesKnown: true, States: map[string]int{}}
	sites := map[Site]*GoroutineSite{}
	t := textTally{all: g, sites: sites, hosted: newHosted(), roots: map[uint64]string{}, starts: map[uint64][]string{}}
	lines := textLines{in: bufio.NewReaderSize(io.LimitReader(r, maxText), maxLine)}
	var current *goroutine
	for {
		line, err := lines.next()
		if header, ok := parseHeader(line); ok {
			t.count(current)
			current = header
		} else if current != nil {
			current.parse(line)
		}
		if err != nil {
			t.count(current)
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			break
		}
	}
	if g.Total == 0 {
		return nil, errors.New("no goroutines in the text")
	}
	t.adopt()
	g.StartedBy = t.startedBy()
	g.collect(sites)
	return g, nil
}

// textLines reads lines, and truncates each to maxLine.
type textLines struct{ in *bufio.Reader }

func (t textLines) next() (string, error) {
	line, err := t.in.ReadSlice('\n')
	text := strings.TrimRight(string(line), "\r\n")
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = t.in.ReadSlice('\n')
	}
	return text, err
}

// parseHeader reads "goroutine 7 [chan receive (nil chan), 3 minutes, locked to
// thread]:".
func parseHeader(line string) (*goroutine, bool) {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	if !ok {
		return nil, false
	}
	id, rest, ok := strings.Cut(rest, " ")
	number, err := strconv.ParseUint(id, 10, 64)
	if err != nil || !ok {
		return nil, false
	}
	_, rest, opened := strings.Cut(rest, "[")
	status, end, closed := strings.Cut(rest, "]")
	if !opened || !closed || !strings.HasSuffix(end, ":") {
		return nil, false
	}
	g := &goroutine{id: number}
	for i, part := range strings.Split(status, ", ") {
		if i == 0 {
			g.state, g.nilChan = stateOf(part)
		} else if n, ok := strings.CutSuffix(part, " minutes"); ok {
			// An int32 of minutes is 4,000 years.
			if minutes, err := strconv.ParseInt(n, 10, 32); err == nil && minutes > 0 && minutes < maxMinutes {
				g.waited = time.Duration(minutes) * time.Minute
			}
		}
	}
	return g, true
}

// maxMinutes is a hundred years, within the range of a time.Duration.
const maxMinutes = 100 * 365 * 24 * 60

// stateOf removes remarks from a state, and reports whether the wait can never
// end.
func stateOf(status string) (state string, forever bool) {
	for _, remark := range []string{" (scan)", " (leaked)", " (durable)"} {
		status = strings.Replace(status, remark, "", 1)
	}
	for _, remark := range []string{" (nil chan)", " (no cases)"} {
		if s, ok := strings.CutSuffix(status, remark); ok {
			return s, true
		}
	}
	return status, false
}

// parse reads a line below the header: a call, the file of a call, or the
// creator.
func (g *goroutine) parse(line string) {
	if where, ok := strings.CutPrefix(line, "\t"); ok {
		file, number := fileLine(where)
		switch last := len(g.frames) - 1; {
		case g.createdBy.Function != "" && g.createdBy.File == "":
			g.createdBy.File, g.createdBy.Line = file, number
		case last >= 0 && g.frames[last].File == "":
			g.frames[last].File, g.frames[last].Line = file, number
		}
		return
	}
	if creator, ok := strings.CutPrefix(line, "created by "); ok {
		creator, id, _ := strings.Cut(creator, " in goroutine ")
		g.createdBy.Function = plain(creator)
		g.creator, _ = strconv.ParseUint(id, 10, 64) // 0 if it is missing
		return
	}
	if paren := strings.LastIndexByte(line, '('); paren > 0 && strings.HasSuffix(line, ")") && len(g.frames) < maxFrames {
		g.frames = append(g.frames, Frame{Function: plain(line[:paren])})
	}
}

// fileLine reads "example.com/q/queue.go:17 +0x1d".
func fileLine(where string) (file string, line int) {
	where, _, _ = strings.Cut(where, " +0x")
	colon := strings.LastIndexByte(where, ':')
	if colon < 0 {
		return where, 0
	}
	n, err := strconv.ParseInt(where[colon+1:], 10, 32)
	if err != nil {
		return where, 0
	}
	return where[:colon], lineOf(n)
}

// A textTally adds up goroutines.
type textTally struct {
	all    *Goroutines
	sites  map[Site]*GoroutineSite
	hosted *hosted
	roots  map[uint64]string   // start functions by the number of the goroutine
	starts map[uint64][]string // those of the goroutines that it started
}

// startedBy pairs start functions.
func (t *textTally) startedBy() map[string]map[string]int {
	all := map[string]map[string]int{}
	for creator, roots := range t.starts {
		by, seen := t.roots[creator]
		if !seen {
			continue
		}
		for _, root := range roots {
			if all[root] == nil {
				all[root] = map[string]int{}
			}
			all[root][by]++
		}
	}
	return all
}

// count adds the goroutine to the totals and to its site.
func (t *textTally) count(g *goroutine) {
	if g == nil {
		return
	}
	t.all.Total++
	t.all.States[g.state]++
	p := place(g.frames)
	if own(g.frames) || p.site.At.Function == "" {
		return
	}
	if op, ok := states[g.state]; ok && !active[g.state] && p.site.Op != Accept && p.site.Call == "" {
		p.site.Op = op
		if op == Select && g.nilChan {
			p.site.Op = Forever
		}
	}
	if p.root != "" {
		t.roots[g.id] = p.root
		t.starts[g.creator] = append(t.starts[g.creator], p.root)
	}
	t.hosted.see(g, &p)
	if p.anonymous() {
		t.hosted.waiting = append(t.hosted.waiting, pending{g, p})
		return
	}
	t.add(g, &p)
}

// adopt adds the goroutines without a line of the program, once all others are
// known.
func (t *textTally) adopt() {
	for _, one := range t.hosted.working {
		if line, known := t.hosted.line(one.goroutine); known {
			add(t.hosted.lines, one.host, line)
		}
	}
	for _, one := range t.hosted.waiting {
		t.hosted.adopt(&one)
		t.add(one.goroutine, &one.placed)
	}
	t.all.adopted = t.hosted.lines
}

// add adds the goroutine to its site.
func (t *textTally) add(g *goroutine, p *placed) {
	site := t.sites[p.site]
	if site == nil {
		site = &GoroutineSite{Site: p.site, CreatedBy: g.createdBy, Root: p.root, host: p.host}
		t.sites[p.site] = site
	}
	if active[g.state] {
		site.Runnable++
		return
	}
	site.Waiting++
	site.Longest = max(site.Longest, g.waited)
	site.NilChan = site.NilChan || g.nilChan
}

// looksLikeText reports whether head begins a debug=2 text. It returns an error
// for other texts of net/http/pprof.
func looksLikeText(head []byte) (bool, error) {
	line, _, _ := strings.Cut(string(head), "\n")
	if _, ok := parseHeader(strings.TrimRight(line, "\r")); ok {
		return true, nil
	}
	kind, _, ok := strings.Cut(line, " profile: total ")
	if ok {
		return false, fmt.Errorf("this is the debug=1 text of a %s profile: save it without debug, or goroutines with debug=2", kind)
	}
	return false, nil
}
