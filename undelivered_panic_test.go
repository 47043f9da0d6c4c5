package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// These tests are about OnUndelivered when it panics or calls runtime.Goexit: each value is received or
// given to it exactly once, whatever an earlier call did, and then the first panic goes on.

// A failure is how a call of a hook ends. The value of a panic is the failure itself.
type failure struct {
	exits bool // by runtime.Goexit, rather than by a panic
	call  int
}

func (f *failure) happen() {
	if f.exits {
		runtime.Goexit()
	}
	panic(f)
}

// An ending is how a call of the channel ended.
type ending struct {
	panicked any
	exited   bool
}

// ended calls f in a goroutine of its own.
func ended(f func()) (e ending) {
	done := make(chan ending)
	go func() {
		returned := false
		defer func() {
			p := recover()
			done <- ending{p, p == nil && !returned}
		}()
		f()
		returned = true
	}()
	return <-done
}

// A ledger knows what became of each value.
type ledger struct {
	t     *testing.T
	drops bool // the policy drops values, so that a call that panics has sent its values
	fails func(call int) (fails, exits bool)

	mu       sync.Mutex
	calls    int
	next     int
	sent     map[int]bool // false: the call panicked, so the value may be sent or not
	received map[int]int
	gone     map[sluice.Reason]map[int]int
	first    *failure // of the calls since it was set to nil: the first panic, or else a Goexit
	last     ending   // of a call of the channel
	closed   bool     // the channel is, or is about to be
	newest   bool     // the policy is DropNewest: Sent does not count what it drops
}

func newLedger(t *testing.T, drops bool, fails func(int) (bool, bool)) *ledger {
	return &ledger{t: t, drops: drops, fails: fails, sent: map[int]bool{}, received: map[int]int{},
		gone: map[sluice.Reason]map[int]int{0: {}, 1: {}, 2: {}}}
}

func (l *ledger) hook(v int, why sluice.Reason) {
	l.mu.Lock()
	l.calls++
	l.gone[why][v]++
	fails, exits := l.fails(l.calls)
	f := &failure{exits, l.calls}
	if fails && (l.first == nil || l.first.exits && !exits) {
		l.first = f
	}
	l.mu.Unlock()
	if fails {
		f.happen()
	}
}

// values returns n new values.
func (l *ledger) values(n int) []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	vs := make([]int, n)
	for i := range vs {
		vs[i] = l.next
		l.next++
	}
	return vs
}

// send sends n new values by the given way, and notes which of them are sent.
func (l *ledger) send(n int, way func(vs []int) (int, error)) {
	vs := l.values(n)
	sent := 0
	e := l.call(func() { sent, _ = way(vs) })
	l.mu.Lock()
	defer l.mu.Unlock()
	if e != (ending{}) {
		for _, v := range vs {
			l.sent[v] = l.drops && !l.closed
		}
		return
	}
	for _, v := range vs[:sent] {
		l.sent[v] = true
	}
}

// receive receives by the given way.
func (l *ledger) receive(way func() []int) {
	l.call(func() {
		vs := way()
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, v := range vs {
			l.received[v]++
		}
	})
}

// close makes a call that closes the channel.
func (l *ledger) close(f func()) {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.call(f)
}

// explain adds to the failures of a test which case has failed.
func (l *ledger) explain(format string, args ...any) {
	if l.t.Failed() {
		l.t.Errorf(format, args...)
	}
}

// call makes a call of the channel. If it panics, it is with a panic of the hook.
func (l *ledger) call(f func()) ending {
	e := ended(f)
	l.mu.Lock()
	l.last = e
	l.mu.Unlock()
	if e.panicked != nil {
		if f, ok := e.panicked.(*failure); !ok || f.exits {
			l.t.Errorf("a call panicked with %v", e.panicked)
		}
	}
	return e
}

// alone is for a call while no other goroutine uses the channel: it ends with the first panic of the
// hook, or else with a Goexit.
func (l *ledger) alone(what string, call func()) {
	l.t.Helper()
	l.first = nil
	l.last = ending{}
	call()
	want := ending{}
	switch {
	case l.first == nil:
	case l.first.exits:
		want.exited = true
	default:
		want.panicked = l.first
	}
	if l.last != want {
		l.t.Errorf("%s ended with %+v, want %+v", what, l.last, want)
	}
}

// check compares the ledger with the account of the channel, after it was discarded.
func (l *ledger) check(s sluice.Stats) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	total, all := 0, map[int]int{}
	for v, n := range l.received {
		all[v] += n
	}
	for _, values := range l.gone {
		for v, n := range values {
			all[v] += n
		}
	}
	for v := range l.next {
		sure, maybe := l.sent[v]
		want := "0"
		switch {
		case sure:
			want = "1"
		case maybe:
			want = "0 1"
		}
		if !strings.Contains(want, fmt.Sprint(all[v])) {
			l.t.Errorf("value %d was received or given to the hook %d times, want %s", v, all[v], want)
		}
		total += all[v]
	}
	received := len(l.received) + len(l.gone[sluice.Discarded])
	dropped := len(l.gone[sluice.Overflowed]) + len(l.gone[sluice.TooOld])
	if s.Len != 0 || s.Received != uint64(received) || s.Dropped != uint64(dropped) || s.TooOld != uint64(len(l.gone[sluice.TooOld])) {
		l.t.Errorf("%d received or discarded, %d dropped, of these %d too old; Stats has %+v", received, dropped, len(l.gone[sluice.TooOld]), s)
	}
	accepted := s.Sent
	if l.newest {
		accepted += uint64(len(l.gone[sluice.Overflowed]))
	}
	if total != received+dropped || uint64(total) != accepted {
		l.t.Errorf("%d values in all, %d received or discarded, %d dropped; Stats has %+v", total, received, dropped, s)
	}
}

// A hookedKind is a channel with a hook, and the ways to send to it.
type hookedKind struct {
	drops  bool // its policy drops values
	newest bool // it is DropNewest
	make   func(hook func(int, sluice.Reason)) discarder
	more   func(c discarder) map[string]func(context.Context, []int) (int, error) // further ways to send
}

// single is a way to send by a function that sends a single value.
func single(send func(context.Context, int) error) func(context.Context, []int) (int, error) {
	return func(ctx context.Context, vs []int) (int, error) {
		if err := send(ctx, vs[0]); err != nil {
			return 0, err
		}
		return 1, nil
	}
}

func hookedKinds() map[string]hookedKind {
	kinds := map[string]hookedKind{}
	for _, policy := range []sluice.Overflow{sluice.DropNewest, sluice.DropOldest} {
		add := func(name string, make func(hook func(int, sluice.Reason)) discarder) {
			kinds[fmt.Sprint(name, " ", policy)] = hookedKind{drops: true, newest: policy == sluice.DropNewest, make: make}
		}
		for _, capacity := range []int{1, 3, 100} {
			add(fmt.Sprint("Bounded ", capacity), func(hook func(int, sluice.Reason)) discarder {
				return sluice.NewBounded(capacity, &sluice.BoundedOptions[int]{Overflow: policy, OnUndelivered: hook})
			})
		}
		add("Elastic", func(hook func(int, sluice.Reason)) discarder {
			return sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: policy, OnUndelivered: hook})
		})
		add("one to one", func(hook func(int, sluice.Reason)) discarder {
			return sluice.NewElastic(4, &sluice.ElasticOptions[int]{Overflow: policy, OnUndelivered: hook, SingleSender: true, SingleReceiver: true})
		})
		add("in bytes", func(hook func(int, sluice.Reason)) discarder {
			return sluice.NewElastic(100, &sluice.ElasticOptions[int]{Overflow: policy, OnUndelivered: hook,
				MaxBytes: 6, Size: func(v int) int { return 1 + v%2*v%6 }})
		})
		add("aged", func(hook func(int, sluice.Reason)) discarder {
			return sluice.NewAged(4, &sluice.AgedOptions[int]{Overflow: policy, OnUndelivered: hook, MaxAge: time.Second})
		})
		kinds[fmt.Sprint("Sharded ", policy)] = hookedKind{
			drops: true, newest: policy == sluice.DropNewest,
			make: func(hook func(int, sluice.Reason)) discarder {
				return sluice.NewSharded(3, &sluice.ShardedOptions[int]{Overflow: policy, OnUndelivered: hook, Lanes: 2})
			},
			more: func(c discarder) map[string]func(context.Context, []int) (int, error) {
				s := c.(*sluice.Sharded[int])
				lane := s.Lane()
				return map[string]func(context.Context, []int) (int, error){
					"SendKey": single(func(ctx context.Context, v int) error { return s.SendKey(ctx, 7, v) }), "Lane.SendBatch": lane.SendBatch,
					"Lane.Send": single(lane.Send), "Lane.TrySend": single(func(_ context.Context, v int) error { return lane.TrySend(v) }),
				}
			},
		}
	}
	for _, policy := range []sluice.Overflow{sluice.DropNewest, sluice.DropLeastUrgent} {
		kinds[fmt.Sprint("Priority ", policy)] = hookedKind{
			drops: true, newest: policy == sluice.DropNewest,
			make: func(hook func(int, sluice.Reason)) discarder {
				return sluice.NewPriority(3, 4, &sluice.PriorityOptions[int]{Overflow: policy, OnUndelivered: hook, LevelOf: func(v int) int { return 2 - v%7/3 }})
			},
			more: func(c discarder) map[string]func(context.Context, []int) (int, error) {
				level := c.(*sluice.Priority[int]).Level(1)
				return map[string]func(context.Context, []int) (int, error){
					"Level.Send": single(level.Send), "Level.SendBatch": level.SendBatch,
					"Level.TrySend": single(func(_ context.Context, v int) error { return level.TrySend(v) }),
				}
			},
		}
	}
	for name, o := range map[string]*sluice.DelayOptions[int]{
		"Delay": {}, "Delay DueAt": {DueAt: func(v int) time.Time { return time.Now().Add(time.Duration(v%3) * time.Second) }},
	} {
		kinds[name] = hookedKind{
			drops: true, newest: true,
			make: func(hook func(int, sluice.Reason)) discarder {
				with := *o
				with.Overflow, with.OnUndelivered = sluice.DropNewest, hook
				return sluice.NewDelay(4, &with)
			},
			more: func(c discarder) map[string]func(context.Context, []int) (int, error) {
				d := c.(*sluice.Delay[int])
				return map[string]func(context.Context, []int) (int, error){
					"SendAfter": single(func(ctx context.Context, v int) error {
						_, err := d.SendAfter(ctx, time.Second, v)
						return err
					}),
				}
			},
		}
	}
	kinds["Rendezvous"] = hookedKind{drops: true, newest: true, make: func(hook func(int, sluice.Reason)) discarder {
		return sluice.NewRendezvous(&sluice.RendezvousOptions[int]{Overflow: sluice.DropNewest, OnUndelivered: hook})
	}}
	for _, policy := range []sluice.Overflow{sluice.Block, sluice.Reject} {
		kinds[fmt.Sprint("aged ", policy)] = hookedKind{make: func(hook func(int, sluice.Reason)) discarder {
			return sluice.NewAged(4, &sluice.AgedOptions[int]{Overflow: policy, OnUndelivered: hook, MaxAge: time.Second, StaleAfter: time.Second / 2})
		}}
	}
	return kinds
}

// ways returns the ways to send to c.
func (k hookedKind) ways(c discarder) map[string]func(context.Context, []int) (int, error) {
	ways := map[string]func(context.Context, []int) (int, error){
		"Send": single(c.Send), "TrySend": single(func(_ context.Context, v int) error { return c.TrySend(v) }),
		"SendBatch": c.(sluice.BatchSender[int]).SendBatch,
		"Select": single(func(ctx context.Context, v int) error {
			_, err := sluice.Select(ctx, sluice.OnSend[int](c, v), sluice.OnRecv(sluice.NewBounded[int](1, nil)))
			return err
		}),
	}
	if k.more != nil {
		for name, way := range k.more(c) {
			ways[name] = way
		}
	}
	return ways
}

// sendBy sends n values, or one if the way sends single values.
func sendBy(l *ledger, name string, way func(context.Context, []int) (int, error), n int) {
	if !strings.HasSuffix(name, "SendBatch") {
		n = 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second/2)
	defer cancel()
	l.send(n, func(vs []int) (int, error) { return way(ctx, vs) })
}

func tryRecv(c discarder) func() []int {
	return func() []int {
		v, err := c.TryRecv()
		if err != nil {
			return nil
		}
		return []int{v}
	}
}

func recvBatch(c discarder, n int) func() []int {
	return func() []int {
		buf := make([]int, n)
		n, _ := c.(interface{ TryRecvBatch([]int) (int, error) }).TryRecvBatch(buf)
		return buf[:n]
	}
}

// play fills the channel beyond its capacity, lets values grow too old, and receives.
func (k hookedKind) play(l *ledger, c discarder, name string, way func(context.Context, []int) (int, error)) {
	send := func(n int) { l.alone(name, func() { sendBy(l, name, way, n) }) }
	for range 7 {
		send(3)
	}
	send(9)
	time.Sleep(2 * time.Second)
	send(1)
	send(4)
	l.alone("TryRecv", func() { l.receive(tryRecv(c)) })
	time.Sleep(2 * time.Second)
	l.alone("TryRecv", func() { l.receive(tryRecv(c)) })
	l.alone("TryRecvBatch", func() { l.receive(recvBatch(c, 3)) })
	for range 3 {
		send(3)
	}
	l.alone("Discard", func() { l.close(func() { c.Discard() }) })
	if n := c.Discard(); n != 0 {
		l.t.Errorf("a second Discard removed %d values", n)
	}
	l.check(c.Stats())
}

