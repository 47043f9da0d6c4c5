package main

import (
	"context"
	"debug/elf"
	"debug/gosym"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/command"
	"github.com/sluice-go/sluice/bench/paced"
	"github.com/sluice-go/sluice/bench/results"
	"github.com/sluice-go/sluice/internal/suite"
)

// TestMain measures a cell if this process is the child of a test.
func TestMain(m *testing.M) {
	if key := os.Getenv(childCell); key != "" {
		os.Exit(child(key))
	}
	os.Exit(m.Run())
}

// faulty are contenders that the checks must catch.
func faulty([]int) section {
	chans := sized([]row{native()}, 128)[0]
	loses := chans
	loses.name, loses.open = "loses", func(n int, take func(int, uint64)) paced.Sink {
		s := chans.open(n, take)
		put := s.Put
		s.Put = func(v uint64) bool { return v%7 == 0 || put(v) } // it loses every seventh value
		return s
	}
	stuck := column{name: "stuck", procs: 1, measure: func(row, time.Duration) (float64, error) { select {} }}
	return section{"faulty", []row{{name: nothing}, chans, loses}, append(waiting(1, 1, 10_000), stuck)}
}

func init() { ofTests = append(ofTests, faulty) }

// TestInlined checks that the measured loops have no call in between: a function that is inlined
// everywhere is not in the program.
func TestInlined(t *testing.T) {
	if suite.Race || testing.CoverMode() != "" {
		t.Skip("the loops have more in them")
	}
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(name)
	if err != nil {
		t.Skip("it reads the programs of Linux: ", err)
	}
	defer program.Close()
	table := program.Section(".gopclntab")
	if table == nil {
		t.Skip("the linker put the table of functions elsewhere")
	}
	lines, err := table.Data()
	if err != nil {
		t.Fatal(err)
	}
	functions, err := gosym.NewTable(nil, gosym.NewLineTable(lines, program.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	const bench = "github.com/sluice-go/sluice/bench/"
	for name, want := range map[string]bool{"contender.ends.Recv": true, "contender.SendEach": false, "contender.RecvEach": false, "contender.fill": false} {
		if found := functions.LookupFunc(bench+name) != nil; found != want {
			t.Errorf("%s is in the program: %v", name, found)
		}
	}
}

// TestEveryCellOfOurs measures each of our cells for a moment.
func TestEveryCellOfOurs(t *testing.T) {
	suite.Needs(t, "a process for each cell")
	for _, s := range sections([]int{2}) {
		for _, col := range s.columns {
			for _, r := range s.choose(col, regexp.MustCompile("")) {
				if !r.ours {
					continue
				}
				v, err := inChild(t.Context(), cell{s.name, r.name, col.name, col.procs}, 2*time.Millisecond)
				if err != nil || v < 0 && col.name != "CPU" || col.name == "lost" && v != 0 { // CPU is a difference
					t.Errorf("%s/%s/%s: %v, %v", s.name, r.name, col.name, v, err)
				}
			}
		}
	}
}

func TestFaults(t *testing.T) {
	measure := func(row, column string, procs int) (float64, error) {
		return inChild(t.Context(), cell{"faulty", row, column, procs}, 20*time.Millisecond)
	}
	for _, column := range []struct {
		name  string
		procs int
	}{{"CPU", 2}, {"p99", 1}} {
		if _, err := measure("loses", column.name, column.procs); err == nil || !strings.Contains(err.Error(), "received") {
			t.Errorf("%s of a contender that loses values: %v", column.name, err)
		}
		if v, err := measure("chan", column.name, column.procs); err != nil || v <= 0 && column.name != "CPU" { // a difference
			t.Errorf("%s of a chan: %v, %v", column.name, v, err)
		}
	}
	if v, err := measure("loses", "lost", 2); err != nil || v <= 0 {
		t.Errorf("a contender that loses values lost %v, %v", v, err)
	}
	if v, err := measure("chan", "lost", 2); err != nil || v != 0 {
		t.Errorf("a chan lost %v, %v", v, err)
	}
	if _, err := measure("nobody", "CPU", 2); err == nil || !strings.Contains(err.Error(), "no such cell") {
		t.Errorf("a cell that is not there: %v", err)
	}
	defer func(before time.Duration) { patience = before }(patience)
	patience = time.Second // for this one alone: another child may take longer to start
	if _, err := measure("chan", "stuck", 1); err == nil || !strings.Contains(err.Error(), "does not end") {
		t.Errorf("a contender that is stuck: %v", err)
	}
}

func TestCells(t *testing.T) {
	seen := map[cell]bool{}
	for _, s := range sections([]int{1, 2}) {
		for _, col := range s.columns {
			for _, r := range s.rows {
				c := cell{s.name, r.name, col.name, col.procs}
				if got, err := parseCell(c.String()); err != nil || got != c || seen[c] {
					t.Errorf("%v becomes %v, %v; seen before: %v", c, got, err, seen[c])
				}
				seen[c] = true
			}
		}
	}
	for _, wrong := range []string{"", "a/b/c", "a/b/c/two"} {
		if _, err := parseCell(wrong); err == nil {
			t.Errorf("%q is a cell", wrong)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, wrong := range []string{"-only (", "-procs 0", "-procs x", "-rounds 0", "x", "-x", "-only nosuch"} {
		if err := run(t.Context(), strings.Fields(wrong)); !errors.As(err, new(command.Misuse)) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", wrong, err)
		}
	}
}

// TestRun: a second run adds to the file, an interrupted one leaves it as it is.
func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	measure := func(ctx context.Context, only string) error {
		return run(ctx, []string{"-quick", "-only", only, "-json", path})
	}
	for _, only := range []string{"^semaphore/chan as tokens/1 alone/2", "^semaphore/x/sync semaphore/1 alone/2"} {
		if err := measure(t.Context(), only); err != nil {
			t.Fatal(err)
		}
	}
	f, err := load(path)
	if err != nil || len(f.Cells) != 2 || len(f.Cells["semaphore/x/sync semaphore/1 alone/2"]) != 2 || f.Host.Go == "" {
		t.Fatalf("%+v, %v", f, err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if err := measure(ctx, "^semaphore"); err == nil || err.Error() != "interrupted" {
		t.Errorf("interrupted: %v", err)
	}
	if again, err := load(path); err != nil || len(again.Cells) != 2 {
		t.Errorf("after an interrupt: %+v, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a damaged file: %v", err)
	}
}

func TestNumbers(t *testing.T) {
	if v := results.Median(nil); !math.IsNaN(v) {
		t.Errorf("the median of nothing is %v", v)
	}
	if results.Median([]float64{9, 1, 5}) != 5 || results.Median([]float64{4, 1, 2, 9}) != 3 {
		t.Error("medians are wrong")
	}
	for v, want := range map[float64]float64{0: 0, 1234567: 1235000, 0.00123456: 0.001235, 12.345: 12.35} {
		if got := rounded(v); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v is rounded to %v, want %v", v, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0.0", 9.94: "9.9", 9.96: "10", 1234: "1234", 12345: "12k"} {
		if got := number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}

// TestPage: bold marks the fastest that parks, CPU is without the load, a loss is listed.
func TestPage(t *testing.T) {
	f := &figures{Cells: map[string][]float64{}, Failure: map[string]string{}}
	for c, v := range map[cell]float64{
		{"queues", "chan", "1->1", 2}: 50, {"queues", "sluice.Bounded", "1->1", 2}: 60, {"queues", "xsync SPSC", "1->1", 2}: 20,
		{"queues", nothing, "CPU", 2}: 10, {"queues", "chan", "CPU", 2}: 3, {"queues", "sluice.Bounded", "CPU", 2}: 2,
	} {
		f.put(c, []float64{v}, nil)
	}
	f.put(cell{"queues", "lfq MPMC", "1->1", 2}, nil, io.ErrUnexpectedEOF)
	p := page{f, []*figures{f}, sections(pageProcs)}
	table := p.table("queues", true, []heading{{"speed", "1->1", 2, ""}, {"CPU", "CPU", 2, ""}})
	for _, line := range []string{
		"| chan | parks | **50** | 3.0 |", "| sluice.Bounded | parks | 60 | **2.0** |", "| xsync SPSC | polls | 20 | - |",
	} {
		if !strings.Contains(table, line) {
			t.Errorf("%q is missing in\n%s", line, table)
		}
	}
	if plain := p.table("queues", false, []heading{{"speed", "1->1", 2, ""}}); !strings.Contains(plain, "\n| chan | **50** |") || strings.Contains(plain, "xsync SPSC") {
		t.Errorf("a table without words has rows that poll, or no chan:\n%s", plain)
	}
	losses, compared := p.losses()
	if len(losses) != 1 || compared != 2 || losses[0].other.row != "chan" || math.Abs(losses[0].times[0]-1.2) > 1e-9 {
		t.Errorf("%+v of %d", losses, compared)
	}
	decoder := xml.NewDecoder(strings.NewReader(p.queueChart()))
	for {
		if _, err := decoder.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(p.queueChart(), "class=\"burns\"") || !strings.Contains(p.queueChart(), "class=\"ours\"") {
		t.Error("bars are missing in the chart")
	}
}

// TestWrittenPage: the page that people read is what the files of figures say, and short.
func TestWrittenPage(t *testing.T) {
	t.Chdir("../..")
	paths, all, err := stored()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if want := (page{all[0], all, sections(pageProcs)}).text(paths); string(written) != want {
		t.Errorf("%s is not what the figures say: go run ./bench/board -page", pagePath)
	}
	if lines := strings.Count(string(written), "\n"); lines > 200 {
		t.Errorf("%s has %d lines (want at most 200)", pagePath, lines)
	}
}
