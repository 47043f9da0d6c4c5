package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/internal/suite"
)

// beforeColon is the key of the values in these tests.
func beforeColon(v string) string { key, _, _ := strings.Cut(v, ":"); return key }

// openByKey opens a channel by key, as open does.
func openByKey(t testing.TB, streams int, o Options[string]) *Channel[string] {
	t.Helper()
	suite.Needs(t, "a NATS server")
	if o.Name == "" {
		o.Name = fmt.Sprint("keyed-", opened.Add(1))
	}
	c, err := OpenKeyed(patient(t), streams, beforeColon, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// byKey returns the numbers after the keys of values, by key.
func byKey(vs []string) map[string][]string {
	all := map[string][]string{}
	for _, v := range vs {
		all[beforeColon(v)] = append(all[beforeColon(v)], v)
	}
	return all
}

// numbered returns n values of each of several keys, in turns.
func numbered(keys, n int) (vs []string) {
	for i := range n {
		for k := range keys {
			vs = append(vs, fmt.Sprintf("k%d:%03d", k, i))
		}
	}
	return vs
}

// inOrder checks that values are the wanted ones, with each key in order.
func inOrder(t testing.TB, got, want []string) {
	t.Helper()
	expected := byKey(want)
	for key, values := range byKey(got) {
		if !slices.Equal(values, expected[key]) {
			t.Errorf("key %s: %v, want %v", key, values, expected[key])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
}

// drainAll receives until the channel is closed and drained.
func drainAll(t testing.TB, c *Channel[string]) (vs []string) {
	t.Helper()
	values := c.Values(patient(t))
	for v := range values.All() {
		vs = append(vs, v)
	}
	if err := values.Err(); err != nil {
		t.Error(err)
	}
	return vs
}

// The values of each key arrive in order, from all streams; Close and the end are
// for all streams.
func TestKeyed(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 3, Options[string]{Log: mute()})
	want := numbered(10, 4)
	if n, err := c.SendBatch(patient(t), want[:30]); n != 30 || err != nil {
		t.Fatalf("SendBatch: %d, %v", n, err)
	}
	for _, v := range want[30:] {
		if err := c.Send(patient(t), v); err != nil {
			t.Fatal(err)
		}
	}
	mustHold(t, c, len(want))
	used := 0
	for _, row := range c.StreamStats() {
		if row.Len > 0 {
			used++
		}
	}
	if s := c.Stats(); used != 3 || s.Lanes.Count != 3 || s.Len != len(want) || s.Sent != uint64(len(want)) || s.Cap != 3*defaultCapacity {
		t.Errorf("%d streams are used; Stats: %+v", used, s)
	}
	c.Close()
	if err := c.Send(patient(t), "k0:late"); err != sluice.ErrClosed {
		t.Errorf("Send after Close: %v", err)
	}
	if _, err := c.SendBatch(patient(t), []string{"k0:late", "k1:late"}); err != sluice.ErrClosed {
		t.Errorf("SendBatch after Close: %v", err)
	}
	inOrder(t, drainAll(t, c), want)
	if s := c.Stats(); !s.Closed || s.Received != uint64(len(want)) || s.Len != 0 {
		t.Errorf("Stats: %+v", s)
	}
	if _, err := c.TryRecv(); err != sluice.ErrClosed {
		t.Errorf("TryRecv: %v", err)
	}
}

// Capacities are per stream: a full one rejects the values of its keys only.
func TestKeyedCapacity(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{Capacity: 2, Log: mute()})
	low, high := keyIn(0, 2), keyIn(1, 2)
	mustSend(t, c, low+":0", low+":1")
	if err := c.TrySend(low + ":2"); err != sluice.ErrFull {
		t.Errorf("TrySend: %v", err)
	}
	if err := c.TrySend(high + ":0"); err != nil {
		t.Errorf("TrySend to the other stream: %v", err)
	}
	ctx, cancel := withCancel(t)
	sent := make(chan error, 1)
	go func() { _, err := c.SendBatch(ctx, []string{high + ":1", low + ":2", high + ":x"}); sent <- err }()
	until(t, "the batch waits", func() bool { return c.Stats().SendersWaiting == 2 })
	cancel()
	batch := (*BatchError)(nil)
	switch err := <-sent; {
	case !errors.As(err, &batch) || !slices.Equal(batch.Left, []int{1, 2}):
		t.Errorf("SendBatch: %v", err)
	case !errors.Is(err, context.Canceled) && !errors.Is(err, ErrUnknown): // an attempt may have had no answer in time
		t.Errorf("SendBatch that was canceled: %v", err)
	}
	go func() { sent <- c.Send(patient(t), low+":2") }()
	until(t, "a sender waits", func() bool { return c.Stats().SendersWaiting == 1 })
	inOrder(t, recvKeyed(t, c, 5), []string{low + ":0", low + ":1", low + ":2", high + ":0", high + ":1"})
	if err := <-sent; err != nil {
		t.Errorf("Send: %v", err)
	}
}

// An error of a batch names the values that are left, if later ones are stored.
func TestBatchResult(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if n, err := (&BatchError{Left: []int{3, 4}, causes: []error{full}}).result(5); n != 3 || err != full {
		t.Errorf("a prefix is stored: %d, %v", n, err)
	}
	n, err := (&BatchError{Left: []int{1, 4, 2}, causes: []error{full, ErrUnknown}}).result(5)
	batch := (*BatchError)(nil)
	if n != 1 || !errors.As(err, &batch) || !errors.Is(err, full) || !errors.Is(err, ErrUnknown) {
		t.Fatalf("others are stored: %d, %v", n, err)
	}
	if !slices.Equal(batch.Left, []int{1, 2, 4}) {
		t.Errorf("left are %v", batch.Left)
	}
	if n, err := new(BatchError).result(5); n != 5 || err != nil {
		t.Errorf("all are stored: %d, %v", n, err)
	}
}

// The values of all streams have one channel of dead letters.
func TestKeyedDeadLetters(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{MaxDeliver: 1, NackDelay: -1, Log: mute()})
	want := []string{keyIn(0, 2) + ":0", keyIn(1, 2) + ":0"}
	mustSend(t, c, want...)
	for range want {
		d, err := c.Deliveries().Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Nack(); err != nil {
			t.Fatal(err)
		}
	}
	dead, err := c.DeadLetters(patient(t))
	if err != nil {
		t.Fatal(err)
	}
	defer leave(t, dead)
	got := []string{mustDeliver(t, dead).Value, mustDeliver(t, dead).Value}
	inOrder(t, got, want)
	if s := c.Stats(); s.Dropped != 2 || s.Len != 0 {
		t.Errorf("Stats: %+v", s)
	}
}

// Ready announces the values of each stream, and is closed by Close.
func TestKeyedReady(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{Log: mute()})
	ready := c.Ready()
	want := numbered(6, 3)
	mustSend(t, c, want[:6]...)
	mustSend(t, c, want[6:12]...)
	var got []string
	await := func(n int) {
		t.Helper()
		for ctx := patient(t); len(got) < n; {
			select {
			case <-ready:
			case <-ctx.Done():
				t.Fatalf("Ready announces no more than %v", got)
			}
			if v, err := c.TryRecv(); err == nil {
				got = append(got, v)
			}
		}
	}
	await(12)
	mustSend(t, c, want[12:]...)
	await(18)
	inOrder(t, got, want)
	c.Close()
	for range ready { // until it is closed
	}
}

// A stream that does not answer, as with Ordered while its value is in flight, does not keep
// a receiver from the values of the others.
func TestKeyedUnanswered(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{Ordered: true, Log: mute()})
	silent := &c.lanes.all[0].fetcher.trying // its holder waits for an answer
	silent.Lock()
	defer silent.Unlock()
	want := keyIn(1, 2) + ":0"
	mustSend(t, c, want)
	got := make(chan string)
	go func() {
		v, err := c.TryRecv()
		for ; err == sluice.ErrEmpty; v, err = c.TryRecv() { // on a busy machine
		}
		got <- v
	}()
	select {
	case v := <-got:
		inOrder(t, []string{v}, []string{want})
	case <-patient(t).Done():
		t.Error("TryRecv waits for a stream that does not answer")
	}
}

// The streams divide the hashes equally, similar keys have different streams, and a key has
// the same one for ever.
func TestLaneOf(t *testing.T) {
	t.Parallel()
	if got := []int{laneOf("account 1", 1024), laneOf("account 2", 1024), laneOf("", 1024)}; !slices.Equal(got, []int{729, 966, 959}) {
		t.Errorf("the streams are %v", got)
	}
	const n, keys = 16, 16000
	counts := [n]int{}
	for i := range keys {
		counts[laneOf(fmt.Sprint("account ", i), n)]++
	}
	for i, count := range counts {
		if count < keys/n*8/10 || count > keys/n*12/10 {
			t.Errorf("stream %d of %d has %d of %d keys", i, n, count, keys)
		}
	}
}

