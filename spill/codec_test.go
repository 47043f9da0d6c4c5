package spill

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sluice-go/sluice/codec"
)

// fragile is a codec that fails on some values.
type fragile struct{ codec.Codec[[]byte] }

func (f fragile) Append(b []byte, v []byte) ([]byte, error) {
	switch string(v) {
	case "panic":
		panic("no form")
	case "error":
		return b[:0], errors.New("no form")
	case "nothing":
		return nil, nil
	}
	return f.Codec.Append(b, v)
}

func (f fragile) Decode(b []byte) ([]byte, error) {
	switch string(b) {
	case "late panic":
		panic("no value")
	case "late error":
		return nil, errors.New("no value")
	}
	return f.Codec.Decode(b)
}

// raw is the default codec of bytes.
func raw() codec.Codec[[]byte] {
	c, err := codec.Default[[]byte]()
	if err != nil {
		panic(err)
	}
	return c
}

// TestFragileCodec: a failing codec affects the value that it was called for, or
// ends the channel with an error that names the codec; the channel never hangs.
func TestFragileCodec(t *testing.T) {
	o := &ElasticOptions[[]byte]{MemoryLimit: 80, Codec: fragile{raw()}}
	c := on(t, new(faulty), o)
	for _, v := range []string{"in memory", "is full now", "spilled"} {
		if err := c.TrySend([]byte(v)); err != nil {
			t.Fatal(err)
		}
	}
	func() {
		defer func() {
			if p := recover(); p != "no form" {
				t.Errorf("recovered %v", p)
			}
		}()
		_ = c.TrySend([]byte("panic"))
	}()
	for v, says := range map[string]string{"error": `codec "raw": Append: no form`, "nothing": "fewer than the"} {
		if err := c.TrySend([]byte(v)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", v, err)
		}
	}
	if n, err := c.SendBatch(context.Background(), [][]byte{[]byte("a"), []byte("error"), []byte("b")}); n != 1 || err == nil {
		t.Errorf("a batch whose second value cannot be encoded: %d, %v", n, err)
	}
	for _, want := range []string{"in memory", "is full now", "spilled", "a"} {
		if v, err := c.TryRecv(); string(v) != want || err != nil {
			t.Errorf("received %q, %v, want %q", v, err, want)
		}
	}
	for _, v := range []string{"late panic", "late error"} {
		c := on(t, new(faulty), o)
		for _, v := range []string{"in memory", "is full now", v, "after"} {
			if err := c.TrySend([]byte(v)); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := c.TryRecv(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.TryRecv(); err == nil || !strings.Contains(err.Error(), `codec "raw": Decode`) || !strings.Contains(err.Error(), "no value") {
			t.Errorf("%s: %v", v, err)
		}
	}
}

// TestFragileSize: a Size that panics for a record from disk ends the channel.
func TestFragileSize(t *testing.T) {
	for left := range 2 { // it is asked by the channel, and by the memory
		calls := math.MaxInt
		c := on(t, new(faulty), &ElasticOptions[[]byte]{MemoryLimit: 1, Size: func([]byte) int {
			if calls--; calls < 0 {
				panic("no size")
			}
			return 1
		}})
		if err := errors.Join(c.TrySend([]byte("in memory")), c.TrySend([]byte("spilled"))); err != nil {
			t.Fatal(err)
		}
		calls = left
		if _, err := c.TryRecv(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.TryRecv(); err == nil || !strings.Contains(err.Error(), "Size panicked: no size") {
			t.Errorf("received with %v", err)
		}
	}
}
