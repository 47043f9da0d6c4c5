package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// rowsOf returns the label, the figures and the status of each row of a text.
func rowsOf(c *Comparison, all bool) (rows []string) {
	for _, r := range c.table(all) {
		rows = append(rows, strings.Join(strings.Fields(strings.Join(r[:], " ")), " "))
	}
	return rows
}

// A few points are all shown, with what their change is.
func TestFewPoints(t *testing.T) {
	was := []line{
		{"Same-8", "ns/op", around(100, 9)}, {"Slower-8", "ns/op", around(100, 9)}, {"Faster-8", "ns/op", around(100, 9)},
		{"Little-8", "ns/op", around(100, 9)}, {"Noise-8", "ns/op", around(100, 9)}, {"Few-8", "ns/op", around(100, 2)},
		{"Wild-8", "ns/op", []float64{100, 120, 300, 800, 1500, 3000}},
		{"Same-8", "widgets", around(100, 9)}, {"Same-8", "allocs/op", make([]float64, 6)},
	}
	is := []line{
		{"Same-8", "ns/op", around(100.001, 9)}, {"Slower-8", "ns/op", around(400, 9)}, {"Faster-8", "ns/op", around(25, 9)},
		{"Little-8", "ns/op", around(103, 9)}, {"Noise-8", "ns/op", around(110, 9)}, {"Few-8", "ns/op", around(101, 2)},
		{"Wild-8", "ns/op", []float64{400, 480, 1200, 3200, 6000, 12000}},
		{"Same-8", "widgets", around(120, 9)}, {"Same-8", "allocs/op", around(2, 6)},
	}
	got := rowsOf(compared(t, run("pkg: q\n", was...), run("pkg: q\n", is...), Defaults), false)
	want := []string{
		"sec/op OLD NEW ratio 95% interval",
		"Same-8 100.0n 100.0n 1.000 0.997 to 1.003 ~",
		"Slower-8 100.0n 400.0n 4.00 3.99 to 4.01 worse",
		"Faster-8 100.0n 25.00n 0.250 0.249 to 0.251 better",
		"Little-8 100.0n 103.0n 1.030 1.027 to 1.033 < 5%",
		"Noise-8 100.0n 110.0n 1.100 1.096 to 1.104 noise",
		"Few-8 100.0n 101.0n 1.010 too few",
		"Wild-8 550.0n 2.200µ 4.00 0.500 to 32 worse?",
		"geomean of 7 127.6n 158.5n 1.243", "",
		"widgets OLD NEW ratio 95% interval",
		"Same-8 100.0 120.0 1.200 1.196 to 1.204 higher", "",
		"allocs/op OLD NEW ratio 95% interval",
		"Same-8 0.000 2.000 - worse", "",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Of many points, only those that changed are shown, the regressions first, as many as a
// screen has. The others are counted, and each unit has its mean.
func TestManyPoints(t *testing.T) {
	file := func(header string, slower ...float64) string {
		return many(header, 300, slower...) + run("", line{"Elastic/n=1", "B/op", around(100, 6)})
	}
	for _, tt := range []struct {
		slower []float64
		first  string
		rows   int // of points
		others string
	}{
		{nil, "geometric mean OLD NEW ratio", 0, "301 of 301 points are not shown; 0 of them changed"},
		{[]float64{1.04, 0.2, 1, 3}, "sec/op OLD NEW ratio 95% interval", 3, "298 of 301 points are not shown; 0 of them changed"},
		{slices.Repeat([]float64{3}, 40), "sec/op OLD NEW ratio 95% interval", most, "289 of 301 points are not shown; 28 of them changed"},
	} {
		c := compared(t, file(header), file(later, tt.slower...), Defaults)
		got := strings.Join(rowsOf(c, false), "\n")
		if !strings.HasPrefix(got, tt.first) || strings.Count(got, "elastic/n=")+strings.Count(got, "Elastic/n=") != tt.rows || !strings.Contains(got, tt.others) || !strings.Contains(got, "B/op (1) 100.0 100.0 1.000") {
			t.Errorf("%v:\n%s", tt.slower, got)
		}
		if tt.rows == 3 && !strings.Contains(got, "elastic/n=3 100.0n 300.0n 3.00 2.99 to 3.02 worse\nelastic/n=1 100.0n 20.00n 0.200 0.199 to 0.201 better\nelastic/n=0 100.0n 104.0n 1.040 1.035 to 1.045 < 5%\ngeomean of 300") {
			t.Errorf("the order of what changed:\n%s", got)
		}
		if all := rowsOf(c, true); len(all) < 301 || strings.Contains(strings.Join(all, "\n"), "not shown") {
			t.Errorf("%d rows with all", len(all))
		}
		var b strings.Builder
		if err := c.WriteText(&b, 80, false); err != nil || strings.Count(b.String(), "\n") > 26 {
			t.Errorf("more than a screen (%v):\n%s", err, &b)
		}
	}
}

// No line is wider than the terminal, whatever the names are.
func TestWidth(t *testing.T) {
	long := line{"Elastic/sweep=procs/contender=" + strings.Repeat("long_", 40), "ns/op", around(100, 9)}
	file := func(header string, ns float64) string {
		return header + "BenchmarkX 1 lots\n" + many("", 9, ns) + run("", long)
	}
	machine := strings.Replace(later, "abacus", "slide rule with a long name that has the model and the year", 1)
	c := compared(t, file(header, 1), file(machine, 3)+"FAIL\tq\t1s\n", Defaults)
	for _, width := range []int{60, 80, 120} {
		var b strings.Builder
		if err := c.WriteText(&b, width, true); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width && !strings.Contains(line, ".txt:") || strings.HasSuffix(line, " ") {
				t.Errorf("at %d columns: %q", width, line)
			}
		}
	}
}

// TestJSON reads the JSON as a program would.
func TestJSON(t *testing.T) {
	lines := func(v float64, n int) []line {
		return []line{{"E-8", "ns/op", around(v, 9)}, {"E-8", "B-drained", around(v, 2)}, {"E-8", "allocs/op", slices.Repeat([]float64{v - 100}, 9)}, {fmt.Sprint("Only-", v), "ns/op", around(v, n)}}
	}
	c := compared(t, run(header, lines(100, 9)...), run(later, lines(200, 9)...), Defaults)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema   int
		Old      struct{ Path string }
		Decision struct {
			Outcome                       string
			Regressions, Tested, Vanished int
		}
		Points []struct {
			Name, Unit, Delta, Verdict string
			Change                     *float64
			Interval                   [2]*float64
			Regression                 bool
			Old                        struct {
				N  int
				Lo *float64
			}
		}
		OnlyOld []struct{ Name string } `json:"only_old"`
		Units   []struct {
			Unit    string
			Geomean *float64
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got.Schema != Schema || got.Old.Path != "old" || len(got.Points) != 3 || len(got.OnlyOld) != 1 || got.Decision.Outcome != "regression" || got.Decision.Regressions != 2 || got.Decision.Vanished != 1 {
		t.Fatalf("read back %+v", got)
	}
	if p := got.Points[0]; p.Old.Lo == nil || p.Old.N != 9 || p.Interval[0] == nil || *p.Change != 1 || !p.Regression {
		t.Errorf("with enough: %+v", p)
	}
	if p := got.Points[1]; *p.Change != 1 || p.Old.Lo != nil || p.Interval[0] != nil || p.Verdict != string(TooFew) {
		t.Errorf("with too few: %+v", p)
	}
	if p := got.Points[2]; p.Change != nil || p.Interval[1] != nil || p.Delta != "?" || !p.Regression || got.Units[2].Geomean != nil || got.Units[0].Geomean == nil {
		t.Errorf("from 0: %+v, %+v", p, got.Units)
	}
}

// An error of the writer is returned.
func TestWriteFails(t *testing.T) {
	c := compared(t, many(header, 9), many(later, 9), Defaults)
	if err := c.WriteText(full{}, 80, true); err == nil || err.Error() != "no room" {
		t.Errorf("error %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }
