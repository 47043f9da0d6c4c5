package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
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

// save observes a running scenario for that many seconds, and saves its profiles
// in dir, including those in also. A bare service has no metrics: the doctor takes a glimpse.
func save(ctx context.Context, doctor string, running *process, dir string, seconds int, bare bool, also []string) error {
	args := []string{"doctor", "-save", dir, "-seconds", strconv.Itoa(seconds)}
	if !bare {
		args = append(args, "-cheap")
	}
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

// smallTrace is the size of a trace, in bytes, that stays in a fixture. The doctor
// takes one if a finding needs it.
const smallTrace = 128 << 10

// shrink compresses the texts, metrics, traces and their figures in dir, and removes a
// large trace.
func shrink(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := filepath.Join(dir, entry.Name())
		if ext := filepath.Ext(name); ext != ".txt" && ext != ".out" && ext != ".json" || entry.Name() == "capture.json" {
			continue
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := z.Write(data); err != nil {
			return err
		}
		if err := errors.Join(z.Close(), os.Remove(name)); err != nil {
			return err
		}
		if entry.Name() == "trace.out" && packed.Len() > smallTrace {
			continue
		}
		if err := os.WriteFile(name+".gz", packed.Bytes(), 0o644); err != nil {
			return err
		}
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
