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
//   - with counts, as debug=1 writes them: a count with addresses, and for each call a
//     line that begins with #.
//
// Lines that are neither are skipped.
type texts struct {
	*budget
	dumps []*Dump
	leaks *Profile // with counts
	other error    // why a text with counts does not help

	prefix []byte // before the last header
	// The line with which a process died, in front of its goroutines, and its prefix.
	crash, crashPrefix string
	threads            bool           // the threads of a process that crashed write their goroutines once more
	numbers            map[uint64]int // places of the goroutines in the last dump
	// The goroutine that is being read; nil before the first, and after its creator.
	current *Goroutines
	frames  []Frame
	counts  *counts // the text with counts that is being read

	names  map[string]string
	stacks map[uint64]Stack
	seed   maphash.Seed
}

// counts is a text with counts.
type counts struct {
	kind    kind
	total   int
	samples []Sample
}

func newTexts(b *budget) *texts {
	return &texts{budget: b, names: map[string]string{}, stacks: map[uint64]Stack{}, seed: maphash.MakeSeed()}
}

// read reads a text as far as the budget goes.
func (t *texts) read(r io.Reader) error {
	limited := &io.LimitedReader{R: r, N: maxText}
	l := newLines(limited)
	for t.left >= 0 && l.Scan() {
		if line := l.line(); len(line) > 0 {
			t.line(line)
		}
	}
	unfinished := t.left < 0 || l.Err() != nil || limited.N == 0
	if g, last := t.current, len(t.frames)-1; g != nil { // only the main goroutine has no creator
		unfinished = unfinished || g.ID != 1 || g.CreatedBy.Function != "" || last < 0 || t.frames[last].File == ""
	}
	t.end()
	if last := len(t.dumps) - 1; last >= 0 && unfinished {
		t.dumps[last].Truncated = true
	}
	return l.Err()
}

// line reads one line.
func (t *texts) line(line []byte) {
	if prefix, g, ok := header(line); ok {
		t.begin(prefix, g)
		_ = t.take(1, len(line)+goroutineSize*grown+len(g.Labels)*entrySize) // the state and the labels keep the line
		return
	}
	if before, after, ok := bytes.Cut(line, totalWords); ok {
		start := bytes.LastIndexAny(before, " \t\"|") + 1
		t.beginCounts(before[:start], string(before[start:]), string(after))
		return
	}
	rest := t.strip(line)
	if t.counts != nil {
		t.countLine(rest)
		return
	}
	if t.current != nil && t.stackLine(rest) {
		return
	}
	if t.threads = t.threads || string(rest) == "-----"; t.threads {
		return
	}
	for _, word := range []string{"fatal error: ", "panic: ", "SIGQUIT: ", "SIGABRT: ", "SIGSEGV: "} {
		at := bytes.Index(line, []byte(word))
		if at < 0 || t.crash != "" && (bytes.HasSuffix(line[:at], []byte("\t")) || bytes.HasSuffix(line[:at], []byte("[signal "))) {
			continue // a panic in a panic, and its signal
		}
		t.crash, t.crashPrefix = string(line[at:min(len(line), at+1024)]), string(line[:at])
	}
}

// strip removes what a log puts in front of each line.
func (t *texts) strip(line []byte) []byte {
	if alike(t.prefix, line) {
		line = line[len(t.prefix):]
	}
	if tab := []byte("#011"); bytes.HasPrefix(line, tab) { // as syslog writes it
		line = slices.Concat([]byte("\t"), line[len(tab):])
	}
	return line
}

var goroutineWord, totalWords = []byte("goroutine "), []byte(" profile: total ")

// header finds the line above a goroutine's stack at the end of a line. Its form depends
// on the version of Go and on settings:
//
//	goroutine 7 [chan receive (nil chan), 3 minutes, locked to thread]:
//	goroutine 7 gp=0xc000002380 m=0 mp=0x5b8020 [running]:
//	goroutine 7 [select (durable), synctest bubble 4]:
//	goroutine 7 [chan receive labels:{"queue": "in"}]:
//	goroutine 7 [chan receive (leaked)] {queue: in, tenant: "a]b"}:
func header(line []byte) (prefix []byte, g Goroutines, ok bool) {
	at := bytes.Index(line, goroutineWord)
	if text, ends := bytes.CutSuffix(line, []byte(":")); ends && at >= 0 {
		g, ok = headerIn(string(text[at+len(goroutineWord):]))
		return line[:at], g, ok
	}
	return nil, g, false
}

