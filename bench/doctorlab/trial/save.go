package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Additional profiles that a scenario may request.
const (
	askBlock = "block"
	askTrace = "trace"
)

// save saves the profiles of a running scenario in dir, including those in
// also.
func save(ctx context.Context, doctor string, running *process, dir string, also []string) error {
	args := []string{"doctor", "-cheap", "-save", dir, "-seconds", strconv.Itoa(captureSeconds)}
	if slices.Contains(also, askBlock) {
		args = append(args, "-block")
	}
	command := exec.CommandContext(ctx, doctor, append(args, running.Address)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("the doctor: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	if slices.Contains(also, askTrace) {
		return saveTrace(ctx, running, filepath.Join(dir, "trace.out"))
	}
	return nil
}

// traceSeconds is the length of a trace; the doctor's own traces are too large
// for a repository.
const traceSeconds = "0.1"

func saveTrace(ctx context.Context, running *process, name string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, running.Address+"/debug/pprof/trace?seconds="+traceSeconds, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	trace, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the trace: %s", response.Status)
	}
	return os.WriteFile(name, trace, 0o644)
}
