package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// doctor is the package of the evaluated program.
const doctor = "github.com/sluice-go/sluice/cmd/sluice"

// A diagnosis is the part of the doctor's JSON that the trial reads. It does
// not use the doctor's own types, so that a renamed field fails the trial, as
// it would fail any other reader.
type diagnosis struct {
	Verdict  string    `json:"verdict"`
	Answer   string    `json:"answer"`
	Findings []finding `json:"findings"`
	Shares   struct {
		Denied *float64 `json:"cpu_starved_goroutines"`
	} `json:"shares"`
}

// withheld reports whether the doctor gives no verdict because the service was
// starved of CPU.
func (o *diagnosis) withheld() bool { return o.Verdict == unknown && o.Shares.Denied != nil }

// unknown is the verdict of an undetermined diagnosis.
const unknown = "unknown"

// A finding is one finding of the doctor.
type finding struct {
	Kind     string   `json:"kind"`
	Channels bool     `json:"channels"`
	At       *where   `json:"at"`
	Remedies []remedy `json:"remedies"` // by predicted gain
}

// A where is the operation of a finding.
type where struct {
	Op       string `json:"op"`
	Function string `json:"function"`
	User     string `json:"user"`
}

// A remedy is a suggested change with its predicted gain.
type remedy struct {
	Name string `json:"name"`
	Gain struct {
		Low  float64 `json:"low"`
		Mid  float64 `json:"mid"`
		High float64 `json:"high"`
	} `json:"gain"`
}

// ask runs the doctor on an address, a file or a folder.
func ask(ctx context.Context, program string, args ...string) (*diagnosis, error) {
	command := exec.CommandContext(ctx, program, append([]string{"doctor", "-json"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("doctor %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	o := new(diagnosis)
	if err := json.Unmarshal(out, o); err != nil {
		return nil, fmt.Errorf("doctor %s: its JSON: %w", strings.Join(args, " "), err)
	}
	if o.Verdict == "" {
		return nil, fmt.Errorf("doctor %s: its JSON has no verdict", strings.Join(args, " "))
	}
	return o, nil
}

// channels reports whether the verdict blames channels, and whether there is a
// verdict.
func (o *diagnosis) channels() (yes, decided bool) {
	switch o.Verdict {
	case "yes", "partly":
		return true, true
	case "no", idle:
		return false, true
	}
	return false, false
}

// idle is the verdict on a service with almost no load.
const idle = "idle"

// cpuLimit is the kind of the finding about a CPU quota.
const cpuLimit = "CPU limit"

// kind returns the kind of the first finding, or idle for that verdict.
func (o *diagnosis) kind() string {
	switch {
	case len(o.Findings) > 0:
		return o.Findings[0].Kind
	case o.Verdict == idle:
		return idle
	}
	return ""
}

// chief returns the first finding about channels, or the first other finding,
// or nil.
func (o *diagnosis) chief(channels bool) *finding {
	for i := range o.Findings {
		if o.Findings[i].Channels == channels {
			return &o.Findings[i]
		}
	}
	return nil
}

// best returns the first remedy, or noChange without one.
func (o *diagnosis) best() remedy {
	for _, f := range o.Findings {
		if len(f.Remedies) > 0 {
			return f.Remedies[0]
		}
	}
	none := remedy{Name: noChange}
	none.Gain.Low, none.Gain.Mid, none.Gain.High = 1, 1, 1
	return none
}
