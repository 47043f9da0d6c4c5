package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settle is how long a service runs before it is observed.
const settle = 1500 * time.Millisecond

// observations is the number of observations of each service.
const observations = 2

// A diagnosis is the part of the doctor's JSON form that is scored.
type diagnosis struct {
	Schema      int      `json:"schema"`
	Verdict     string   `json:"verdict"`
	Probability *float64 `json:"probability"`
	Bottleneck  *struct {
		At place `json:"at"`
	} `json:"bottleneck"`
	Headroom *float64   `json:"headroom"`
	Remedies []remedy   `json:"remedies"`
	Also     []struct { // findings beside the bottleneck
		Kind string `json:"kind"`
		At   *place `json:"at"`
	} `json:"also"`
}

// A place is a line of the service, and the caller of its function.
type place struct {
	Function string `json:"function"`
	Line     int    `json:"line"`
	Caller   *place `json:"caller"`
}

// A remedy is a change that the doctor advises, with its predicted gain.
type remedy struct {
	Name string `json:"name"`
	Gain *struct {
		Low  float64 `json:"low"`
		High float64 `json:"high"`
	} `json:"gain"`
}

// best returns the name of the first remedy, or "".
func (d *diagnosis) best() string {
	if len(d.Remedies) == 0 {
		return ""
	}
	return d.Remedies[0].Name
}

// ask runs the doctor on a service or on a folder.
func (l *lab) ask(ctx context.Context, about string) (*diagnosis, error) {
	command := exec.CommandContext(ctx, l.doctor, l.flags("-json", about)...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output() // the exit status depends on the verdict
	d := new(diagnosis)
	if syntax := json.Unmarshal(out, d); syntax != nil || d.Verdict == "" {
		return nil, fmt.Errorf("%s: the doctor: %w: %s", about, errors.Join(err, syntax), strings.TrimSpace(stderr.String()))
	}
	if d.Schema != 2 || d.Probability == nil {
		return nil, fmt.Errorf("%s: the doctor's JSON has schema %d and probability %v (want schema 2)", about, d.Schema, d.Probability)
	}
	return d, nil
}

// flags returns the arguments of the doctor for a form of the answer.
func (l *lab) flags(form ...string) []string {
	if l.seconds > 0 {
		form = append([]string{"-seconds", strconv.Itoa(l.seconds)}, form...)
	}
	return append([]string{"doctor"}, form...)
}

// capture saves observations of a service in folders of root.
func (l *lab) capture(ctx context.Context, s *description, root string) error {
	for n := range observations {
		dir := filepath.Join(root, s.Name, strconv.Itoa(n+1))
		if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(filepath.Dir(dir), 0o755)); err != nil {
			return err
		}
		if err := l.during(ctx, s.Name, "", settle, func(address string) error {
			out, err := exec.CommandContext(ctx, l.doctor, l.flags("-save", dir, address)...).CombinedOutput()
			if _, missing := os.Stat(dir); missing != nil {
				return fmt.Errorf("the doctor: %w: %s", errors.Join(err, missing), bytes.TrimSpace(out))
			}
			return shrink(dir)
		}); err != nil {
			return err
		}
	}
	fmt.Fprintf(l.stdout, "%s\n", filepath.Join(root, s.Name))
	return nil
}

// shrink compresses the texts and the trace of an observation.
func shrink(dir string) error {
	return filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if ext := filepath.Ext(name); err != nil || ext != ".txt" && ext != ".out" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(data)
		return errors.Join(err, z.Close(), os.WriteFile(name+".gz", packed.Bytes(), 0o644), os.Remove(name))
	})
}

// live diagnoses a running service and measures the first remedy.
func (l *lab) live(ctx context.Context, s *description, rounds int) error {
	var d *diagnosis
	if err := l.during(ctx, s.Name, "", settle, func(address string) (err error) {
		d, err = l.ask(ctx, address)
		return err
	}); err != nil {
		return err
	}
	if best := d.best(); slices.Contains(s.remedies(), best) {
		if err := l.measure(ctx, s, []string{best}, rounds); err != nil {
			return err
		}
	}
	m := l.judge(s, d)
	fmt.Fprintf(l.stdout, "%s\n%s\n", header, l.line(s, d, m))
	if m.verdict == wrong || m.remedy == wrong || m.harmful {
		return errBelow
	}
	return nil
}

// saved returns the folders with observations below root, by the name of the service.
func saved(root string) (map[string][]string, error) {
	found, err := filepath.Glob(filepath.Join(root, "*", "*"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s: no observations (want folders SERVICE/1, SERVICE/2)", root)
	}
	folders := map[string][]string{}
	for _, run := range found {
		name := filepath.Base(filepath.Dir(run))
		folders[name] = append(folders[name], run)
	}
	return folders, err
}
