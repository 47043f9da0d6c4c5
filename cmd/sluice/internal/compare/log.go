package compare

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A log is the output of benchmarks as a terminal, a CI system or "go test -json" stored
// it, and makes lines for benchfmt of it:
//
//   - It removes gzip, byte order marks, escape sequences and the prefixes of a log.
//   - It joins the events of "go test -json", which split lines.
//   - It joins a benchmark's name and its result: package testing writes the name
//     first, so the output of the program comes in between.
//   - It records failures, and the results that cannot be read.
type log struct {
	to      *side
	line    int       // the number of the last line, from 1
	streams []*stream // in the order of the log
	current *stream   // of the last line in out
	out     bytes.Buffer
	lines   []int // of each line in out
}

// A stream is the output of one package in JSON, or the lines with one prefix.
type stream struct {
	key    string
	pkg    string // its last "pkg:"
	text   string // of JSON, up to the end of the line
	name   string // of a benchmark without a result so far
	doubt  string // the rest of its line, if that looks like a result
	at     int    // the number of that line
	blamed bool   // a failure that explains "FAIL" of the package
}

// Limits of what is kept of a log.
const (
	maxLine     = 32 << 10 // longer lines are left out: benchfmt takes up to 64 KiB
	maxKept     = 64 << 20 // bytes of results and settings
	maxStreams  = 1000     // further ones share the last
	maxFailures = 20
)

const (
	timePattern   = `[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)?[\])]?`
	figurePattern = `[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|NaN|Inf)`
	morePattern   = `(?:\s+` + figurePattern + `\s+\S+)*\s*$`
)

var (
	escapes = regexp.MustCompile("\ufeff|\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\a\x1b]*(?:\a|\x1b\\\\)|[@-Z\\\\^_])")
	// prefix matches what GitLab ("time 00O"), other systems ("time", "[pkg]") and
	// containers ("name |") write before a line.
	prefix = regexp.MustCompile(`^(?:` + timePattern + `(?: [0-9a-f]{2}[OE][ +]|\s|$)|(\[[^\]]*\]\s|[\w./-]+ *\| ))`)
	clock  = regexp.MustCompile(`^` + timePattern)
	// result matches a whole result, after any other text: output may lack a line feed.
	result = regexp.MustCompile(`(Benchmark\S*\s+\d+\s+` + figurePattern + `\s+[^\s\d]\S*` + morePattern + `)`)
	// named matches the beginning of a benchmark, and what looks like a result.
	named = regexp.MustCompile(`^(Benchmark\S*)(\s+\d.*|\s.*\d\s+\S+/op.*)?`)
	// ending matches the part of a result that follows the name, at the end of a line:
	// in the form of package testing, or with a unit such as ns/op.
	ending = regexp.MustCompile(`(?:^|[^\d.])(\d+(?:\t *` + figurePattern + ` \S+|\s+` + figurePattern + `\s+[^\s\d]\S*/\S+)` + morePattern + `)`)
	// failure matches the lines in which package testing or the runtime reports that a
	// benchmark or a package failed. A benchmark may have its name before it.
	failure = regexp.MustCompile(`^(?:(Benchmark\S*)\s+)?(?:\s*--- FAIL: (\S+)|((?:panic|fatal error): .*)|FAIL(?:\s+(\S+\s+(?:[\d.]+s|\[.*\])))?\s*$)`)
	over    = regexp.MustCompile(`^(?:PASS$|FAIL(?:\s|$)|ok\s+\S+\s+[\d.]+s)`)
)

var errTooMany = errors.New("too many results")

// read reads the lines of a log, after it has decompressed and decoded it.
func (l *log) read(text io.Reader) error {
	in := bufio.NewReader(text)
	if head, _ := in.Peek(2); string(head) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		in = bufio.NewReader(unzipped)
	}
	in = bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(transform.Nop)), maxLine)
	for l.to.kept+l.out.Len() <= maxKept {
		line, long, err := in.ReadLine()
		if err == io.EOF {
			for _, s := range l.streams {
				l.begin(s, "", "")
			}
			return nil
		}
		for long && err == nil {
			line = nil
			_, long, err = in.ReadLine()
		}
		if err != nil && err != io.EOF {
			return err
		}
		l.line++
		l.add("", line)
	}
	return fmt.Errorf("%w: more than %d MiB (want less, such as fewer benchmarks)", errTooMany, maxKept>>20)
}

