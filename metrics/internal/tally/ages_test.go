package tally

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/hub"
	"github.com/sluice-go/sluice/internal/age"
	"github.com/sluice-go/sluice/internal/engine"
	"github.com/sluice-go/sluice/livepage"
)

// An aging is a queue whose values are their numbers, and when each of them was accepted.
type aging struct {
	sender interface {
		Send(context.Context, int) error
	}
	receiver interface {
		Recv(context.Context) (int, error)
		Stats() sluice.Stats
	}
	mu     sync.Mutex
	next   int
	queued map[int]time.Time
	left   map[int]bool // before their senders knew that they were accepted
}

func (a *aging) send(ctx context.Context) {
	a.mu.Lock()
	v := a.next
	a.next++
	a.mu.Unlock()
	if a.sender.Send(ctx, v) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.left[v] {
		a.queued[v] = time.Now()
	}
	delete(a.left, v)
}

func (a *aging) leave(v int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.queued[v]; !ok {
		a.left[v] = true
	}
	delete(a.queued, v)
}

// oldest returns the age of the oldest value, 0 if there is none.
func (a *aging) oldest() (oldest time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, at := range a.queued {
		oldest = max(oldest, time.Since(at))
	}
	return oldest
}

// The channels of TestAges.

type maker func(name string, a *aging)

func both(c interface {
	sluice.Sender[int]
	sluice.Receiver[int]
	Stats() sluice.Stats
}, a *aging) {
	a.sender, a.receiver = c, c
}

func boundedOf(slots int) maker {
	return func(name string, a *aging) {
		both(sluice.NewBounded(slots, &sluice.BoundedOptions[int]{Name: name}), a)
	}
}

func elastic(name string, a *aging) {
	both(sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name}), a)
}

// A schedule returns the pause until the next send or receive; a negative one ends them.
type schedule func(since time.Duration) time.Duration

func at(perSecond float64) schedule {
	return func(time.Duration) time.Duration { return time.Duration(float64(time.Second) / perSecond) }
}

// then is the schedule before until the given time, and after from then on.
func (s schedule) then(until time.Duration, after schedule) schedule {
	return func(since time.Duration) time.Duration {
		if since >= until {
			return after(since)
		}
		if pause := s(since); pause >= 0 {
			return min(pause, until-since)
		}
		return until - since
	}
}

func never(time.Duration) time.Duration       { return -1 }
func immediately(time.Duration) time.Duration { return 0 }

// TestAges: for the cases in which a lower bound, or the rate of another time, would look like a figure, Stats,
// the live page and the metrics have the age of the oldest value right to a fifth or as an estimate
// of Little's law, or they say that it is unknown.
func TestAges(t *testing.T) {
	const s = time.Second
	type looks []int
	from := func(first int) looks { return looks{first, math.MaxInt} }
	for _, test := range []struct {
		name       string
		make       maker
		send, recv schedule
		every      time.Duration // from one look to the next
		right      looks         // from the first to before the second of each two, a figure is right to a fifth
		unknown    looks         // the same, where there is none
	}{
		{"64 slots, full", boundedOf(64), immediately, at(888), s, from(1), nil},
		{"64 slots, full, each 15 s", boundedOf(64), immediately, at(200), 15 * s, from(1), nil},
		{"64 slots, full, each minute", boundedOf(64), immediately, at(50), 60 * s, from(1), nil},
		{"32 slots, full", boundedOf(32), immediately, at(888), s, from(1), nil},
		{"8 slots, full", boundedOf(8), immediately, at(888), s, from(1), nil},
		{"1,000 slots, full", boundedOf(1000), immediately, at(888), s, from(3), nil},
		{"slow", boundedOf(8), immediately, at(2), s, from(6), nil},
		{"DropOldest", func(name string, a *aging) {
			both(sluice.NewBounded(64, &sluice.BoundedOptions[int]{Name: name, Overflow: sluice.DropOldest,
				OnUndelivered: func(v int, _ sluice.Reason) { a.leave(v) }}), a)
		}, at(888), at(300), s, from(1), nil},
		{"a backlog that grows", elastic, at(888), at(444), s, from(2), nil},
		{"in bytes", func(name string, a *aging) {
			both(sluice.NewElastic(sluice.Unlimited, &sluice.ElasticOptions[int]{Name: name, MaxBytes: 800, Size: func(int) int { return 8 }}), a)
		}, immediately, at(888), s, from(1), nil},
		{"Sharded", func(name string, a *aging) { both(sluice.NewSharded(64, &sluice.ShardedOptions[int]{Name: name}), a) }, immediately, at(888), s, nil, nil},
		{"Priority", func(name string, a *aging) {
			both(sluice.NewPriority(3, 64, &sluice.PriorityOptions[int]{Name: name, LevelOf: func(v int) int { return v % 2 }}), a)
		}, immediately, at(888), s, nil, nil},
		{"Aged", func(name string, a *aging) {
			both(sluice.NewAged(sluice.Unlimited, &sluice.AgedOptions[int]{Name: name, StaleAfter: s}), a)
		}, at(9), at(3), s, from(1), nil},
		{"a slow subscription", func(name string, a *aging) {
			h := hub.New[int](64, nil)
			sub, err := h.Subscribe(&hub.SubscriptionOptions[int]{Name: name})
			if err != nil {
				panic(err)
			}
			a.sender, a.receiver = h, sub
		}, immediately, at(888), s, from(2), nil},
		{"nothing", boundedOf(8), never, immediately, s, nil, nil},
		{"values that stay", boundedOf(8), immediately, never, s, from(4), nil},
		{"a value in an idle queue", boundedOf(8), schedule(never).then(5700*time.Millisecond, never), never, s, from(8), looks{6, 7}},
		{"a burst into an empty queue", elastic, at(100).then(5*s, never).then(296*s, at(50)), schedule(immediately).then(294*s, at(10)), 60 * s, nil, looks{5, 6}},
		{"receivers that stall", boundedOf(64), immediately, at(888).then(10500*time.Millisecond, never), s, looks{1, 11, 14, math.MaxInt}, nil},
		{"receivers that slow down", boundedOf(32), immediately, at(888).then(10*s, at(88)), s, looks{1, 11, 12, math.MaxInt}, nil},
		{"receivers that speed up", boundedOf(32), immediately, at(88).then(10*s, at(888)), s, looks{2, 11, 12, math.MaxInt}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testAge(t, test.make, test.send, test.recv, test.every, test.right, test.unknown) })
		})
	}
}

