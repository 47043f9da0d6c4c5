package profile

import (
	"bytes"
	"compress/gzip"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// frames parses lines such as "main.send hot.go:17" into a stack, the innermost
// first. Functions of the runtime need no file.
func frames(lines ...string) stack {
	var s stack
	for _, line := range lines {
		function, where, _ := strings.Cut(line, " ")
		file, number, _ := strings.Cut(where, ":")
		n, _ := strconv.Atoi(number)
		s = append(s, Frame{Function: plain(function), File: file, Line: n})
	}
	return s
}

// A drawing is a handmade profile.
type drawing struct {
	types   []string // "type/unit"
	samples []drawn
	at      time.Time
	window  time.Duration
}

type drawn struct {
	values []int64
	stack  []string // as frames takes them
}

func (d drawing) profile() *pprof.Profile {
	p := &pprof.Profile{
		PeriodType: &pprof.ValueType{}, Period: int64(10 * time.Millisecond),
		DurationNanos: int64(d.window), Mapping: []*pprof.Mapping{{ID: 1}},
	}
	if !d.at.IsZero() {
		p.TimeNanos = d.at.UnixNano()
	}
	for _, t := range d.types {
		name, unit, _ := strings.Cut(t, "/")
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: unit})
	}
	for _, sample := range d.samples {
		s := &pprof.Sample{Value: sample.values}
		for _, line := range sample.stack {
			function, where, _ := strings.Cut(line, " ")
			file, number, _ := strings.Cut(where, ":")
			n, _ := strconv.ParseInt(number, 10, 64)
			f := &pprof.Function{ID: uint64(len(p.Function) + 1), Name: function, Filename: file}
			l := &pprof.Location{ID: uint64(len(p.Location) + 1), Mapping: p.Mapping[0], Line: []pprof.Line{{Function: f, Line: n}}}
			p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// bytes returns the profile as a service sends it.
func (d drawing) bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.profile().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cpuDrawing is a CPU profile of one second.
func cpuDrawing(samples ...drawn) drawing {
	return drawing{types: []string{"samples/count", "cpu/nanoseconds"}, samples: samples, window: time.Second}
}

// spent is a sample of a CPU profile.
func spent(d time.Duration, stack ...string) drawn {
	return drawn{[]int64{int64(d / (10 * time.Millisecond)), int64(d)}, stack}
}

func waitDrawing(samples ...drawn) drawing {
	return drawing{types: []string{"contentions/count", "delay/nanoseconds"}, samples: samples}
}

// waited is a sample of a mutex or block profile.
func waited(count int64, d time.Duration, stack ...string) drawn {
	return drawn{[]int64{count, int64(d)}, stack}
}

func goroutineDrawing(samples ...drawn) drawing {
	return drawing{types: []string{"goroutine/count"}, samples: samples}
}

// there is a sample of a goroutine profile.
func there(count int64, stack ...string) drawn { return drawn{[]int64{count}, stack} }

func unzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	raw, err := unpack(data)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func zipped(t testing.TB, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A sender for the tests.
var (
	sendStack = []string{"runtime.chansend1", "main.(*Queue[go.shape.int]).Put hot.go:17", "main.producer hot.go:21", "main.main.gowrap1 hot.go:40"}
	sendSite  = Site{Op: Send, At: Frame{"main.(*Queue).Put", "hot.go", 17}, Caller: Frame{"main.producer", "hot.go", 21}}
)

// below returns frames of the runtime below the send.
func below(lines ...string) []string { return append(lines, sendStack...) }
