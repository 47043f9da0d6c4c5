package spill

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-go/sluice/codec"
	"github.com/sluice-go/sluice/inspect"
)

// optionsError is the error of OpenElastic for these options. For the types of values that one test
// has to itself: the compiler needs two seconds for the channel of one more type.
func optionsError[T any](o *ElasticOptions[T]) error {
	p, err := o.config()
	if err != nil {
		return err
	}
	return p.setSize()
}

// TestOptions: invalid options are an error that names the option.
func TestOptions(t *testing.T) {
	for says, err := range map[string]error{
		"MemoryLimit is -1":               second(OpenElastic[uint64](t.TempDir(), &ElasticOptions[uint64]{MemoryLimit: -1})),
		"DiskLimit is -1":                 second(OpenElastic[uint64](t.TempDir(), &ElasticOptions[uint64]{DiskLimit: -1})),
		"want at least 8":                 second(OpenElastic[uint64](t.TempDir(), &ElasticOptions[uint64]{MemoryLimit: 7})),
		"ElasticOptions.Size is required": optionsError[*int](nil),
		"Fresh is -1ns":                   second(OpenDurable(t.TempDir(), &DurableOptions[uint64]{Fresh: -1})),
		"want less than MaxAge, 1s":       second(OpenDurable(t.TempDir(), &DurableOptions[uint64]{Fresh: time.Second, MaxAge: time.Second})),
		"contains pointers":               optionsError[[2]struct{ s []int }](nil),
		"codec name":                      second(OpenElastic(t.TempDir(), &ElasticOptions[uint64]{Codec: nameless{}})),
		"lose field Host": optionsError[struct {
			time.Time
			Host string
		}](nil),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestEmptyTakesRoom: a value without a size counts as a byte, so that a limit in bytes limits empty structs.
func TestEmptyTakesRoom(t *testing.T) {
	p, err := (&ElasticOptions[struct{}]{MemoryLimit: 500}).config()
	if err == nil {
		err = p.setSize()
	}
	if err != nil || p.slots != int(p.limit) {
		t.Errorf("%d empty structs in %d bytes, %v", p.slots, p.limit, err)
	}
}

// TestNegativeSize: the panic names the method that was called, below the limit and
// beyond.
func TestNegativeSize(t *testing.T) {
	const minus = math.MaxUint64 // -1, as an int
	for _, beyond := range []bool{false, true} {
		c := on(t, new(faulty), &ElasticOptions[uint64]{MemoryLimit: 100, Size: func(v uint64) int { return int(v) }})
		if beyond {
			_, _ = c.SendBatch(t.Context(), []uint64{99, 99})
		}
		for method, send := range map[string]func(){
			"Send":      func() { _ = c.Send(t.Context(), minus) },
			"TrySend":   func() { _ = c.TrySend(minus) },
			"SendBatch": func() { _, _ = c.SendBatch(t.Context(), []uint64{minus}) },
		} {
			func() {
				defer func() {
					if p, want := recover(), "spill: "+method+": ElasticOptions.Size returned -1, want at least 0"; p != want {
						t.Errorf("beyond the limit: %v: %v, want %q", beyond, p, want)
					}
				}()
				send()
			}()
		}
	}
}

type nameless struct{ codec.Codec[uint64] }

func (nameless) Name() string { return "with\nnewline" }

// TestRegistered: a channel with a name is registered.
func TestRegistered(t *testing.T) {
	c := on(t, new(faulty), &ElasticOptions[[]byte]{Name: "lines", MemoryLimit: 500})
	spilled(t, c, 20)
	for _, named := range inspect.Channels() {
		s, ok := named.Stats()
		if named.Name == "lines" && named.Kind == "spill.Elastic" && ok && s.Disk.Bytes > 0 && s.Len == 20 && s.Bytes > 400 {
			return
		}
	}
	t.Error("it is not listed")
}