// add adds a line of the stream that key names.
func (l *log) add(key string, text []byte) {
	if bytes.IndexByte(text, '\x1b') >= 0 || bytes.Contains(text, []byte("\ufeff")) {
		text = escapes.ReplaceAll(text, nil)
	}
	for line := range bytes.SplitSeq(text, []byte("\r")) {
		key := key
		// GitHub's command writes the job and the step before the time.
		job, rest, _ := bytes.Cut(line, []byte("\t"))
		if step, rest, _ := bytes.Cut(rest, []byte("\t")); clock.Match(rest) {
			key += string(job) + "\t" + string(step)
			line = rest
		}
		for m := prefix.FindSubmatch(line); m != nil; m = prefix.FindSubmatch(line) {
			key += string(m[1])
			line = line[len(m[0]):]
		}
		if s := l.stream(key); len(line) > 0 && !(line[0] == '{' && l.addEvent(s, line)) {
			l.addLine(s, line)
		}
	}
}

// stream returns the stream with the key.
func (l *log) stream(key string) *stream {
	i := slices.IndexFunc(l.streams, func(s *stream) bool { return s.key == key })
	if i < 0 && len(l.streams) < maxStreams {
		l.streams = append(l.streams, &stream{key: key})
	}
	if i < 0 {
		i = len(l.streams) - 1
	}
	return l.streams[i]
}

// addEvent adds the output of an event of "go test -json", if the line is one.
func (l *log) addEvent(of *stream, line []byte) bool {
	var event struct{ Action, Package, Output string }
	if json.Unmarshal(line, &event) != nil || event.Action == "" {
		return false
	}
	s := l.stream(of.key + "{" + event.Package)
	if s.pkg == "" {
		s.pkg = event.Package
	}
	s.text += event.Output
	for {
		line, rest, whole := strings.Cut(s.text, "\n")
		if !whole {
			break
		}
		s.text = rest
		l.add(s.key, []byte(line))
	}
	if len(s.text) > maxLine {
		s.text = ""
	}
	return true
}

// addLine adds a line without its prefix.
func (l *log) addLine(s *stream, line []byte) {
	if bytes.Contains(line, []byte("FAIL")) || bytes.Contains(line, []byte("panic: ")) || bytes.Contains(line, []byte("fatal error: ")) {
		if m := failure.FindStringSubmatch(string(line)); m != nil {
			l.fail(s, m)
		}
	}
	if over.Match(line) {
		l.begin(s, "", "")
	}
	if bytes.Contains(line, []byte("Benchmark")) {
		if m := result.FindSubmatch(line); m != nil {
			l.write(s, m[1])
			l.begin(s, "", "")
			return
		}
		if m := named.FindSubmatch(line); m != nil {
			l.begin(s, string(m[1]), string(m[2]))
		}
	}
	if s.name != "" || bytes.Contains(line, []byte("/op")) {
		if m := ending.FindSubmatch(line); m != nil && s.name != "" {
			l.write(s, []byte(s.name), []byte(" "), m[1])
			s.name, s.doubt = "", ""
			return
		} else if m != nil {
			l.to.skip(l.line, string(line))
		}
	}
	switch first := line[0]; {
	case s.name != "": // the output of the benchmark, not a setting
	case first == '#':
		l.to.remark(string(line))
	case bytes.HasPrefix(line, []byte(packageKey+":")):
		s.pkg, l.current = string(line[len(packageKey)+1:]), nil
	case first == 'U' || first >= 'a': // a unit or a setting, if benchfmt finds one
		l.write(s, line)
	}
}

// begin begins a benchmark, or none. If the line of the one before looked like a result,
// and no result came, it cannot be read.
func (l *log) begin(s *stream, name, doubt string) {
	if s.doubt != "" {
		l.to.skip(s.at, s.name+s.doubt)
	}
	s.name, s.doubt, s.at = name, doubt, l.line
}

// write adds a line to out, after its package if another stream came between.
func (l *log) write(s *stream, parts ...[]byte) {
	if l.current != s {
		l.current = s
		l.write(s, []byte(packageKey+": "+s.pkg))
	}
	l.out.Write(append(bytes.Join(parts, nil), '\n'))
	l.lines = append(l.lines, l.line)
}

// fail records a failure with the name of the benchmark, or else of the package. "FAIL"
// alone stands until one of them is known.
func (l *log) fail(s *stream, m []string) {
	what := ""
	switch {
	case m[2] != "":
		what = m[2] + " failed"
	case m[3] != "":
		what = strings.TrimPrefix(cmp.Or(m[1], s.name)+": "+m[3], ": ")
	case !s.blamed:
		what = strings.Join(append([]string{"FAIL"}, strings.Fields(m[4])...), " ")
	}
	s.blamed = m[2]+m[3] != "" || s.blamed && m[4] == ""
	failures := &l.to.Failures
	if len(*failures) == 1 && (*failures)[0] == "FAIL" && what != "" {
		*failures = nil
	}
	if what != "" && (what != "FAIL" || len(*failures) == 0) && len(*failures) < maxFailures && !slices.Contains(*failures, what) {
		*failures = append(*failures, what)
	}
}
