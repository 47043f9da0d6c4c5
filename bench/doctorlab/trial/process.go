package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"os/exec"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/command"
)

// A service runs in a process of its own, which is this program once more. It serves what
// most Go services do, net/http/pprof and nothing else, and beside it /items.

// Limits of a service's process.
const (
	startLimit  = 20 * time.Second
	answerLimit = 10 * time.Second
	processLife = 5 * time.Minute // it ends by itself after that, whatever happens to the trial
)

// A reading is the response of /items.
type reading struct {
	Items   int64   `json:"items"`
	Seconds float64 `json:"seconds"` // since the start
}

// serve runs a service, as found or with a remedy, until the context is done. It leaves the
// goroutines of the service running, because the process ends next.
func serve(ctx context.Context, name, remedy, addr string, stdout io.Writer) error {
	d, err := find(name, remedy)
	if err != nil {
		return command.Misused("%w", err)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	s, started := &service{remedy: remedy}, time.Now()
	d.run(s)
	fmt.Fprintf(stdout, "%s http://%s\n", name, listener.Addr())
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/items", func(w http.ResponseWriter, _ *http.Request) {
		// It fails only if the client has gone.
		_ = json.NewEncoder(w).Encode(reading{s.items(), time.Since(started).Seconds()})
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// during runs a service with a remedy, or as found with "", until its load has settled, and
// then calls f with its address. The process and its children end when f returns.
func (l *lab) during(ctx context.Context, name, remedy string, settle time.Duration, f func(address string) error) error {
	command := exec.CommandContext(ctx, l.program, "-serve", name, "-remedy", remedy, "-for", processLife.String())
	var stderr strings.Builder
	command.Stderr = &stderr
	command.WaitDelay = time.Second
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	stop := func() {
		command.Process.Kill()
		_ = command.Wait() // the error is expected after a kill
	}
	defer stop()
	give := time.AfterFunc(startLimit, func() { command.Process.Kill() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	give.Stop()
	_, address, ok := strings.Cut(strings.TrimSpace(line), " ")
	if err != nil || !ok {
		stop()
		return fmt.Errorf("it did not start: %s", strings.TrimSpace(stderr.String()))
	}
	time.Sleep(settle)
	return f(address)
}

var client = http.Client{Timeout: answerLimit}

func read(address string) (r reading, err error) {
	response, err := client.Get(address + "/items")
	if err != nil {
		return r, err
	}
	defer response.Body.Close()
	return r, json.NewDecoder(io.LimitReader(response.Body, 1<<16)).Decode(&r)
}

// rate returns the items per second of a service, over a window.
func (l *lab) rate(ctx context.Context, name, remedy string) (rate float64, err error) {
	err = l.during(ctx, name, remedy, warmUp, func(address string) error {
		before, err := read(address)
		if err != nil {
			return err
		}
		time.Sleep(rateWindow)
		after, err := read(address)
		if err == nil && (after.Items <= before.Items || after.Seconds <= before.Seconds) {
			err = errors.New("no items were finished")
		}
		rate = float64(after.Items-before.Items) / (after.Seconds - before.Seconds)
		return err
	})
	return rate, err
}
