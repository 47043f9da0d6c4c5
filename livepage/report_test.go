package livepage

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/inspect"
)

// made returns a look at channels with the given stats.
func made(stats ...sluice.Stats) *look {
	l := &look{at: time.Unix(1000, 0), over: time.Second}
	for i, s := range stats {
		l.seen = append(l.seen, sighting{Channel: inspect.Channel{ID: uint64(i + 1), Name: s.Name, Kind: cmp.Or(s.Lanes.Change, "Bounded")}, stats: s})
		l.seen[i].stats.Lanes.Change = ""
		l.seen[i].rates = rates{known: true, sent: float64(s.Sent), received: float64(s.Received), dropped: float64(s.Dropped)}
	}
	return l
}

// ids requests a report and returns the IDs it lists.
func ids(t *testing.T, l *look, raw string) string {
	t.Helper()
	q, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	r, found := q.report(l)
	if !found {
		t.Fatalf("%s: not found", raw)
	}
	var all []uint64
	for _, c := range r.Channels {
		all = append(all, c.ID)
	}
	return fmt.Sprintf("%v of %d, page %d of %d", all, r.Matching, r.Page, r.Pages)
}

// in returns s of a channel of another kind than Bounded, with the given number of lanes: see made.
func in(kind string, lanes int, s sluice.Stats) sluice.Stats {
	s.Lanes.Count, s.Lanes.Change = lanes, kind
	return s
}

