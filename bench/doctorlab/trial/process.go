package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// scenarioProgram is the package of the scenarios' program.
const scenarioProgram = "github.com/sluice-go/sluice/bench/doctorlab/scenario"

// Limits of a scenario's process.
const (
	startLimit  = 20 * time.Second
	answerLimit = 10 * time.Second
	processLife = 5 * time.Minute // it ends by itself after that, whatever happens to the trial
)

// A builder builds the program of a package, with flags of go build, and returns
// its path.
type builder func(ctx context.Context, pkg string, flags ...string) (string, error)

// buildIn returns a builder with the programs in dir.
func buildIn(dir string) builder {
	return func(ctx context.Context, pkg string, flags ...string) (string, error) {
		program := filepath.Join(dir, path.Base(pkg)+".exe")
		args := append([]string{"build", "-o", program}, flags...)
		if out, err := exec.CommandContext(ctx, "go", append(args, pkg)...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
		return program, nil
	}
}

// withoutPaths builds a program without local paths, which its profiles would
// have. It compiles every package again.
const withoutPaths = "-trimpath"

// A scenario is the program's description of a scenario.
type scenario struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	HeldOut  bool     `json:"heldOut"`
	Channels bool     `json:"channels"`
	Instead  string   `json:"instead,omitempty"`
	Leak     bool     `json:"leak,omitempty"`
	Sites    []place  `json:"sites,omitempty"`
	Right    []string `json:"right"`
	Harmful  []string `json:"harmful,omitempty"`
	Ask      []string `json:"ask,omitempty"`
	Remedies []string `json:"remedies"`
}

// cause returns the kind of the finding that must come first, or "" if channels
// are at fault: then any kind is right.
func (p *scenario) cause() string {
	if p.Leak {
		return "leak"
	}
	return p.Instead
}

// A place is an operation in a function.
type place struct {
	Op   string `json:"op"`
	Func string `json:"func"`
}

// scenarios returns all scenarios of the program, the tuning set first.
func scenarios(ctx context.Context, program string) ([]scenario, error) {
	out, err := exec.CommandContext(ctx, program, "-list").Output()
	if err != nil {
		return nil, fmt.Errorf("the scenarios' list: %w", err)
	}
	var all []scenario
	if err := json.Unmarshal(out, &all); err != nil {
		return nil, fmt.Errorf("the scenarios' list: %w", err)
	}
	return all, nil
}

// A process is a running scenario.
type process struct {
	Address string // http://host:port
	command *exec.Cmd
	stderr  *strings.Builder
}

// start starts a scenario with a remedy and more flags, and returns once it
// listens.
func start(ctx context.Context, program, name, remedy string, flags ...string) (*process, error) {
	return startWithin(ctx, nil, program, name, remedy, flags...)
}

// startWithin starts a scenario on a CPU quota.
func startWithin(ctx context.Context, limit *quota, program, name, remedy string, flags ...string) (*process, error) {
	p := &process{stderr: new(strings.Builder)}
	program, args := limit.command(program, append([]string{"-scenario", name, "-remedy", remedy, "-for", processLife.String()}, flags...)...)
	p.command = exec.CommandContext(ctx, program, args...)
	p.command.Stderr = p.stderr
	p.command.WaitDelay = time.Second
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	give := time.AfterFunc(startLimit, func() { p.command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	give.Stop()
	_, address, ok := strings.Cut(strings.TrimSpace(line), "http://")
	if err != nil || !ok {
		p.stop()
		return nil, fmt.Errorf("%s with remedy %s did not start: %s", name, remedy, strings.TrimSpace(p.stderr.String()))
	}
	p.Address = "http://" + strings.TrimSuffix(address, "/debug/pprof/")
	return p, nil
}

// stop kills the process and waits for its end.
func (p *process) stop() {
	p.command.Process.Kill()
	// The error is expected after a kill.
	_ = p.command.Wait()
}

// A reading is the response of /stats.
type reading struct {
	Items   int64   `json:"items"`
	Seconds float64 `json:"seconds"`
}

var client = http.Client{Timeout: answerLimit}

func (p *process) stats(ctx context.Context) (r reading, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.Address+"/stats", nil)
	if err != nil {
		return r, err
	}
	response, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(body, &r)
}

// rate returns the items per second over a window.
func (p *process) rate(ctx context.Context, window time.Duration) (float64, error) {
	before, err := p.stats(ctx)
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := p.stats(ctx)
	if err != nil {
		return 0, err
	}
	if after.Items <= before.Items || after.Seconds <= before.Seconds {
		return 0, errors.New("no items were processed")
	}
	return float64(after.Items-before.Items) / (after.Seconds - before.Seconds), nil
}

// pause waits for d, or until the context is done.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// workspace creates a temporary folder.
func workspace() (dir string, remove func(), err error) {
	dir, err = os.MkdirTemp("", "sluice-trial")
	return dir, func() { os.RemoveAll(dir) }, err
}