// TestUndeliveredFails: for each kind, each way to send, and each call of the hook, that call panics,
// or ends its goroutine, alone or with all later ones.
func TestUndeliveredFails(t *testing.T) {
	patterns := map[string]func(k, call int) (fails, exits bool){
		"one panics":       func(k, call int) (bool, bool) { return call == k, false },
		"one exits":        func(k, call int) (bool, bool) { return call == k, true },
		"all panic":        func(k, call int) (bool, bool) { return call >= k, false },
		"all exit":         func(k, call int) (bool, bool) { return call >= k, true },
		"panics and exits": func(k, call int) (bool, bool) { return call >= k, (call-k)%2 == 1 },
		"exits and panics": func(k, call int) (bool, bool) { return call >= k, (call-k)%2 == 0 },
	}
	for kindName, kind := range hookedKinds() {
		for way := range kind.ways(kind.make(func(int, sluice.Reason) {})) {
			t.Run(kindName+"/"+way, func(t *testing.T) {
				for pattern, fails := range patterns {
					for k, calls := 1, 1; k <= calls; k++ {
						synctest.Test(t, func(t *testing.T) {
							l := newLedger(t, kind.drops, func(call int) (bool, bool) { return fails(k, call) })
							l.newest = kind.newest
							defer l.explain("%s, from call %d on", pattern, k)
							c := kind.make(l.hook)
							kind.play(l, c, way, kind.ways(c)[way])
							calls = l.calls
						})
					}
				}
			})
		}
	}
}

// TestUndeliveredRandomFailures: several goroutines send by each way, receive, select, and close, while
// hooks fail at random.
func TestUndeliveredRandomFailures(t *testing.T) {
	programs := suite.Rounds(12, 60)
	for name, kind := range hookedKinds() {
		if name == "one to one DropNewest" || name == "one to one DropOldest" {
			continue // it has one sender and one receiver
		}
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(programs) {
				synctest.Test(t, func(t *testing.T) {
					random := rand.New(rand.NewPCG(seed, 1)) // guarded by the lock of the ledger
					l := newLedger(t, kind.drops, func(int) (bool, bool) { return random.IntN(3) == 0, random.IntN(3) == 0 })
					l.newest = kind.newest
					defer l.explain("seed %d", seed)
					kind.program(l, seed)
				})
			}
		})
	}
}

// program runs a random program.
func (k hookedKind) program(l *ledger, seed uint64) {
	c := k.make(l.hook)
	ways := k.ways(c)
	var names []string
	for name := range ways {
		names = append(names, name)
	}
	slices.Sort(names)
	var group sync.WaitGroup
	for g := range uint64(3) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, 2+g))
			for range 40 {
				switch random.IntN(12) {
				case 0, 1, 2, 3, 4:
					name := names[random.IntN(len(names))]
					if strings.HasPrefix(name, "Lane") && g > 0 {
						continue // a Lane is for one goroutine
					}
					sendBy(l, name, ways[name], 1+random.IntN(9))
				case 5, 6:
					l.receive(tryRecv(c))
				case 7:
					l.receive(recvBatch(c, 1+random.IntN(4)))
				case 8:
					l.receive(func() []int {
						ctx, cancel := context.WithTimeout(context.Background(), time.Duration(random.IntN(3))*time.Second)
						defer cancel()
						in := sluice.OnRecv[int](c)
						if chosen, err := sluice.Select(ctx, in, sluice.OnRecv(sluice.NewBounded[int](0, nil))); chosen != in || err != nil {
							return nil
						}
						return []int{in.Value}
					})
				case 9:
					time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
				case 10:
					if random.IntN(20) == 0 {
						l.close(c.Close)
					}
				case 11:
					if random.IntN(40) == 0 {
						l.close(func() { c.Discard() })
					}
				}
			}
		})
	}
	group.Wait()
	l.close(func() { c.Discard() })
	if s := c.Stats(); s.SendersWaiting != 0 || s.ReceiversWaiting != 0 {
		l.t.Errorf("a goroutine waits: %+v", s)
	}
	l.check(c.Stats())
}

// TestUndeliveredTrace: a panic that waited for other calls of the hook has the trace of its call.
func TestUndeliveredTrace(t *testing.T) {
	c := sluice.NewBounded(1, &sluice.BoundedOptions[int]{Overflow: sluice.DropNewest, OnUndelivered: panicsFromHere})
	defer func() {
		p, _ := recover().(error)
		trace := make([]byte, 1<<16)
		trace = trace[:runtime.Stack(trace, false)]
		var index runtime.Error
		if !errors.As(p, &index) || !strings.Contains(string(trace), "panicsFromHere") {
			t.Errorf("recovered %v, with the trace\n%s", p, trace)
		}
	}()
	_, _ = c.SendBatch(t.Context(), []int{1, 2, 3, 4})
}

func panicsFromHere(v int, _ sluice.Reason) { _ = []int{1, 2}[v] }
