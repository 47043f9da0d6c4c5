package capture

import (
	"bytes"
	"compress/gzip"
	"context"
	"reflect"
	"runtime"
	rpprof "runtime/pprof"
	"slices"
	"strconv"
	"strings"
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
		labels := map[string]string{"stage": "a"}
		want := &Profile{Window: 2 * time.Second, Period: 10e6, Samples: []Sample{
			{Stack{{"runtime.lock", "runtime.lock.go", 1}, {"runtime.chansend", "runtime.chansend.go", 2}, {"main.f", "main.f.go", 3}}, 3, 30e6, labels},
			{Stack{{"main.f", "main.f.go", 1}}, 1, 10e6, labels},
		}}
		if !reflect.DeepEqual(c.CPU, want) || !c.Start.Equal(noon) {
			t.Errorf("from %v: %+v", c.Start, c.CPU)
		}
	}
	c, err := Read(nil, []File{{"", packed(t, func(p *pprof.Profile) { p.Period = 10e6 }, "cpu/nanoseconds", drawn{[]int64{40e6}, []string{"main.f"}, nil})}})
	if err != nil || c.CPU.Samples[0].Count != 4 {
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
		label := slices.Concat(sample.Label["test"], []string{""})[0]
		if g := d.Groups[i]; g.Count != int(sample.Value[0]) || !slices.Equal(g.Stack, stack) || g.Labels["test"] != label {
			t.Errorf("%+v\nwant %v, labels %v", g, stack, sample.Label)
		}
	}
}

func TestContention(t *testing.T) {
	unlock := []string{"runtime.unlock2", "runtime.chansend", "main.f"}
	mutex := func(when time.Time, counts ...int64) []byte {
		var samples []drawn
		for i, n := range counts {
			samples = append(samples, drawn{[]int64{n, 10 * n}, append(slices.Clone(unlock), string(rune('a'+i))+".g"), nil})
		}
		return packed(t, at(when), waitTypes, samples...)
	}
	block := packed(t, nil, waitTypes, drawn{[]int64{1, 5}, []string{"sync.(*Mutex).Lock", "main.unlock"}, nil})
	c, err := Read(nil, []File{
		{"z", mutex(noon.Add(5*time.Second), 7, 2)}, {"a", mutex(noon, 3, 2)}, // times decide, not names
		{"block", block},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m := c.Mutex; m == nil || len(m.Samples) != 1 || m.Samples[0].Count != 4 || m.Samples[0].Value != 40 || m.Window != 5*time.Second {
		t.Errorf("mutex %+v", m)
	}
	if b := c.Block; b == nil || len(b.Samples) != 1 || b.Samples[0].Value != 5 || b.Window != 0 {
		t.Errorf("block %+v", b)
	}
	// No events since the first of two is a fact, and none at all is a setting.
	c, err = Read(nil, []File{{"block.pprof", block}, {"block-before.pprof", block}, {"mutex.pprof", packed(t, nil, waitTypes)}})
	if err != nil || c.Block == nil || len(c.Block.Samples) != 0 || c.Mutex != nil || len(c.Missing) != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	c, err = Read(nil, []File{{"m-before", mutex(noon, 100)}, {"m", mutex(noon.Add(time.Second), 3)}})
	if err != nil || c.Mutex.events() != 3 || !strings.Contains(c.Missing[0].Reason, "restarted") {
		t.Errorf("a restart: %+v, %v", c, err)
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
	const part = maxPacked / 8
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
			if limit := uint64((maxBuilt + maxPacked) >> 20); allocated > limit {
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
		p, _, err := decode(data, &budget{maxBuilt})
		if err != nil {
			return
		}
		for _, s := range p.Samples {
			if len(s.Stack) > maxFrames {
				t.Errorf("%d frames", len(s.Stack))
			}
		}
	})
}