// headerIn reads what follows the word goroutine.
func headerIn(text string) (g Goroutines, ok bool) {
	number, rest, _ := strings.Cut(text, " ")
	id, err := strconv.ParseUint(number, 10, 64)
	registers, rest, opened := strings.Cut(rest, "[")
	if err != nil || !opened || registers != "" && !strings.HasPrefix(registers, "gp=") {
		return g, false
	}
	status, labels, inside := strings.Cut(rest, " labels:{")
	if inside && !strings.Contains(status, "]") {
		g.Labels, rest = labelsIn(labels)
	} else {
		status, rest, ok = strings.Cut(rest, "]")
		if labels, behind := strings.CutPrefix(rest, " {"); behind {
			g.Labels, rest = labelsIn(labels)
		}
		rest += "]"
	}
	g.Count, g.ID = 1, id
	parts := strings.Split(status, ", ")
	g.State, _, _ = strings.Cut(parts[0], " (") // remarks
	g.Forever = strings.Contains(parts[0], "(nil chan)") || strings.Contains(parts[0], "(no cases)")
	g.Leaked = strings.Contains(parts[0], "(leaked)")
	for _, part := range parts[1:] {
		const century = 100 * 365 * 24 * 60
		if n, err := strconv.Atoi(strings.TrimSuffix(part, " minutes")); err == nil && 0 < n && n < century {
			g.Waited = time.Duration(n) * time.Minute
		}
	}
	return g, rest == "]" && (ok || inside)
}

// labelsIn reads labels, quoted or not, up to the closing brace, and returns what is
// behind it.
func labelsIn(text string) (labels map[string]string, rest string) {
	labels = map[string]string{}
	for rest = text; rest != "" && rest[0] != '}'; rest = strings.TrimLeft(rest, ", ") {
		var key, value string
		key, rest = token(rest, ":")
		value, rest = token(strings.TrimLeft(rest, ": "), ",}")
		if key != "" {
			labels[key] = value
		}
	}
	return labels, strings.TrimPrefix(rest, "}")
}

// token reads a word in quotes, or up to one of the ends.
func token(text, ends string) (word, rest string) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		word, _ = strconv.Unquote(quoted)
		return word, text[len(quoted):]
	}
	if end := strings.IndexAny(text, ends); end >= 0 {
		return text[:end], text[end:]
	}
	return text, ""
}

// begin starts a goroutine, and a dump if it belongs to another one: behind the end of a
// process, or because the last dump has it already.
func (t *texts) begin(prefix []byte, g Goroutines) {
	if t.end(); g.ID == 0 { // the scheduler's stack of a thread
		return
	}
	died := t.crash != "" && len(t.crashPrefix) == len(prefix) && alike([]byte(t.crashPrefix), prefix)
	crash := t.crash
	t.crash, t.prefix = "", append(t.prefix[:0], prefix...)
	at, again := t.numbers[g.ID]
	switch {
	case t.numbers == nil, died, again && g.State != "running":
		t.numbers, t.threads = map[uint64]int{}, false
		t.dumps = append(t.dumps, &Dump{States: true})
		if died {
			t.dumps[len(t.dumps)-1].Crash = crash
		}
		_ = t.take(1, dumpSize)
	case again: // see threads
		if t.dumps[len(t.dumps)-1].Groups[at].Stack != nil {
			return
		}
	}
	t.current, t.frames = &g, t.frames[:0]
}

