package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-go/sluice"
)

// beforeColon is the key of the values in these tests.
func beforeColon(v string) string { key, _, _ := strings.Cut(v, ":"); return key }

// openByKey opens a channel by key, as open does.
func openByKey(t testing.TB, streams int, o Options[string]) *Keyed[string] {
	t.Helper()
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
func drainAll(t testing.TB, c *Keyed[string]) (vs []string) {
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
	if s := c.Stats(); used != 3 || s.Lanes.Count != 3 || s.Len != len(want) || s.Sent != uint64(len(want)) || s.Cap != 3*defaultLimit {
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

// Resize moves keys to other streams. The values that are stored before it arrive first,
// in this process and in another one that learns of it later, and the old streams go.
func TestResize(t *testing.T) {
	t.Parallel()
	s := listening(t, nil)
	o := Options[string]{Name: "jobs", URL: s.ClientURL(), Replicas: 1, Log: mute()}
	c, other := openByKey(t, 2, o), openByKey(t, 7, o)
	var want []string
	send := func(c *Keyed[string], from, to int) {
		t.Helper()
		part := numbered(10, to)[10*from:]
		want = append(want, part...)
		if n, err := c.SendBatch(patient(t), part); n != len(part) || err != nil {
			t.Fatalf("SendBatch: %d, %v", n, err)
		}
	}
	send(c, 0, 2)
	send(other, 2, 4)
	for i, n := range []int{5, 3, 4} {
		if err := c.Resize(patient(t), n); err != nil {
			t.Fatal(err)
		}
		send(other, 4+4*i, 6+4*i)
		send(c, 6+4*i, 8+4*i)
	}
	if s := other.Stats(); s.Lanes.Count != 4 || s.Len != len(want) {
		t.Errorf("%d lanes, %d values, want 4 and %d", s.Lanes.Count, s.Len, len(want))
	}
	if rows := other.StreamStats(); len(rows) != 2+5+3+4 {
		t.Errorf("%d streams", len(rows))
	}
	var got []string
	for range want {
		v, err := other.Recv(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, v)
	}
	inOrder(t, got, want)
	gone := make(chan error, 1)
	ctx, cancel := withCancel(t)
	go func() { _, err := c.Recv(ctx); gone <- err }()
	until(t, "the old streams are deleted", func() bool { return len(c.StreamStats()) == 4 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	c.Close()
	if _, err := other.Recv(patient(t)); err != sluice.ErrClosed {
		t.Errorf("Recv after Close: %v", err)
	}
	names := 0
	for range c.core.conn.js.StreamNames(t.Context()).Name() {
		names++
	}
	if names != 5 {
		t.Errorf("%d streams are left, want 4 and the record", names)
	}
}

// Limits are per stream: a full one rejects the values of its keys only, and a sender that
// waits for room gets it in the stream that Resize moves its key to.
func TestKeyedLimit(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{Limit: 2, Log: mute()})
	low, high := keyIn(0, 2), keyIn(1, 2)
	mustSendKeyed(t, c, low+":0", low+":1")
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
	if err := <-sent; !errors.As(err, &batch) || !slices.Equal(batch.Left, []int{1, 2}) || !errors.Is(err, context.Canceled) {
		t.Errorf("SendBatch: %v", err)
	}
	go func() { sent <- c.Send(patient(t), low+":2") }()
	until(t, "a sender waits", func() bool { return c.Stats().SendersWaiting == 1 })
	if err := c.Resize(patient(t), 4); err != nil {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Errorf("Send: %v", err)
	}
	inOrder(t, recvKeyed(t, c, 5), []string{low + ":0", low + ":1", low + ":2", high + ":0", high + ":1"})
}

// An error of a batch names the values that are left, if later ones are stored.
func TestBatchResult(t *testing.T) {
	t.Parallel()
	full := errors.New("full")
	if n, err := batchResult(5, []share{{indices: []int{3, 4}, err: full}}); n != 3 || err != full {
		t.Errorf("a prefix is stored: %d, %v", n, err)
	}
	n, err := batchResult(5, []share{{indices: []int{1, 4}, err: full}, {indices: []int{2}, err: ErrUnknown}})
	batch := (*BatchError)(nil)
	if n != 1 || !errors.As(err, &batch) || !errors.Is(err, full) || !errors.Is(err, ErrUnknown) {
		t.Fatalf("others are stored: %d, %v", n, err)
	}
	batch.shift(10, 15, 17)
	if !slices.Equal(batch.Left, []int{11, 12, 14, 15, 16}) {
		t.Errorf("left are %v", batch.Left)
	}
	if n, err := batchResult(5, nil); n != 5 || err != nil {
		t.Errorf("all are stored: %d, %v", n, err)
	}
}

// The values of all streams have one channel of dead letters.
func TestKeyedDeadLetters(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{MaxDeliver: 1, NackDelay: -1, Log: mute()})
	want := []string{keyIn(0, 2) + ":0", keyIn(1, 2) + ":0"}
	mustSendKeyed(t, c, want...)
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

// Ready announces the values of each stream, while Resize moves keys, and is closed
// by Close.
func TestKeyedReady(t *testing.T) {
	t.Parallel()
	c := openByKey(t, 2, Options[string]{Log: mute()})
	ready := c.Ready()
	want := numbered(6, 3)
	mustSendKeyed(t, c, want[:6]...)
	if err := c.Resize(patient(t), 3); err != nil {
		t.Fatal(err)
	}
	mustSendKeyed(t, c, want[6:12]...)
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
	mustSendKeyed(t, c, want[12:]...)
	await(18)
	inOrder(t, got, want)
	c.Close()
	for range ready { // until it is closed
	}
}

// Lanes divide the hashes in equal ranges, similar keys have different lanes, and the hash
// is the same for ever.
func TestLanes(t *testing.T) {
	t.Parallel()
	if h := hashKey("account 1"); h != 0xb672b15c4eb40889 {
		t.Errorf("the hash is %#x", h)
	}
	const n, keys = 16, 16000
	counts := [n]int{}
	for i := range keys {
		counts[laneOf(hashKey(fmt.Sprint("account ", i)), n)]++
	}
	for i, count := range counts {
		if count < keys/n*8/10 || count > keys/n*12/10 {
			t.Errorf("lane %d of %d has %d of %d keys", i, n, count, keys)
		}
	}
	for _, of := range [][2]int{{2, 4}, {3, 5}, {5, 3}, {1, 7}, {6, 6}} {
		pairs := map[[2]int]bool{}
		for i := range keys {
			h := hashKey(fmt.Sprint(i))
			pairs[[2]int{laneOf(h, of[0]), laneOf(h, of[1])}] = true
		}
		for i := range of[0] {
			for j := range of[1] {
				a, b := &lane{index: i, of: of[0]}, &lane{index: j, of: of[1]}
				if a.overlaps(b) != pairs[[2]int{i, j}] || b.overlaps(a) != a.overlaps(b) {
					t.Errorf("lane %d of %d and %d of %d: overlap is %v", i, of[0], j, of[1], a.overlaps(b))
				}
			}
		}
	}
}