// keyIn returns a key of a stream, of n.
func keyIn(lane, n int) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("key", i); laneOf(key, n) == lane {
			return key
		}
	}
}

// recvKeyed receives n values.
func recvKeyed(t testing.TB, c *Channel[string], n int) (vs []string) {
	t.Helper()
	for range n {
		v, err := c.Recv(patient(t))
		if err != nil {
			t.Fatalf("Recv: %v, after %v", err, vs)
		}
		vs = append(vs, v)
	}
	return vs
}

// A channel has the number of streams that it was created with, and no other channel has its
// streams. Of processes that create it at the same time with different numbers, one fails
// at the first stream, so that it creates no other.
func TestKeyedNumber(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	o := Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	for name, err := range map[string]error{
		"exists with another number of streams: 3 (want 2)": second(OpenKeyed(patient(t), 2, beforeColon, openedAs(t, 3, o))),
		"exists with another number of streams: 3 (want 1)": second(Open(patient(t), &Options[string]{Name: "jobs-2", URL: o.URL, Replicas: 1})),
		"0 streams (want 1 to 1024)":                        second(OpenKeyed(patient(t), 0, beforeColon, &o)),
		"1025 streams (want 1 to 1024)":                     second(OpenKeyed(patient(t), 1025, beforeColon, &o)),
		"Name has 196 bytes (want at most 195)":             second(OpenKeyed(patient(t), 2, beforeColon, &Options[string]{Name: strings.Repeat("a", 196)})),
	} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v, want %s", err, name)
		}
	}
	o.Name = "racing"
	var group sync.WaitGroup
	var winners atomic.Int64
	for n := range 4 {
		group.Go(func() {
			c, err := OpenKeyed(patient(t), n+2, beforeColon, &o)
			if err != nil {
				return
			}
			winners.Add(int64(n + 2))
			_ = c.Shutdown(patient(t))
		})
	}
	group.Wait()
	created := int64(0)
	js, err := natsjs.New(client(t, o.URL))
	if err != nil {
		t.Fatal(err)
	}
	for name := range js.StreamNames(patient(t)).Name() {
		if strings.HasPrefix(name, "racing-") {
			created++
		}
	}
	if created != winners.Load() || created == 0 {
		t.Errorf("%d streams, want %d", created, winners.Load())
	}
}

// second returns the error.
func second(_ *Channel[string], err error) error { return err }

// openedAs creates a channel, and returns its options.
func openedAs(t testing.TB, streams int, o Options[string]) *Options[string] {
	suite.Needs(t, "a NATS server")
	openByKey(t, streams, o)
	return &o
}

// A process that dies in Close, after it has sealed one stream, has closed the channel: the
// processes that learn of that seal the others. One that opens it later does, too.
func TestKeyedCloseDies(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	o := Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	c, other := openByKey(t, 3, o), openByKey(t, 3, o)
	want := numbered(6, 2)
	mustSend(t, c, want...)
	if err := c.lanes.all[1].stream.sealOnce(patient(t)); err != nil {
		t.Fatal(err)
	}
	for lane := range 3 {
		until(t, "sends fail", func() bool { return other.Send(patient(t), keyIn(lane, 3)+":late") == sluice.ErrClosed })
	}
	later := openByKey(t, 3, o)
	if _, err := later.SendBatch(patient(t), []string{"k0:late", "k1:late"}); err != sluice.ErrClosed {
		t.Errorf("SendBatch: %v", err)
	}
	got := drainAll(t, later)
	inOrder(t, slices.DeleteFunc(got, func(v string) bool { return strings.HasSuffix(v, ":late") }), want)
	if _, err := c.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv: %v", err)
	}

	o.Name = "unheard" // no process has it open while its stream is sealed
	if err := openByKey(t, 2, o).Shutdown(patient(t)); err != nil {
		t.Fatal(err)
	}
	js, err := natsjs.New(client(t, o.URL))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(patient(t), "unheard-1")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.Sealed = true
	if _, err := js.UpdateStream(patient(t), config); err != nil {
		t.Fatal(err)
	}
	if _, err := openByKey(t, 2, o).Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv: %v", err)
	}
}
