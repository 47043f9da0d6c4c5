package sim

import (
	"math"
	"testing"
)

// TestOneCPU: on one CPU, a value takes as long as on the machine that atomicHit and loadHit
// are from, at GOMAXPROCS=1 (commit 04092eb37dc5, 2026-11-21). That sets the works of our
// operations.
func TestOneCPU(t *testing.T) {
	for _, test := range []struct {
		name string
		ns   float64
		ch   channel
	}{
		{"built-in", 33.3, newNative(&spinbitLock{}, 1024, nativeWork)},
		{"Elastic", 30.8, newSegqueue(1024, chainWork)},
	} {
		rate, err := total(Machine{}, takeTurns(test.ch, 1, 100, 1), 1e6)
		if ns := 1 / rate; err != nil || math.Abs(ns/test.ns-1) > 0.05 {
			t.Errorf("%s: %.1f ns, want %.1f (%v)", test.name, ns, test.ns, err)
		}
	}
}

// TestContenders: every contender moves values, and a lane per sender is not slower than
// one lane for all.
func TestContenders(t *testing.T) {
	m := Machine{Domain: 8, Near: 40, Far: 100}
	ns := map[string]float64{}
	for _, c := range Contenders {
		value, err := c.time(m, Setting{CPUs: 32})
		if err != nil || math.IsInf(value, 0) {
			t.Fatalf("%s: %v ns: %v", c.Name, value, err)
		}
		ns[c.Name] = value
	}
	if ns["a Lane per sender, runs"] >= ns["Elastic"] {
		t.Errorf("%v", ns)
	}
}