func testAge(t *testing.T, make maker, send, recv schedule, every time.Duration, right, unknown []int) {
	a := &aging{queued: map[int]time.Time{}, left: map[int]bool{}}
	make(t.Name(), a)
	ctx, cancel := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	defer ends.Wait()
	defer cancel()
	begun := time.Now()
	run := func(s schedule, do func()) {
		for ctx.Err() == nil {
			pause := s(time.Since(begun))
			if pause < 0 {
				return
			}
			time.Sleep(pause)
			do()
		}
	}
	ends.Go(func() { run(send, func() { a.send(ctx) }) })
	ends.Go(func() {
		run(recv, func() {
			if v, err := a.receiver.Recv(ctx); err == nil {
				a.leave(v)
			}
		})
	})
	within := func(look int, ranges []int) bool {
		for i := 0; i < len(ranges); i += 2 {
			if look >= ranges[i] && look < ranges[i+1] {
				return true
			}
		}
		return false
	}
	metrics, page := New("", 0), livepage.Handler()
	for look := 1; look <= 20 && (look <= 6 || every <= time.Second); look++ {
		time.Sleep(every)
		synctest.Wait()
		want := a.oldest()
		for surface, got := range map[string]age.Age{"Stats": statsAge(a), "the live page": pageAge(t, page), "the metrics": metricsAge(t, metrics)} {
			sign, figure := got.Shown()
			shown := sign + figure.String()
			switch off := math.Abs(float64(got.Estimate-want)) / float64(want); {
			case want < got.AtLeast || want > got.AtMost:
				t.Errorf("look %d: %s shows %s, between %v and %v, the age is %v", look, surface, shown, got.AtLeast, got.AtMost, want)
			case got.Estimate != 0 && (got.Estimate < got.AtLeast || got.Estimate > got.AtMost):
				t.Errorf("look %d: %s shows %s, not between %v and %v", look, surface, shown, got.AtLeast, got.AtMost)
			case want > 0 && (within(look, right) || got.Estimate > 0 && sign == "") && off > 0.2:
				t.Errorf("look %d: %s shows %s, the age is %v", look, surface, shown, want)
			case within(look, unknown) && !got.Unknown():
				t.Errorf("look %d: %s shows %s, nothing tells that the age is %v", look, surface, shown, want)
			}
		}
	}
}

func statsAge(a *aging) age.Age {
	s := a.receiver.Stats()
	return age.Age{}.Older((*engine.Stats)(&s).Oldest())
}

func pageAge(t *testing.T, page http.Handler) (got age.Age) {
	w := httptest.NewRecorder()
	page.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/?format=json&flow=1&size=200&filter="+url.QueryEscape(t.Name()), nil))
	var report livepage.Report
	if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil || len(report.Channels) == 0 {
		t.Fatalf("%v in %s", err, w.Body)
	}
	last := report.Channels[len(report.Channels)-1]
	shown := last.Age
	for _, c := range report.Flow.Channels {
		if c.ID == last.ID && !reflect.DeepEqual(c.Age, shown) {
			t.Errorf("the map shows %v, the list %v", c.Age, shown)
		}
	}
	figure := func(seconds float64) time.Duration { return time.Duration(math.Round(seconds * 1e9)) }
	got = age.Age{AtMost: age.Unbounded}
	switch {
	case shown.OldestValue != nil:
		got.Estimate = figure(*shown.OldestValue)
		if shown.OldestSign == "" {
			got.AtLeast, got.AtMost = got.Estimate*5/6, got.Estimate*6/5
		}
	case shown.OldestSign == "<":
		got.AtMost = figure(shown.OldestBound)
	case shown.OldestSign == "≥":
		got.AtLeast = figure(shown.OldestBound)
	case shown.OldestSign != "unknown":
		t.Errorf("no figure, and the sign %q", shown.OldestSign)
	}
	return got
}

func metricsAge(t *testing.T, metrics *Tally) (got age.Age) {
	at := slices.IndexFunc(Instruments, func(in Instrument) bool { return in.Name == "sluice.channel.oldest_value" })
	for _, s := range metrics.Collect().Series {
		if s.Name != t.Name() {
			continue
		}
		in := &Instruments[at]
		if got = s.Oldest; in.Missing(&s) != got.Unknown() || in.Parts[0].Of(&s) != int64(got.Estimate) {
			t.Errorf("the metric is %d, missing: %v; want %v", in.Parts[0].Of(&s), in.Missing(&s), got)
		}
	}
	return got
}
