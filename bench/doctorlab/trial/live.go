package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// tryLive runs a scenario as found, diagnoses it live in the given number of
// seconds, applies the first remedy, and measures its gain in rounds, unless that
// is 0.
func tryLive(ctx context.Context, w io.Writer, built programs, p scenario, seconds, rounds int) error {
	o, err := diagnoseLive(ctx, built, p, seconds)
	if err != nil {
		return err
	}
	t := newTruth(p, 0, nil)
	best := o.best()
	fmt.Fprintf(w, "%s: %s\n", p.Name, o.Answer)
	if o.withheld() || o.kind() == cpuLimit {
		return nil // no answer is not a wrong answer, and other processes may have the cores: live, there is no quota
	}
	if rounds > 0 && slices.Contains(p.Remedies, best.Name) {
		if _, t.Gains, err = measure(ctx, nil, built.scenario, p.Name, []string{best.Name}, rounds); err != nil {
			return err
		}
	}
	m := judge(t, o)
	fmt.Fprintln(w, line(t, o, m))
	if slices.Contains(m[:len(m)-1], Wrong) { // all but the gain
		return fmt.Errorf("%s: %w", p.Name, errBelow)
	}
	return nil
}

// diagnoseLive diagnoses a scenario that runs as found.
func diagnoseLive(ctx context.Context, built programs, p scenario, seconds int) (*diagnosis, error) {
	running, err := start(ctx, built.scenario, p.Name, asFound)
	if err != nil {
		return nil, err
	}
	defer running.stop()
	if err := pause(ctx, captureWarmUp); err != nil {
		return nil, err
	}
	return ask(ctx, built.doctor, "-seconds", fmt.Sprint(seconds), running.Address)
}
