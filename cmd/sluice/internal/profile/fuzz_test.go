package profile

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Any file is read or rejected with a one-line error, and the result is usable.
func FuzzRead(f *testing.F) {
	f.Add(cpuDrawing(spent(time.Second, sendStack...)).bytes(f))
	f.Add(unzipped(f, waitDrawing(waited(1, time.Second, sendStack...)).bytes(f)))
	f.Add(unzipped(f, goroutineDrawing(there(64, sendStack...)).bytes(f)))
	f.Add([]byte(hotText))
	f.Add(tracedExchange(f)[:2000])
	f.Add([]byte("go_sched_latencies_seconds_bucket{le=\"1\"} 5\n"))
	f.Add([]byte(`{"metrics": {"/x": {"counts": [1], "buckets": [1, "+Inf"]}}}`))
	f.Add([]byte(`{"format": "sluice capture 1"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p parts
		if err := p.read("mutex", bytes.NewReader(data)); err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			return
		}
		c, err := p.capture()
		if err != nil {
			return
		}
		var text bytes.Buffer
		if err := c.WriteFacts(&text); err != nil {
			t.Error(err)
		}
		if c.CPU != nil {
			var sum time.Duration
			for _, d := range c.CPU.By {
				sum += d
			}
			if sum != c.CPU.Total || sum < 0 {
				t.Errorf("categories add up to %v of %v", sum, c.CPU.Total)
			}
		}
	})
}

// A text has as many goroutines as states, and no more at sites.
func FuzzGoroutineText(f *testing.F) {
	f.Add(hotText)
	f.Add("goroutine 1 [select (no cases), 7 minutes]:\nmain.f()\n\tf.go:1 +0x1\ncreated by main.g\n\tg.go:2\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := readGoroutineText(strings.NewReader(text))
		if err != nil {
			return
		}
		states, sites := 0, 0
		for _, n := range g.States {
			states += n
		}
		for _, s := range g.Sites {
			sites += s.Waiting + s.Runnable
			if s.Longest < 0 || s.At.Function == "" {
				t.Errorf("%+v", s)
			}
		}
		if states != g.Total || sites > g.Total {
			t.Errorf("%d goroutines, %d in states, %d at sites", g.Total, states, sites)
		}
	})
}

// A name without type arguments is unchanged.
func FuzzPlain(f *testing.F) {
	f.Add("main.(*Queue[go.shape.int]).Put")
	f.Fuzz(func(t *testing.T, name string) {
		once := plain(name)
		if plain(once) != once && !strings.Contains(once, "[") {
			t.Errorf("%q, then %q, then %q", name, once, plain(once))
		}
		if strings.Contains(name, "[") && strings.Contains(once, "[") {
			t.Errorf("type arguments of %q remain: %q", name, once)
		}
	})
}
