package capture

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math"
	"reflect"
	"runtime"
	rpprof "runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// A drawn is a sample: values, and functions with the innermost first. A function with
// a ">" in front is inlined into the next one.
type drawn struct {
	values []int64
	stack  []string
	labels map[string][]string
}

// packed returns a profile in pprof format. Types have units: "cpu/nanoseconds".
func packed(t testing.TB, change func(*pprof.Profile), types string, samples ...drawn) []byte {
	t.Helper()
	p := &pprof.Profile{PeriodType: &pprof.ValueType{}}
	for _, name := range strings.Fields(types) {
		name, unit, _ := strings.Cut(name, "/")
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: name, Unit: unit})
	}
	functions := map[string]*pprof.Function{}
	for _, s := range samples {
		sample := &pprof.Sample{Value: s.values, Label: s.labels}
		var location *pprof.Location
		for i, name := range s.stack {
			if location == nil {
				location = &pprof.Location{ID: uint64(len(p.Location) + 1)}
				p.Location, sample.Location = append(p.Location, location), append(sample.Location, location)
			}
			name, inlined := strings.CutPrefix(name, ">")
			f := functions[name]
			if f == nil {
				f = &pprof.Function{ID: uint64(len(functions) + 1), Name: name, Filename: name + ".go"}
				functions[name], p.Function = f, append(p.Function, f)
			}
			location.Line = append(location.Line, pprof.Line{Function: f, Line: int64(i + 1)})
			if !inlined {
				location = nil
			}
		}
		p.Sample = append(p.Sample, sample)
	}
	if change != nil {
		change(p)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func at(when time.Time) func(*pprof.Profile) {
	return func(p *pprof.Profile) { p.TimeNanos = when.UnixNano() }
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const (
	cpuTypes  = "samples/count cpu/nanoseconds"
	waitTypes = "contentions/count delay/nanoseconds"
)

func TestCPUProfile(t *testing.T) {
	data := packed(t, func(p *pprof.Profile) {
		p.TimeNanos, p.DurationNanos, p.Period = noon.UnixNano(), int64(2*time.Second), int64(10*time.Millisecond)
	}, cpuTypes,
		drawn{[]int64{3, 30e6}, []string{">runtime.lock", "runtime.chansend", "main.f"}, map[string][]string{"stage": {"a"}}},
		drawn{[]int64{1, 10e6}, []string{"main.f"}, map[string][]string{"stage": {"a"}}})
	for _, data := range [][]byte{data, zipped(t, data)} {
		c, err := Read(nil, []File{{"cpu.pprof", data}})
		if err != nil {
			t.Fatal(err)
		}
		want := &Profile{Window: 2 * time.Second, Samples: []Sample{
			{Stack: Stack{{"runtime.lock", "runtime.lock.go", 1}, {"runtime.chansend", "runtime.chansend.go", 2}, {"main.f", "main.f.go", 3}}, Count: 3, Value: 30e6},
			{Stack: Stack{{"main.f", "main.f.go", 1}}, Count: 1, Value: 10e6},
		}}
		if !reflect.DeepEqual(c.CPU, want) || !c.Start.Equal(noon) {
			t.Errorf("from %v: %+v", c.Start, c.CPU)
		}
	}
	c, err := Read(nil, []File{{"", packed(t, nil, "cpu/nanoseconds", drawn{[]int64{40e6}, []string{"main.f"}, nil})}})
	if err != nil || c.CPU.Samples[0].Value != 40e6 {
		t.Errorf("a profile of one value: %+v, %v", c, err)
	}
}

// The decoder agrees with the one of package profile on what the runtime writes.
func TestRuntimeProfile(t *testing.T) {
	var b bytes.Buffer
	rpprof.Do(context.Background(), rpprof.Labels("test", "runtime"), func(context.Context) {
		if err := rpprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
	})
	c, err := Read(nil, []File{{"goroutine", b.Bytes()}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Dumps[0]
	if d.States || len(d.Groups) != len(p.Sample) || d.At.UnixNano() != p.TimeNanos {
		t.Errorf("%+v, want %d groups", d, len(p.Sample))
	}
	for i, sample := range p.Sample {
		var stack Stack
		for _, l := range sample.Location {
			for _, line := range l.Line {
				stack = append(stack, Frame{line.Function.Name, line.Function.Filename, int(line.Line)})
			}
		}
		if g := d.Groups[i]; g.Count != int(sample.Value[0]) || !slices.Equal(g.Stack, stack) {
			t.Errorf("%+v\nwant %v", g, stack)
		}
	}
}

func TestContention(t *testing.T) {
	mutex := func(when time.Time, n int64) []byte {
		return packed(t, at(when), waitTypes, drawn{[]int64{n, 10 * n}, []string{"runtime.unlock2", "runtime.chansend", "main.f"}, nil})
	}
	c, err := Read(nil, []File{
		{"z", mutex(noon.Add(5*time.Second), 7)}, {"a", mutex(noon, 3)}, // times decide, not names
		{"block", packed(t, nil, waitTypes, drawn{[]int64{1, 5}, []string{"sync.(*Mutex).Lock", "main.unlock"}, nil})},
	})
	if err != nil || c.Mutex == nil || len(c.Mutex.Samples) != 1 || c.Mutex.Samples[0].Count != 7 || c.Mutex.Samples[0].Value != 70 {
		t.Fatalf("mutex %+v, %v", c, err)
	}
	if b := c.Block; b == nil || len(b.Samples) != 1 || b.Samples[0].Value != 5 || len(c.Missing) != 1 {
		t.Errorf("block %+v, missing %v", b, c.Missing)
	}
}

// The texts of contention profiles have the waits of the profiles in pprof format.
func TestContentionText(t *testing.T) {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	defer runtime.SetMutexProfileFraction(0)
	defer runtime.SetBlockProfileRate(0)
	waits := func() bool { // a goroutine of this test
		stacks := make([]byte, 1<<20)
		return slices.ContainsFunc(strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n"), func(stack string) bool {
			return strings.Contains(stack, "[sync.Mutex.Lock]") && strings.Contains(stack, "TestContentionText(")
		})
	}
	var mu sync.Mutex
	waited := 0
	for range 3 {
		mu.Lock()
		go func() {
			for !waits() {
				runtime.Gosched()
			}
			mu.Unlock()
		}()
		mu.Lock()
		waited++
		mu.Unlock()
	}
	for _, name := range []string{"mutex", "block"} {
		var forms [2]map[string]int64 // times of stacks
		for debug := range forms {
			var b bytes.Buffer
			if err := rpprof.Lookup(name).WriteTo(&b, debug); err != nil {
				t.Fatal(err)
			}
			c, err := Read(nil, []File{{"file", b.Bytes()}})
			if err != nil {
				t.Fatalf("%s, debug=%d: %v", name, debug, err)
			}
			p := map[string]*Profile{"mutex": c.Mutex, "block": c.Block}[name]
			if p == nil {
				t.Fatalf("%s, debug=%d: %+v", name, debug, c)
			}
			forms[debug] = map[string]int64{}
			for _, s := range p.Samples {
				if stack := fmt.Sprint(s.Count, s.Stack); strings.Contains(stack, "TestContentionText") {
					forms[debug][stack] += s.Value
				}
			}
		}
		if len(forms[0]) == 0 {
			t.Errorf("no waits of this test in %s", name)
		}
		for stack, packed := range forms[0] {
			if text := forms[1][stack]; math.Abs(float64(text-packed)) > 0.01*float64(packed)+1000 {
				t.Errorf("%s: %d ns in the text, %d in the profile, at %s", name, text, packed, stack)
			}
		}
	}
}

// repeated is a message with the same field many times, of a length of nearly size.
func repeated(size int, field ...byte) []byte { return bytes.Repeat(field, size/len(field)) }

// field is an encoded field with a length.
func field(number byte, data ...byte) []byte {
	n := len(data)
	return append([]byte{number<<3 | 2, byte(n) | 0x80, byte(n>>7) | 0x80, byte(n>>14) | 0x80, byte(n >> 21)}, data...)
}

// The memory that is allocated is bounded for any content of a file.
func TestMemory(t *testing.T) {
	const part = maxPacked / 16
	types := field(1, 0x08, 1, 0x10, 2)
	strings3 := slices.Concat(field(6), field(6, []byte("cpu")...), field(6, []byte("nanoseconds")...))
	head := slices.Concat(types, strings3)
	deep := slices.Concat(head, field(4, append([]byte{0x08, 1}, repeated(2*maxFrames, 0x22, 0)...)...))
	var ids, long, states bytes.Buffer
	for i := range 300_000 {
		ids.WriteString("goroutine 1" + string(rune('0'+i%10)) + strings.Repeat(string(rune('0'+i/10%10)), i%7) + " [select]:\n")
	}
	for i := range 1000 {
		name := strconv.Itoa(i) + strings.Repeat("a", 60_000)
		long.WriteString("goroutine 7 [select]:\nmain." + name + "(0x1)\n\t/" + name + ".go:7\n")
		states.WriteString("goroutine 8 [" + name[:20_000] + "] {" + name[:20_000] + ": x}:\n")
	}
	for name, data := range map[string][]byte{
		"comments":         slices.Concat(head, repeated(part, 0x68, 0)),
		"lines":            slices.Concat(head, field(4, repeated(part, 0x22, 0)...)),
		"labels":           slices.Concat(head, field(2, append([]byte{0x10, 0}, repeated(part, 0x1a, 0)...)...)),
		"samples":          slices.Concat(head, repeated(part, 0x12, 2, 0x10, 0)),
		"labeled samples":  slices.Concat(head, repeated(part, 0x12, 8, 0x10, 0, 0x1a, 4, 0x08, 1, 0x10, 2)),
		"deep samples":     slices.Concat(deep, repeated(part, 0x12, 4, 0x10, 0, 0x08, 1)),
		"a deep sample":    slices.Concat(deep, field(2, append([]byte{0x10, 0}, repeated(part, 0x08, 1)...)...)),
		"values":           slices.Concat(head, field(2, field(2, make([]byte, part)...)...)),
		"locations":        slices.Concat(head, repeated(part, 0x22, 0)),
		"functions":        slices.Concat(head, repeated(part, 0x2a, 0)),
		"strings":          slices.Concat(head, repeated(part, 0x32, 0)),
		"types":            slices.Concat(strings3, repeated(part, 0x0a, 4, 0x08, 1, 0x10, 2)),
		"too long":         zipped(t, make([]byte, maxPacked+1)),
		"objects":          []byte(`{"a":[` + strings.Repeat("{},", maxJSON/3-10) + "{}]}"),
		"channels":         []byte(`{"time":"2026-01-02T15:04:05Z","stages":[],"edges":[],"channels":[` + strings.Repeat("{},", maxJSON/3-100) + "{}]}"),
		"metrics":          []byte(`{"a":{` + strings.Repeat(`"/":1,`, maxJSON/6-10) + `"/":1}}`),
		"goroutines":       ids.Bytes(),
		"long names":       long.Bytes(),
		"long states":      states.Bytes(),
		"many dumps":       bytes.Repeat([]byte("goroutine 1 [select]:\nmain.f()\n"), 1_000_000),
		"counts":           append([]byte("goroutine profile: total 9\n"), bytes.Repeat([]byte("1 @ 0x1\n"), 2_000_000)...),
		"an endless line":  bytes.Repeat([]byte(`goroutine 1 [a]:\n`), 1_000_000),
		"escaped breaks":   append([]byte(`goroutine 1 [a]:\n`), bytes.Repeat([]byte(`\n`), 1_000_000)...),
		"gzip in gzip (3)": zipped(t, zipped(t, zipped(t, make([]byte, 1<<20)))),
	} {
		t.Run(name, func(t *testing.T) {
			file := File{"file", data}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Read(nil, []File{file})
			runtime.ReadMemStats(&after)
			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if limit := uint64((maxBuilt + 2*maxPacked) >> 20); allocated > limit {
				t.Errorf("%d MiB of at most %d for %d bytes: %v", allocated, limit, len(file.Data), err)
			}
			t.Logf("%s: %d MiB, %v", name, allocated, err)
		})
	}
}

// A profile is decoded or rejected, and its stacks are bounded.
func FuzzProfile(f *testing.F) {
	for _, types := range []string{cpuTypes, waitTypes, "goroutine/count"} {
		n := len(strings.Fields(types))
		data := packed(f, at(noon), types, drawn{[]int64{1, 1}[:n], []string{">runtime.f", "main.f"}, map[string][]string{"a": {"b"}}})
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			f.Fatal(err)
		}
		var raw bytes.Buffer
		if _, err := raw.ReadFrom(z); err != nil {
			f.Fatal(err)
		}
		f.Add(raw.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decode(data, &budget{maxBuilt})
		if err != nil || p.profile == nil {
			return
		}
		for _, s := range p.profile.Samples {
			if len(s.Stack) > maxFrames {
				t.Errorf("%d frames", len(s.Stack))
			}
		}
	})
}
