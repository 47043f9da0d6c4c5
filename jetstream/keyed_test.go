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

// inOrder checks that values contain those wanted, and those of each key in order.
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

// The values of each key arrive in order, from all streams; Close and the end are those of
// all streams.
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
	if n := c.Len(); n != len(want) {
		t.Errorf("Len is %d", n)
	}
	used := 0
	for _, row := range c.StreamStats() {
		if row.Len > 0 {
			used++
		}
	}
	if s := c.Stats(); used != 3 || s.Lanes != 3 || s.Len != len(want) || s.Sent != uint64(len(want)) || s.Cap != 3*defaultLimit {
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
	if s := other.Stats(); s.Lanes != 4 || s.Len != len(want) {
		t.Errorf("%d lanes, %d values, want 4 and %d", s.Lanes, s.Len, len(want))
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
