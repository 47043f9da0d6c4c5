package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Limits of a service's process.
const (
	startLimit  = 20 * time.Second
	answerLimit = 10 * time.Second
	processLife = 5 * time.Minute // it ends by itself after that, whatever happens to the trial
)

// A service is the scenario program's description of a service.
type service struct {
	Name     string   `json:"name"`
	Shape    string   `json:"shape"`
	Half     string   `json:"half"`
	Idiom    string   `json:"idiom"`
	Verdicts []string `json:"verdicts"`
	Places   []string `json:"places"`
	Right    []string `json:"right"`
	Accept   []string `json:"accept"`
	Built    []string `json:"built"`
	Harmful  []string `json:"harmful"`
}

// moreLoad is a load, and no remedy: its gain is the headroom.
const moreLoad = "more load"

// remedies are those that can be measured.
func (s *service) remedies() []string { return slices.Concat(s.Right, s.Built) }

// list returns all services of the program.
func list(ctx context.Context, program string) (all []service, err error) {
	out, err := exec.CommandContext(ctx, program, "-list").Output()
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return nil, fmt.Errorf("the list of services: %w", err)
	}
	return all, nil
}

// A process is a running service.
type process struct {
	address string // http://host:port
	command *exec.Cmd
}

// start starts a service with a remedy, or as found with "", and returns once it listens.
func start(ctx context.Context, program, name, remedy string) (*process, error) {
	p := &process{command: exec.CommandContext(ctx, program, "-name", name, "-remedy", remedy, "-for", processLife.String())}
	var stderr strings.Builder
	p.command.Stderr = &stderr
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
	_, address, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		p.stop()
		return nil, fmt.Errorf("it did not start: %s", strings.TrimSpace(stderr.String()))
	}
	p.address = address
	return p, nil
}

// stop kills the process and waits for its end. Its children end with it.
func (p *process) stop() {
	p.command.Process.Kill()
	// The error is expected after a kill.
	_ = p.command.Wait()
}

// A reading is the response of /items.
type reading struct {
	Items   int64   `json:"items"`
	Seconds float64 `json:"seconds"`
}

var client = http.Client{Timeout: answerLimit}

func (p *process) read() (r reading, err error) {
	response, err := client.Get(p.address + "/items")
	if err != nil {
		return r, err
	}
	defer response.Body.Close()
	return r, json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&r)
}

// rate returns the items per second over a window.
func (p *process) rate(ctx context.Context, window time.Duration) (float64, error) {
	before, err := p.read()
	if err != nil {
		return 0, err
	}
	if err := pause(ctx, window); err != nil {
		return 0, err
	}
	after, err := p.read()
	if err != nil {
		return 0, err
	}
	if after.Items <= before.Items || after.Seconds <= before.Seconds {
		return 0, errors.New("no items were finished")
	}
	return float64(after.Items-before.Items) / (after.Seconds - before.Seconds), nil
}

// pause waits for d, or until the context is done.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
