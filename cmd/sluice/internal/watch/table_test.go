package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-go/sluice/livepage"
)

// answers serves reports like package livepage.
func answers(report func(q Query) *livepage.Report) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := Query{Page: 1}
		if r.URL.Query().Has("flow") { // as an older version
			http.Error(w, `sluice: unknown parameter "flow"`, http.StatusBadRequest)
			return
		}
		if err := q.read(r.URL.RawQuery); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		q.channelsOnPage = maxSize
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(report(q))
	}
}

func TestTable(t *testing.T) {
	s, _ := serve(t, answers(func(Query) *livepage.Report { r := busy(); r.Pages = 1; return r }))
	var out strings.Builder
	if err := Table(t.Context(), &out, s, Query{Page: 1}, busy(), 0); err != nil {
		t.Fatal(err)
	}
	want := `2026-01-02 12:00:00  1,234 named channels, 9 shown
NAME                             KIND              FILL       FULL IN  IN/S   OUT/S  DROPPED  SENDERS  SINCE   RECEIVERS  SINCE  OLDEST   HIGH   MEMORY
orders/parsed                    Bounded           11/16      455ms    15.3k  15.3k  0        0        ~2.1ms  2          3.3s   4.2ms    16     4 KiB
stuck                            Bounded           1024/1024  now      0      0      0        40       1.0h    0          –      1.0h     1024   8 KiB
hand-off                         Rendezvous        no slots   –        7      7      0        0        –       0          –      –        0      0 B
log lines                        Elastic           40000      –        100k   98k    0        0        –       0          –      ≈400ms   90000  1 MiB
latest                           Bounded           1/1        now      90     10     799      0        –       0          –      <1.0s    1      8 B
metrics                          Sharded, 4 lanes  300/1024   –        1M     1M     0        0        –       0          –      ≥12min   200    16 KiB
retry                            Elastic, closed   3/100      –        –      –      0        0        –       0          –      unknown  12     0 B
evil\x1b[2J\x1b]0;title\a\u202e  Bou\x1bnded       0/8        –        –      –      0        0        –       0          –      –        0      0 B
日本語のチャンネルの名前         Bounded           0/8        –        –      –      0        0        –       0          –      –        0      0 B
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// The map precedes the table. Both are from one answer: with each request, the
// service has one sender more.
func TestTableWithMap(t *testing.T) {
	senders := 0
	s, _ := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		senders++
		report := &livepage.Report{Time: noon, Over: 1, Page: 1, Pages: 1, Channels: []livepage.Channel{{ID: 1, Name: "lines", Kind: "Bounded", Cap: new(8), Senders: livepage.Waiting{Now: senders}}}}
		flow := &livepage.Flow{
			Time: noon, Summary: fmt.Sprintf("lines is full,\x1b %d senders wait.", senders),
			Stages:   []livepage.Stage{{ID: "a", Name: "read"}, {ID: "b", Name: "count", Column: 1}},
			Channels: []livepage.FlowChannel{{ID: 1, Name: "lines", Fill: new(0.5)}},
			Edges:    []livepage.Edge{{Stage: "a", Channel: 1, Side: "send"}, {Stage: "b", Channel: 1, Side: "receive"}},
		}
		if r.URL.Query().Get("format") == "flow" {
			_ = json.NewEncoder(w).Encode(flow)
			return
		}
		if r.URL.Query().Get("flow") == "1" {
			report.Flow = flow
		}
		_ = json.NewEncoder(w).Encode(report)
	}))
	var out strings.Builder
	if err := Table(t.Context(), &out, s, Query{Page: 1}, &livepage.Report{Over: 1}, 0); err != nil {
		t.Fatal(err)
	}
	want := "lines is full,\\x1b 1 senders wait.\nread ─▶ lines ██ 50% ─▶ count\n\n2026-01-02 12:00:00  0 named"
	row := strings.Fields(out.String()[strings.LastIndex(out.String(), "lines "):])
	if !strings.HasPrefix(out.String(), want) || len(row) < 8 || row[7] != "1" {
		t.Errorf("got\n%s\nwant\n%s… and 1 sender in the row %q", &out, want, row)
	}
}

// A table has the channels of all pages.
func TestTableOfMany(t *testing.T) {
	var requests atomic.Int64
	s, _ := serve(t, answers(func(q Query) *livepage.Report {
		requests.Add(1)
		r := pages(10_000).answer(q)
		r.Over = 1
		return r
	}))
	var out strings.Builder
	first := &livepage.Report{Over: 1}
	if err := Table(t.Context(), &out, s, Query{Page: 1}, first, 0); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 10_002 || requests.Load() != 50 || !strings.Contains(out.String(), "\nc10000 ") {
		t.Errorf("%d lines after %d requests", lines, requests.Load())
	}
}

// A service with an endless number of pages is not followed forever.
func TestTableEnds(t *testing.T) {
	s, _ := serve(t, answers(func(q Query) *livepage.Report {
		r := &livepage.Report{Time: noon, Over: 1, Pages: 1 << 30, Channels: make([]livepage.Channel, 5_000)}
		if q.Filter == "none" {
			r.Channels = nil
		}
		for i := range r.Channels {
			r.Channels[i].ID = uint64(q.Page*len(r.Channels) + i)
		}
		return r
	}))
	var out strings.Builder
	err := Table(t.Context(), &out, s, Query{Page: 1}, &livepage.Report{Over: 1}, 0)
	if err == nil || err.Error() != "more than 100000 channels in the responses" || out.Len() > 0 {
		t.Errorf("%v, and %d bytes", err, out.Len())
	}
	if err := Table(t.Context(), &out, s, Query{Page: 1, Filter: "none"}, &livepage.Report{Over: 1}, 0); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("empty pages: %v\n%s", err, &out)
	}
}

// Table repeats until the context is done, the service is gone, or the output
// is closed.
func TestTables(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var requests atomic.Int64
	s, _ := serve(t, answers(func(q Query) *livepage.Report {
		if requests.Add(1) == 3 {
			cancel()
		}
		return pages(1).answer(q)
	}))
	var out strings.Builder
	first := &livepage.Report{Over: 1}
	if err := Table(ctx, &out, s, Query{Page: 1}, first, time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if tables := strings.Count(out.String(), "NAME"); tables < 2 || tables > 3 {
		t.Errorf("%d tables:\n%s", tables, &out)
	}
	if err := Table(t.Context(), broken{}, s, Query{Page: 1}, first, time.Hour); err != errBroken {
		t.Errorf("closed output: %v", err)
	}
	if err := Table(t.Context(), &out, at(t, unused), Query{Page: 1}, first, time.Hour); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("service gone: %v", err)
	}
	if err := Table(ctx, &out, s, Query{Page: 1}, &livepage.Report{}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting for rates: %v", err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// A channel that moves to the next page meanwhile is listed once, and a page
// without new channels is the last.
func TestTableListsEachOnce(t *testing.T) {
	var requests atomic.Int64
	s, _ := serve(t, answers(func(q Query) *livepage.Report {
		requests.Add(1)
		r := &livepage.Report{Time: noon, Over: 1, Pages: 1 << 30}
		for id := 2*q.Page - 1; id <= min(2*q.Page+1, 5); id++ { // the last one moves to the next page
			r.Channels = append(r.Channels, pages(9).channel(id))
		}
		if q.Page > 3 {
			r.Channels = append(r.Channels, pages(9).channel(1))
		}
		return r
	}))
	var out strings.Builder
	if err := Table(t.Context(), &out, s, Query{Page: 1}, &livepage.Report{Over: 1}, 0); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2+5 || requests.Load() != 3 {
		t.Errorf("after %d requests:\n%s", requests.Load(), &out)
	}
}
