package capture

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// texts reads the goroutines in a text. They have two forms, which may begin at any line
// and behind any prefix of a log:
//
//   - with states, as debug=2, a crash and a signal write them: a header, and for each
//     call a line with the function and one with the place;
//   - with counts, as debug=1 writes them, and contentions, too: a line with numbers and
//     addresses, and for each call a line that begins with #.
//
// Lines that are neither are skipped.
type texts struct {
	*budget
	parts []part
	other error // why a text with counts does not help

	prefix []byte // before the last header
	crash  string // the line with which a process died, in front of its goroutines
	indent int    // of that line, behind a prefix

	dump    *Dump          // the last one with states, which may continue
	numbers map[uint64]int // places of its goroutines
	threads bool           // the threads of a process that crashed write their goroutines once more
	current *Goroutines    // that is being read; nil before the first, and after its creator
	frames  Stack          // of current
	counts  *counts        // that are being read, in place of goroutines with states

	names  map[string]string
	stacks map[uint64]Stack
	seed   maphash.Seed
}

// counts is a text with counts.
type counts struct {
	Profile
	kind   kind
	total  int64   // goroutines
	second float64 // cycles in a second
}

func newTexts(b *budget) *texts {
	return &texts{budget: b, names: map[string]string{}, stacks: map[uint64]Stack{}, seed: maphash.MakeSeed()}
}

// read reads a text as far as the budget goes.
func (t *texts) read(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: maxText}
	err := eachLine(limited, func(line []byte) bool {
		t.line(line)
		return t.left >= 0
	})
	unfinished := t.left < 0 || err != nil || limited.N == 0
	if g, last := t.current, len(t.frames)-1; g != nil { // only the main goroutine has no creator
		unfinished = unfinished || g.ID != 1 || g.CreatedBy.Function != "" || last < 0 || t.frames[last].File == ""
	}
	t.end()
	if t.dump != nil {
		t.dump.Truncated = unfinished
	}
	return err
}

// line reads one line.
func (t *texts) line(line []byte) {
	prefix, g, ok := header(line)
	rest := behind(t.prefix, line)
	switch {
	case ok:
		t.begin(prefix, g)
	case t.beginCounts(line):
	case t.counts != nil:
		t.countLine(rest)
	case t.current != nil && t.stackLine(rest):
	case t.threads || string(rest) == "-----":
		t.threads = true
	default:
		for _, word := range []string{"fatal error: ", "panic: ", "SIGQUIT: ", "SIGABRT: ", "SIGSEGV: "} {
			at := bytes.Index(line, []byte(word))
			if at < 0 || t.crash != "" && (bytes.HasSuffix(line[:at], []byte("\t")) || bytes.HasSuffix(line[:at], []byte("[signal "))) {
				continue // a panic in a panic, and its signal
			}
			t.crash, t.indent = string(line[at:min(len(line), at+1024)]), at
		}
	}
}

var goroutineWord = []byte("goroutine ")

// header finds the line above a goroutine's stack at the end of a line. Its form depends
// on the version of Go and on settings:
//
//	goroutine 7 [chan receive (nil chan), 3 minutes, locked to thread]:
//	goroutine 7 gp=0xc000002380 m=0 mp=0x5b8020 [running]:
//	goroutine 7 [select (durable), synctest bubble 4]:
//	goroutine 7 [chan receive labels:{"queue": "in"}]:
//	goroutine 7 [chan receive (leaked)] {queue: in, tenant: "a]b"}:
func header(line []byte) (prefix []byte, g Goroutines, ok bool) {
	text, ends := bytes.CutSuffix(line, []byte(":"))
	at := bytes.Index(text, goroutineWord)
	if !ends || at < 0 {
		return nil, g, false
	}
	number, rest, _ := strings.Cut(string(text[at+len(goroutineWord):]), " ")
	id, err := strconv.ParseUint(number, 10, 64)
	registers, rest, _ := strings.Cut(rest, "[")
	status, labels, closed := strings.Cut(rest, "]")
	labeled := strings.HasSuffix(strings.TrimSuffix(rest, "]"), "}")
	ok = err == nil && closed && (registers == "" || strings.HasPrefix(registers, "gp=")) && (labels == "" || labeled)
	status, _, _ = strings.Cut(status, " labels:{")
	remarks := strings.Split(status, ", ")
	g.Count, g.ID = 1, id
	g.State, _, _ = strings.Cut(remarks[0], " (")
	g.Forever = strings.Contains(remarks[0], "(nil chan)") || strings.Contains(remarks[0], "(no cases)")
	g.Leaked = strings.Contains(remarks[0], "(leaked)")
	for _, remark := range remarks[1:] {
		if n, err := strconv.ParseUint(strings.TrimSuffix(remark, " minutes"), 10, 27); err == nil { // 255 years
			g.Waited = time.Duration(n) * time.Minute
		}
	}
	return line[:at], g, ok
}