// end adds what was being read to its dump.
func (t *texts) end() {
	t.endCounts()
	g := t.current
	if t.current = nil; g == nil {
		return
	}
	if len(t.frames) > 0 {
		sum := hashOf(t.seed, t.frames)
		if g.Stack = t.stacks[sum]; !slices.Equal(g.Stack, t.frames) { // thousands of goroutines may have the same
			g.Stack = slices.Clone(Stack(t.frames))
			t.stacks[sum] = g.Stack
			_ = t.take(1, len(t.frames)*frameSize+entrySize)
		}
	}
	d := t.dumps[len(t.dumps)-1]
	if at, again := t.numbers[g.ID]; again {
		d.Groups[at] = *g
		return
	}
	t.numbers[g.ID] = d.Total
	d.Groups = append(d.Groups, *g)
	d.Total++
	_ = t.take(1, entrySize)
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

// place reads "	/src/q/queue.go:17 +0x1d". The tab may have become spaces. Behind an
// unusual prefix, a path with spaces is cut.
func place(line []byte) (file []byte, n int, ok bool) {
	for _, word := range []string{" +0x", " fp=0x"} {
		line, _, _ = bytes.Cut(line, []byte(word))
	}
	path := bytes.TrimSpace(line)
	colon := bytes.LastIndexByte(path, ':')
	if colon <= 0 {
		return nil, 0, false
	}
	number, err := strconv.ParseUint(string(path[colon+1:]), 10, 64)
	if number > math.MaxInt32 {
		number = 0
	}
	path = path[:colon]
	if line[0] != '\t' && line[0] != ' ' && path[0] != '/' && !bytes.HasPrefix(path[1:], []byte(":/")) {
		path = path[bytes.LastIndexAny(path, "\t \"|")+1:]
	}
	return path, int(number), err == nil && bytes.ContainsAny(path, "./<")
}

// name returns the one copy of a string.
func (t *texts) name(text []byte) string {
	known, ok := t.names[string(text)]
	if !ok {
		known = string(text)
		t.names[known] = known
		_ = t.take(1, len(text)+entrySize)
	}
	return known
}

// beginCounts starts a text with counts.
func (t *texts) beginCounts(prefix []byte, name, total string) {
	t.end()
	if kind(name) != kindDump && kind(name) != kindLeak {
		t.other = fmt.Errorf("a text of a %s profile, which does not help here (want goroutine or goroutineleak)", name)
		return
	}
	n, _ := strconv.Atoi(total)
	t.counts, t.prefix, t.crash = &counts{kind: kind(name), total: n}, append(t.prefix[:0], prefix...), ""
}

// countLine reads a count, a call, or labels.
func (t *texts) countLine(line []byte) {
	if count, _, ok := bytes.Cut(line, []byte(" @")); ok {
		if n, err := strconv.ParseUint(string(count), 10, 31); err == nil {
			t.counts.samples = append(t.counts.samples, Sample{Count: int64(n), Value: int64(n)})
			_ = t.take(1, grown*sampleSize)
		}
		return
	}
	fields := bytes.Fields(line)
	last := len(t.counts.samples) - 1
	if len(fields) < 3 || string(fields[0]) != "#" || last < 0 {
		return
	}
	s := &t.counts.samples[last]
	if string(fields[1]) == "labels:" {
		_, text, _ := bytes.Cut(line, []byte("{"))
		s.Labels, _ = labelsIn(string(text))
		_ = t.take(1, len(text)+mapSize+len(s.Labels)*entrySize)
	} else if len(s.Stack) < maxFrames {
		function, _, _ := bytes.Cut(fields[2], []byte("+0x"))
		f := Frame{Function: t.name(function)}
		if file, n, ok := place(slices.Concat([]byte(" "), bytes.Join(fields[3:], []byte(" ")))); ok {
			f.File, f.Line = t.name(file), n
		}
		s.Stack = append(s.Stack, f)
		_ = t.take(1, grown*frameSize)
	}
}

// endCounts keeps the text with counts that was read.
func (t *texts) endCounts() {
	c := t.counts
	if t.counts = nil; c == nil {
		return
	}
	if c.kind == kindLeak {
		t.leaks = &Profile{Samples: c.samples}
		return
	}
	d := dumpOf(c.samples)
	d.Truncated = d.Total < c.total
	if d.Total > 0 {
		t.dumps, t.numbers = append(t.dumps, d), nil
	} else if t.other == nil {
		t.other = errTruncated
	}
}
