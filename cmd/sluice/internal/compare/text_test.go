package compare

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
)

var update = flag.Bool("update", false, "rewrite testdata")

// everything is a comparison with all kinds of results.
func everything(t *testing.T) *Comparison {
	t.Helper()
	was := []line{
		{"Elastic/sweep=procs/work=seq/n=5000/contender=native-2", "ns/op", around(100, 9)},
		{"Elastic/sweep=procs/work=seq/n=5000/contender=sluice.Elastic-2", "ns/op", around(100, 9)},
		{"Elastic/sweep=procs/work=seq/n=5000/contender=" + strings.Repeat("long_", 12) + "-2", "ns/op", around(3000, 9)},
		{"Elastic/sweep=procs/work=con/n=5000/contender=native", "ns/op", around(100, 9)},
		{"Elastic/sweep=procs/work=con/n=5000/contender=sluice.Elastic", "ns/op", around(100, 7)},
		{"Elastic/sweep=memory/contender=native-2", "B-drained", []float64{80000, 80000}},
		{"Elastic/sweep=rate/contender=native-2", "widgets", around(100, 9)},
		{"Elastic/sweep=rate/contender=native-2", "allocs/op", make([]float64, 9)},
		{"Elastic/sweep=procs/contender=gone", "ns/op", around(100, 9)},
	}
	is := []line{
		{was[0].name, "ns/op", around(100.1, 9)},
		{was[1].name, "ns/op", around(150, 9)},
		{was[2].name, "ns/op", around(2900, 9)},
		{was[3].name, "ns/op", around(106, 9)},
		{was[4].name, "ns/op", around(70, 9)},
		{was[5].name, "B-drained", []float64{160000, 160000}},
		{was[6].name, "widgets", around(120, 9)},
		{was[7].name, "allocs/op", around(2, 9)},
	}
	for i := range listed + 2 {
		is = append(is, line{fmt.Sprintf("Elastic/sweep=procs/contender=new%d", i), "ns/op", around(100, 1)})
	}
	machine := strings.Replace(header, "abacus", "slide rule with a long name that has the model, the maker and the year", 1)
	return compared(t, header+"noise: 1.5%\nline-ns: 50\n"+run("", was...)+"BenchmarkElastic/broken 100\n",
		machine+"noise: 8%\nline-ns: 51\n"+run("", is...), Defaults)
}

// TestText compares the text with testdata; -update rewrites it.
func TestText(t *testing.T) {
	same := line{"Encode/format=json-8", "ns/op", around(100, 9)}
	almost := line{same.name, "ns/op", around(100.01, 9)}
	quiet := compared(t, run("pkg: example.com/a\n", same), run("pkg: example.com/a\n", almost), Defaults)
	for name, c := range map[string]*Comparison{"everything": everything(t), "nothing": quiet} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := c.WriteText(&got, true); err != nil {
				t.Fatal(err)
			}
			text := got.String()
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if text != string(want) {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
			narrow(t, text)
		})
	}
}

// narrow fails on lines wider than a terminal, unless they are a single word.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > textWidth && len(strings.Fields(line)) > 2 {
			t.Errorf("wider than %d columns: %q", textWidth, line)
		}
		if strings.HasSuffix(line, " ") || strings.Contains(line, format.NoBreak) {
			t.Errorf("an invisible space: %q", line)
		}
	}
}

func TestWrap(t *testing.T) {
	text := wrap(strings.Repeat("word ", 20)+"12"+format.NoBreak+"ns", "  ")
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, "\n  word") || !strings.HasSuffix(text, " 12 ns\n") {
		t.Errorf("wrapped %q", text)
	}
	narrow(t, text)
	if long := strings.Repeat("x", 100); wrap(long, "  ") != long+"\n" {
		t.Errorf("a long word reads %q", wrap(long, "  "))
	}
}

// TestJSON reads the JSON as a program would.
func TestJSON(t *testing.T) {
	c := everything(t)
	var b bytes.Buffer
	if err := c.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Schema   int
		Old      struct{ Path string }
		Decision struct{ Regressions, Tested int }
		Points   []struct {
			Name, Unit, Delta, Verdict string
			Change                     *float64
			Regression                 bool
			Old                        struct {
				N  int
				Lo *float64
			}
		}
		OnlyOld []struct{ Name string } `json:"only_old"`
		OnlyNew []struct{ Name string } `json:"only_new"`
		Units   []struct {
			Unit    string
			Counts  map[string]int
			Geomean *float64
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, &b)
	}
	if got.Schema != Schema || got.Old.Path != "old" || len(got.Points) != 8 || len(got.OnlyOld) != 1 || len(got.OnlyNew) != listed+2 {
		t.Errorf("read back %+v", got)
	}
	byUnit := map[string]int{}
	for i, p := range got.Points {
		byUnit[p.Unit] = i
	}
	if p := got.Points[byUnit["allocs/op"]]; p.Change != nil || p.Delta != "?" || !p.Regression {
		t.Errorf("from 0: %+v", p)
	}
	if p := got.Points[byUnit["B-drained"]]; p.Change == nil || *p.Change != 1 || p.Old.Lo != nil || p.Verdict != string(TooFew) {
		t.Errorf("with too few: %+v", p)
	}
	if p := got.Points[0]; p.Old.Lo == nil || p.Old.N != 9 {
		t.Errorf("with enough: %+v", p)
	}
	for _, u := range got.Units {
		if (u.Geomean == nil) != (u.Unit == "allocs/op") {
			t.Errorf("geometric mean of %s: %v", u.Unit, u.Geomean)
		}
	}
}

// An error of the writer is returned.
func TestWriteFails(t *testing.T) {
	c := everything(t)
	if err := c.WriteText(full{}, true); !errors.Is(err, errFull) {
		t.Errorf("text: %v", err)
	}
	if err := c.WriteJSON(full{}); !errors.Is(err, errFull) {
		t.Errorf("JSON: %v", err)
	}
}

var errFull = errors.New("no room")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