// begin starts a goroutine, and a dump if it belongs to another one: behind the end of a
// process, or because the last dump has it already.
func (t *texts) begin(prefix []byte, g Goroutines) {
	if t.end(); g.ID == 0 { // the scheduler's stack of a thread
		return
	}
	g.State = t.name([]byte(g.State))
	died := t.crash != "" && t.indent == len(prefix)
	at, again := t.numbers[g.ID]
	if t.dump == nil || died || again && g.State != "running" {
		t.dump, t.numbers, t.threads, again = &Dump{States: true}, map[uint64]int{}, false, false
		if died {
			t.dump.Crash = t.crash
		}
		t.parts = append(t.parts, part{kind: kindDump, dump: t.dump})
		t.take(1, dumpSize)
	}
	t.crash, t.prefix = "", append(t.prefix[:0], prefix...)
	if !again || t.dump.Groups[at].Stack == nil { // see threads
		t.current, t.frames = &g, t.frames[:0]
	}
	t.take(1, goroutineSize*grown)
}

// end adds what was being read to its dump.
func (t *texts) end() {
	t.endCounts()
	g := t.current
	if t.current = nil; g == nil {
		return
	}
	if len(t.frames) > 0 { // thousands of goroutines may have the same stack
		var h maphash.Hash
		h.SetSeed(t.seed)
		for _, f := range t.frames {
			maphash.WriteComparable(&h, f)
		}
		if g.Stack = t.stacks[h.Sum64()]; !slices.Equal(g.Stack, t.frames) {
			g.Stack = slices.Clone(t.frames)
			t.stacks[h.Sum64()] = g.Stack
			t.take(1, len(t.frames)*frameSize+entrySize)
		}
	}
	if at, again := t.numbers[g.ID]; again {
		t.dump.Groups[at] = *g
		return
	}
	t.numbers[g.ID] = t.dump.Total
	t.dump.Groups = append(t.dump.Groups, *g)
	t.dump.Total++
	t.take(1, entrySize)
}

// stackLine reads a call, its place, or the creator, and reports whether it is one.
func (t *texts) stackLine(line []byte) bool {
	g := t.current
	if bytes.HasPrefix(line, []byte("[originating from goroutine ")) { // the stacks of its creators
		t.end()
		return true
	}
	if _, creator, ok := bytes.Cut(line, []byte("created by ")); ok {
		creator, id, _ := bytes.Cut(creator, []byte(" in goroutine "))
		g.CreatedBy.Function = t.name(creator)
		g.Creator, _ = strconv.ParseUint(string(id), 10, 64) // 0 if it is missing
		return true
	}
	open := &g.CreatedBy // the call without a place
	if last := len(t.frames) - 1; open.Function == "" && last >= 0 {
		open = &t.frames[last]
	}
	if file, n, ok := place(line); ok && open.Function != "" && open.File == "" {
		open.File, open.Line = t.name(file), n
		if open == &g.CreatedBy {
			t.end()
		}
		return true
	}
	function, ok := call(line)
	if ok && len(t.frames) < maxFrames {
		t.frames = append(t.frames, Frame{Function: t.name(function)})
	}
	return ok
}

// call reads "example.com/q.(*Queue[...]).Put(0xc000012345, {0x1, 0x2})", which may stand
// behind an unusual prefix. The arguments have no parentheses.
func call(line []byte) (function []byte, ok bool) {
	paren := bytes.LastIndexByte(line, '(')
	if paren <= 0 || line[len(line)-1] != ')' {
		return nil, false
	}
	function = line[:paren]
	function = function[bytes.LastIndexAny(function, " \t\"|>")+1:]
	pkg, name, ok := bytes.Cut(function[bytes.LastIndexByte(function, '/')+1:], []byte("."))
	return function, ok && len(pkg) > 0 && len(name) > 0 && !bytes.Contains(function, []byte("://"))
}

