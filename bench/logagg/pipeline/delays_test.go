package pipeline

import (
	"testing"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/count"
)

func TestDelays(t *testing.T) {
	var d delays
	if d.quantile(0.99) != 0 {
		t.Error("a quantile without delays is not 0")
	}
	for n := range 2 * remembered {
		d.add(int64(n))
	}
	for q, want := range map[float64]time.Duration{0: remembered, 0.5: remembered * 3 / 2, 1: 2*remembered - 1} {
		if got := d.quantile(q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
}

// TestDelay: a delay starts when a line was read, not when the clock started.
func TestDelay(t *testing.T) {
	c := config(t, "bounded", 16, &recorder{all: count.NewTable()})
	c.Sources, _ = hosts(1, 1000)
	p := New(c)
	p.intake.Clock = func() int64 { return int64(time.Hour) }
	if err := p.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.delays.met == 0 || p.Delay(0.99) != 0 {
		t.Errorf("%d delays, up to %v on a stopped clock", p.delays.met, p.Delay(0.99))
	}
}
