package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is a median in results.json.
func entry(experiment, section, panel, x string, procs int, oversubscribed bool, contender string, ns float64) string {
	return fmt.Sprintf(`{"name":%q,"sections":[{"name":%q,"points":[{"panel":%q,"x":%q,"gomaxprocs":%d,"oversubscribed":%v,
		"entries":[{"contender":%q,"summaries":{"ns/op":{"median":%v}}}]}]}]}`, experiment, section, panel, x, procs, oversubscribed, contender, ns)
}

func results(experiments ...string) string {
	return `{"schema":1,"machine":{"cpu":"Z80","cpus":4,"goos":"linux","goarch":"amd64","go":"go1.27"},"experiments":[` + strings.Join(experiments, ",") + `]}`
}

// TestPrices: each is read from its place, and from the last point that has its CPUs.
func TestPrices(t *testing.T) {
	p, err := parsePrices(strings.NewReader(results(
		entry("direct-send", "one-way", "GOMAXPROCS 2", "0", 2, false, "native", 100),
		entry("direct-send", "one-way", "GOMAXPROCS 4", "0", 4, false, "native", 101),
		entry("direct-send", "one-way", "GOMAXPROCS 8", "0", 8, true, "native", 999),
		entry("direct-send", "request", "GOMAXPROCS 2", "0", 2, false, "native", 204),
		entry("cpu-scaling", "shapes", "", "1", 1, false, "native, P to 1", 103),
		entry("cpu-scaling", "shapes", "", "2", 2, false, "native, P to 1", 999),
		entry("cpu-scaling", "shapes", "", "2", 2, false, "native, 1 to 1", 104),
		entry("cpu-scaling", "remedies", "P producers, one consumer", "2", 2, false, "published, slices", 105),
		entry("cpu-scaling", "remedies", "P producers, matched consumers", "2", 2, false, "published, slices", 999),
		entry("cpu-scaling", "remedies", "P producers, one consumer", "2", 2, false, "native, slices of each sender", 106),
		entry("cpu-scaling", "producers", "", "32", 4, false, "sluice.Sharded, lane each, runs", 107),
		entry("buffers", "capacity", "GOMAXPROCS 4, 100 workers", "100", 4, false, "native", 108),
		entry("buffers", "capacity", "GOMAXPROCS 4, 10 workers", "100", 4, false, "native", 999),
	)))
	if err != nil {
		t.Fatal(err)
	}
	want := Reference()
	want.Unbuffered, want.Wakeup, want.OneP, want.Buffered, want.Batched, want.OwnSlices, want.Sharded, want.Contended = 101, 102, 103, 104, 105, 106, 107, 108
	want.Source, want.OtherMachine = "the lab on Z80, 4 CPUs, linux/amd64, go1.27", false
	if p != want {
		t.Errorf("got  %+v\nwant %+v", p, want)
	}
}

// TestSomePrices: those that a run did not measure are of another machine, and that
// is said.
func TestSomePrices(t *testing.T) {
	p, err := parsePrices(strings.NewReader(results(entry("direct-send", "request", "GOMAXPROCS 2", "0", 2, false, "native", 400))))
	if err != nil || p.Wakeup != 200 || p.Unbuffered != Reference().Unbuffered || !strings.Contains(p.Source, "7 of 8 prices from a reference machine") {
		t.Errorf("%+v, %v", p, err)
	}
	if p.sentence() == Reference().sentence() || !strings.Contains(Reference().sentence(), "not of the service's machine") {
		t.Errorf("said: %s", p.sentence())
	}
}

// TestNoPrices: what cannot be read is one line, and no prices.
func TestNoPrices(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "is not a results.json"},
		{"<html>", "is not a results.json"},
		{`{"schema":9}`, "unsupported schema 9 (want 1)"},
		{results(), "has no prices"},
		{results(entry("direct-send", "request", "", "0", 2, false, "native", -1)), "has no prices"},
	} {
		path := filepath.Join(t.TempDir(), "results.json")
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := ReadPrices(path)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), path) || strings.Contains(err.Error(), "\n") || p != (Prices{}) {
			t.Errorf("%q: %+v, %v", test.text, p, err)
		}
	}
	if _, err := ReadPrices(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestPricesDecide: gains are computed from the prices that are given.
func TestPricesDecide(t *testing.T) {
	dear := Reference()
	dear.OwnSlices = dear.Contended
	gain := func(p Prices) float64 {
		return Diagnose(service(hotService...), p).found(LockContention).Best().Gain.Mid
	}
	if batch, none := gain(Reference()), gain(dear); batch < 1.2*none {
		t.Errorf("slices as dear as single values: ×%.2f, else ×%.2f", none, batch)
	}
}