func TestOrderFilterAndPages(t *testing.T) {
	l := made(
		sluice.Stats{Name: "b", Cap: 10, Len: 5, OldestValue: 2 * time.Second, Sent: 7, Received: 2, HighWater: 6, Bytes: 80},
		in("Elastic", 1, sluice.Stats{Name: "Ab", Cap: 100, Len: 6, Sent: 9, Received: 1, Dropped: 2, SendersWaiting: 3, OldestSender: 5, HighWater: 9, Bytes: 70}),
		in("Rendezvous", 1, sluice.Stats{Name: "c", Cap: 0, Sent: 8, Received: 8, ReceiversWaiting: 2, OldestReceiver: 5}),
		in("Sharded", 5, sluice.Stats{Name: "b", Cap: 4, Len: 4, Sent: 4, HighWater: 4, Bytes: 90}),
	)
	for raw, want := range map[string]string{
		"":                             "[2 1 4 3] of 4, page 1 of 1",
		"order=desc":                   "[3 1 4 2] of 4, page 1 of 1",
		"sort=id":                      "[1 2 3 4] of 4, page 1 of 1",
		"sort=kind":                    "[1 2 3 4] of 4, page 1 of 1",
		"sort=fill":                    "[4 1 2 3] of 4, page 1 of 1",
		"sort=fill&order=asc":          "[3 2 1 4] of 4, page 1 of 1",
		"sort=len":                     "[2 1 4 3] of 4, page 1 of 1",
		"sort=sent":                    "[2 3 1 4] of 4, page 1 of 1",
		"sort=received":                "[3 1 2 4] of 4, page 1 of 1",
		"sort=dropped":                 "[2 1 3 4] of 4, page 1 of 1",
		"sort=senders":                 "[2 1 3 4] of 4, page 1 of 1",
		"sort=receivers":               "[3 1 2 4] of 4, page 1 of 1",
		"sort=oldestsender":            "[2 1 3 4] of 4, page 1 of 1",
		"sort=oldestreceiver":          "[3 1 2 4] of 4, page 1 of 1",
		"sort=oldestvalue":             "[1 2 3 4] of 4, page 1 of 1",
		"sort=high":                    "[2 1 4 3] of 4, page 1 of 1",
		"sort=lanes":                   "[4 1 2 3] of 4, page 1 of 1",
		"sort=bytes":                   "[4 1 2 3] of 4, page 1 of 1",
		"filter=B":                     "[2 1 4] of 3, page 1 of 1",
		"filter=zz":                    "[] of 0, page 1 of 1",
		"kind=sharded":                 "[4] of 1, page 1 of 1",
		"sort=id&size=3":               "[1 2 3] of 4, page 1 of 2",
		"sort=id&size=3&page=2":        "[4] of 4, page 2 of 2",
		"sort=id&size=3&page=99":       "[4] of 4, page 2 of 2",
		"sort=id&size=1&page=3":        "[3] of 4, page 3 of 4",
		"channel=3":                    "[3] of 1, page 1 of 1",
		"filter=b&kind=bounded&size=1": "[1] of 1, page 1 of 1",
	} {
		if got := ids(t, l, raw); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	for name := range columns {
		if _, err := parse("sort=" + name); err != nil || !strings.Contains(pageOf(t), `value="`+name+`"`) {
			t.Errorf("sort=%s: %v, or the page does not offer it", name, err)
		}
	}
}

func pageOf(t *testing.T) string {
	t.Helper()
	text, err := files.ReadFile("page/page.html")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An unlimited capacity is null in JSON rather than a number that a script
// would round.
func TestUnlimited(t *testing.T) {
	e := sluice.NewElastic[int](sluice.Unlimited, &sluice.ElasticOptions[int]{Name: nameOf(t)})
	s := sluice.NewSharded[int](sluice.Unlimited, &sluice.ShardedOptions[int]{Name: nameOf(t)})
	r := reportOf(t, Handler(), "filter="+nameOf(t))
	if len(r.Channels) != 2 {
		t.Fatalf("%d channels", len(r.Channels))
	}
	for _, c := range r.Channels {
		if c.Cap != nil || c.Snapshot != nil {
			t.Errorf("%s: capacity %v, snapshot %v", c.Kind, c.Cap, c.Snapshot)
		}
	}
	runtime.KeepAlive(e)
	runtime.KeepAlive(s)
}

// Rates cover the time between two looks and need a recent previous look; a new
// or collected channel does not shift the rates of others.
func TestRatesFollowTheirChannel(t *testing.T) {
	now := time.Unix(5000, 0)
	o := func(i int) *sluice.ElasticOptions[int] {
		return &sluice.ElasticOptions[int]{Name: fmt.Sprint(nameOf(t), i)}
	}
	a, b := sluice.NewElastic[int](1000, o(0)), sluice.NewElastic[int](1000, o(1))
	before := new(monitor).take(now, inspect.Channels(), nil)
	// This channel existed before the first of the two looks and is gone now.
	before.seen = append([]sighting{{}}, before.seen...)
	c := sluice.NewElastic[int](1000, o(2))
	for i, to := range []*sluice.Elastic[int]{a, b, c} {
		for range 10 * (i + 1) {
			if err := to.TrySend(1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, test := range []struct {
		later time.Duration
		want  string
	}{{2 * time.Second, "true 5, true 10, false 0"}, {time.Minute, "false 0, false 0, false 0"}} {
		var got []string
		for _, s := range new(monitor).take(now.Add(test.later), inspect.Channels(), before).seen {
			if strings.HasPrefix(s.Name, nameOf(t)) {
				got = append(got, fmt.Sprint(s.rates.known, " ", s.rates.sent))
			}
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("after %v: %q, want %s", test.later, got, test.want)
		}
	}
	runtime.KeepAlive(a)
	runtime.KeepAlive(b)
	runtime.KeepAlive(c)
}

// A falling count yields no rate: a foreign kind may restart.
func TestRatesOfCountsThatFall(t *testing.T) {
	high := sluice.Stats{Sent: 9, Received: 8, Dropped: 7, SendWaits: 6, RecvWaits: 5}
	got := ratesOf(&high, &sluice.Stats{SendWaitTime: time.Second, RecvWaitTime: time.Second}, time.Second)
	if got != (rates{known: true}) {
		t.Errorf("%+v", got)
	}
}
