package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// doctor is the package of the program on trial.
const doctor = "github.com/sluice-go/sluice/cmd/sluice"

// buildDoctor builds the program in dir, and returns its path.
func buildDoctor(ctx context.Context, dir string) (string, error) {
	program := filepath.Join(dir, "sluice.exe")
	command := exec.CommandContext(ctx, "go", "build", "-o", program, doctor)
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the doctor does not build: %w\n%s", err, out)
	}
	return program, nil
}

// An opinion is what a reader of the doctor's JSON needs of it. It is read as any
// program would read it, and not with the types that it was written with: a field
// that changes its name fails the trial.
type opinion struct {
	Verdict  string    `json:"verdict"`
	Answer   string    `json:"answer"`
	Findings []finding `json:"findings"`
	Shares   struct {
		Denied *float64 `json:"cpu_starved_goroutines"`
	} `json:"shares"`
}

// withheld is whether the doctor gives no answer, as its scenario used little and waited for
// processors, which others may have had.
func (o *opinion) withheld() bool { return o.Verdict == unknown && o.Shares.Denied != nil }

// unknown is the verdict of a doctor that cannot tell.
const unknown = "unknown"

// A finding is one thing that the doctor found.
type finding struct {
	Kind     string   `json:"kind"`
	Channels bool     `json:"channels"`
	At       *where   `json:"at"`
	Remedies []remedy `json:"remedies"` // what should give most first
}

// A where is the operation that a finding is about.
type where struct {
	Op       string `json:"op"`
	Function string `json:"function"`
}

// A remedy is what the doctor says would help, and by how much.
type remedy struct {
	Name string `json:"name"`
	Gain struct {
		Low  float64 `json:"low"`
		Mid  float64 `json:"mid"`
		High float64 `json:"high"`
	} `json:"gain"`
}

// ask runs the doctor on an address, a file or a folder.
func ask(ctx context.Context, program string, args ...string) (*opinion, error) {
	command := exec.CommandContext(ctx, program, append([]string{"doctor", "-json"}, args...)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("doctor %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	o := new(opinion)
	if err := json.Unmarshal(out, o); err != nil {
		return nil, fmt.Errorf("doctor %s: its JSON: %w", strings.Join(args, " "), err)
	}
	if o.Verdict == "" {
		return nil, fmt.Errorf("doctor %s: its JSON has no verdict", strings.Join(args, " "))
	}
	return o, nil
}

// channels is whether the doctor says that channels are the problem, if it says so
// or the contrary.
func (o *opinion) channels() (yes, said bool) {
	switch o.Verdict {
	case "yes", "partly":
		return true, true
	case "no", idle:
		return false, true
	}
	return false, false
}

// idle is the verdict on a service that has next to nothing to do.
const idle = "idle"

// kind is what the doctor puts first, or idle if it says that.
func (o *opinion) kind() string {
	switch {
	case len(o.Findings) > 0:
		return o.Findings[0].Kind
	case o.Verdict == idle:
		return idle
	}
	return ""
}

// chief is the finding that the doctor puts first of those that are on channels, or
// of those that are not, nil if there is none.
func (o *opinion) chief(channels bool) *finding {
	for i := range o.Findings {
		if o.Findings[i].Channels == channels {
			return &o.Findings[i]
		}
	}
	return nil
}

// best is the remedy that the doctor names first of all, the zero remedy called
// nothing if it names none.
func (o *opinion) best() remedy {
	for _, f := range o.Findings {
		if len(f.Remedies) > 0 {
			return f.Remedies[0]
		}
	}
	none := remedy{Name: nothing}
	none.Gain.Low, none.Gain.Mid, none.Gain.High = 1, 1, 1
	return none
}
