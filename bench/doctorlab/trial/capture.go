package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// How a fixture is captured: small, and with enough samples to tell shares by.
const (
	captureSeconds = 4
	captureWarmUp  = time.Second
	blockRate      = "10000" // ns waited for each sample of the block profile, where there is one
)

// capture measures the remedies of a scenario, runs it as found, lets the doctor save
// what it shows of itself in a folder of root with the scenario's name, and writes the
// truth beside it. A fixture that was there before is replaced only when all of that is done.
func capture(ctx context.Context, w io.Writer, programs programs, p scenario, root string, rounds int) error {
	rate, gains, err := measure(ctx, programs.scenario, p.Name, p.Remedies, rounds)
	if err != nil {
		return err
	}
	t := newTruth(p, rate, gains)
	if err := t.check(); err != nil {
		fmt.Fprintf(w, "note: %v\n", err)
	}
	fresh, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := shoot(ctx, programs, p, fresh); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if err := t.write(fresh); err != nil {
		return err
	}
	if err := os.Chmod(fresh, 0o755); err != nil {
		return err
	}
	dir := filepath.Join(root, p.Name)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", dir, summary(t))
	return nil
}

// shoot runs the scenario and saves what it shows.
func shoot(ctx context.Context, programs programs, p scenario, dir string) error {
	var flags []string
	if slices.Contains(p.Ask, askBlock) {
		flags = append(flags, "-block", blockRate)
	}
	running, err := start(ctx, programs.scenario, p.Name, asFound, flags...)
	if err != nil {
		return err
	}
	defer running.stop()
	if err := pause(ctx, captureWarmUp); err != nil {
		return err
	}
	if err := save(ctx, programs.doctor, running, dir, p.Ask); err != nil {
		return err
	}
	return errors.Join(forgetPaths(dir), tooLarge(dir))
}

// summary is a line about the remedies.
func summary(t *Truth) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f items/s", t.Rate)
	for _, g := range t.Gains {
		fmt.Fprintf(&b, ", %s x%.2f (%.2f to %.2f)", g.Remedy, g.Median, g.Low, g.High)
	}
	return b.String()
}

// forgetPaths takes the path of the program out of all profiles in dir: where it
// was built is nobody's business, and makes fixtures differ.
func forgetPaths(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.pprof"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := forgetPath(name); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

func forgetPath(name string) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	parsed, err := profile.Parse(in)
	in.Close()
	if err != nil {
		return err
	}
	for _, m := range parsed.Mapping {
		m.File = path.Base(filepath.ToSlash(m.File))
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(parsed.Write(out), out.Close())
}

// maxFixture is the largest fixture, in bytes: they are kept in the repository.
const maxFixture = 1 << 20

func tooLarge(dir string) error {
	var size int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			size += info.Size()
		}
		return err
	})
	if err == nil && size > maxFixture {
		err = fmt.Errorf("it has %d kB, and a fixture may have %d", size>>10, maxFixture>>10)
	}
	return err
}
