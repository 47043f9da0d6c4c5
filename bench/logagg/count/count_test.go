package count

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/parse"
)

var noon, _ = parse.MinuteOf(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))

func event(service string, minute, status int, bytes int64) parse.Event {
	return parse.Event{Service: unique.Make(service), Minute: noon + parse.Minute(minute), Status: uint16(status), Bytes: bytes}
}

// TestTable compares a table, and one merged from several, with sums computed
// by hand.
func TestTable(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := map[string][2]int64{}
	whole, parts := NewTable(), []*Table{NewTable(), NewTable(), NewTable()}
	for n := range 5000 {
		e := event(fmt.Sprint("service-", random.IntN(5)), random.IntN(3), 200+random.IntN(3), random.Int64N(100))
		whole.Add(e)
		parts[n%3].Add(e)
		name := fmt.Sprint(e.Minute, e.Service.Value(), e.Status)
		want[name] = [2]int64{want[name][0] + 1, want[name][1] + e.Bytes}
	}
	merged := NewTable()
	for _, part := range parts {
		merged.Merge(part)
	}
	for _, table := range []*Table{whole, merged} {
		if table.Lines() != 5000 || table.Len() != len(want) {
			t.Errorf("%d lines in %d rows, not in %d", table.Lines(), table.Len(), len(want))
		}
		for _, row := range table.Rows() {
			minute, _ := parse.MinuteOf(row.Minute)
			if got := [2]int64{row.Lines, row.Bytes}; got != want[fmt.Sprint(minute, row.Service, row.Status)] {
				t.Errorf("%v: want %v", row, want[fmt.Sprint(minute, row.Service, row.Status)])
			}
		}
	}
	if !slices.Equal(whole.AppendJSON(nil), merged.AppendJSON(nil)) {
		t.Error("the order of rows depends on the order of events")
	}
}

// TestClaims: clients may claim any size and any minute; no sum becomes
// negative, and the counts can be shipped.
func TestClaims(t *testing.T) {
	const line = `203.0.113.9 - - [31/Dec/9999:23:59:59 +0000] "GET / HTTP/1.1" 200 999999999999999999`
	e, err := parse.NewParser("web").Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	table, other := NewTable(), NewTable()
	for range 20 {
		table.Add(e)
		other.Add(e)
	}
	table.Merge(other)
	if got := table.Rows(); len(got) != 1 || got[0].Lines != 40 || got[0].Bytes != math.MaxInt64 {
		t.Errorf("got %v", got)
	}
	if text := table.AppendJSON(nil); !json.Valid(text) {
		t.Errorf("got %q", text)
	}
}

func TestJSON(t *testing.T) {
	table := NewTable()
	for _, e := range []parse.Event{event("b\"", 1, 200, 5), event("a", 1, 404, 0), event("a", 0, 500, 7), event("a", 1, 404, 2)} {
		table.Add(e)
	}
	want := `{"minute":"2026-11-21T12:00:00Z","service":"a","status":500,"lines":1,"bytes":7}
{"minute":"2026-11-21T12:01:00Z","service":"a","status":404,"lines":2,"bytes":2}
{"minute":"2026-11-21T12:01:00Z","service":"b\"","status":200,"lines":1,"bytes":5}
`
	text := table.AppendJSON([]byte("x"))
	if string(text) != "x"+want {
		t.Errorf("got %s", text)
	}
	var row Row
	if err := json.Unmarshal([]byte(strings.SplitAfter(want, "\n")[0]), &row); err != nil || row != table.Rows()[0] {
		t.Errorf("read back: %v, %v", row, err)
	}
}

func BenchmarkAdd(b *testing.B) {
	table := NewTable()
	events := make([]parse.Event, 1000)
	for i := range events {
		events[i] = event(fmt.Sprint(i%7), i%10, 200+i%14, 1)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		table.Add(events[n%len(events)])
	}
}