// place reads "	/src/q/queue.go:17 +0x1d". The tab may have become spaces, or #011 in
// syslog. Behind an unusual prefix, a path with spaces is cut.
func place(line []byte) (file []byte, n int, ok bool) {
	line = bytes.TrimPrefix(line, []byte("#011"))
	for _, word := range []string{" +0x", " fp=0x"} {
		line, _, _ = bytes.Cut(line, []byte(word))
	}
	path := bytes.TrimSpace(line)
	colon := bytes.LastIndexByte(path, ':')
	if colon <= 0 {
		return nil, 0, false
	}
	number, err := strconv.ParseUint(string(path[colon+1:]), 10, 64)
	path = path[:colon]
	if line[0] != '\t' && line[0] != ' ' && path[0] != '/' && !bytes.HasPrefix(path[1:], []byte(":/")) {
		path = path[bytes.LastIndexAny(path, "\t \"|")+1:]
	}
	return path, int(min(number, math.MaxInt32)), err == nil && bytes.ContainsAny(path, "./<")
}

// name returns the one copy of a string.
func (t *texts) name(text []byte) string {
	known, ok := t.names[string(text)]
	if !ok {
		known = string(text)
		t.names[known] = known
		t.take(1, len(text)+entrySize)
	}
	return known
}

// beginCounts starts a text with counts, if line is the first of one.
func (t *texts) beginCounts(line []byte) bool {
	before, total, ok := bytes.Cut(line, []byte(" profile: total "))
	at := bytes.LastIndexAny(before, " \t\"|") + 1
	k := kind(before[at:])
	for _, title := range []string{"--- mutex:", "--- contention:"} {
		if before, found := bytes.CutSuffix(line, []byte(title)); found {
			ok, at, k = true, len(before), kindBlock
		}
	}
	if !ok {
		return false
	}
	t.end()
	t.dump, t.numbers = nil, nil
	if k != kindDump && k != kindLeak && k != kindBlock {
		t.other = fmt.Errorf("a text of a %s profile, which does not help here (want goroutine, goroutineleak, mutex or block)", k)
		return true
	}
	n, _ := strconv.ParseInt(string(total), 10, 32)
	t.counts, t.prefix, t.crash = &counts{kind: k, total: n}, append(t.prefix[:0], line[:at]...), ""
	return true
}

// countLine reads the numbers of a stack, or a call:
//
//	25 @ 0x489ace 0x41a5ae
//	210000 3 @ 0x489ace 0x41a5ae
//	#	0x489acd	main.late+0x18	/src/main.go:14
func (t *texts) countLine(line []byte) {
	c := t.counts
	if second, ok := bytes.CutPrefix(line, []byte("cycles/second=")); ok {
		c.second, _ = strconv.ParseFloat(string(second), 64)
		return
	}
	fields := bytes.Fields(line)
	if at := slices.IndexFunc(fields, func(f []byte) bool { return string(f) == "@" }); at == 1 || at == 2 {
		value, err := strconv.ParseUint(string(fields[0]), 10, 63)
		count, errCount := strconv.ParseUint(string(fields[at-1]), 10, 31)
		s := Sample{Count: int64(count), Value: int64(value)}
		if c.kind == kindBlock {
			s.Value = int64(min(float64(value)/max(c.second, 1)*1e9, math.MaxInt64/2))
		}
		if err == nil && errCount == nil {
			c.Samples = append(c.Samples, s)
			t.take(1, grown*sampleSize+goroutineSize)
		}
		return
	}
	last := len(c.Samples) - 1
	if len(fields) < 4 || string(fields[0]) != "#" || !bytes.HasPrefix(fields[1], []byte("0x")) || last < 0 || len(c.Samples[last].Stack) == maxFrames {
		return // labels, for one
	}
	function, _, _ := bytes.Cut(fields[2], []byte("+0x"))
	f := Frame{Function: t.name(function)}
	if file, n, ok := place(slices.Concat([]byte(" "), bytes.Join(fields[3:], []byte(" ")))); ok {
		f.File, f.Line = t.name(file), n
	}
	c.Samples[last].Stack = append(c.Samples[last].Stack, f)
	t.take(1, grown*frameSize)
}

// endCounts keeps the text with counts that was read.
func (t *texts) endCounts() {
	c := t.counts
	if t.counts = nil; c == nil {
		return
	}
	p, err := partOf(c.kind, time.Time{}, &c.Profile)
	switch {
	case err != nil:
		t.other = err
	case p.dump != nil && p.dump.Total == 0:
		t.other = errTruncated
	default:
		if p.dump != nil {
			p.dump.Truncated = int64(p.dump.Total) < c.total
		}
		t.parts = append(t.parts, p)
	}
}
