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

// A fixture is small, but has enough samples for shares.
const (
	captureSeconds = 4
	captureWarmUp  = time.Second
	blockRate      = "10000" // ns of waiting per sample of the block profile, if enabled
)

// capture measures the remedies of a scenario, runs it as found, saves the
// profiles that the doctor reads in a folder of root with the scenario's name,
// and writes the truth beside them. It replaces an existing fixture only at the
// end.
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
	full := filepath.Join(fresh, fullForm.name)
	if err := record(ctx, programs, p, full); err != nil {
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

// record runs the scenario and saves its profiles.
func record(ctx context.Context, programs programs, p scenario, dir string) error {
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
	return errors.Join(stripPaths(dir), tooLarge(dir))
}

// summary summarizes the gains of remedies in a line.
func summary(t *Truth) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.0f items/s", t.Rate)
	for _, g := range t.Gains {
		fmt.Fprintf(&b, ", %s x%.2f (%.2f to %.2f)", g.Remedy, g.Median, g.Low, g.High)
	}
	return b.String()
}

// stripPaths removes the path of the program from all profiles in dir: it is
// private, and makes fixtures differ.
func stripPaths(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.pprof"))
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := stripPath(name); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

func stripPath(name string) error {
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

// maxFixture is the size limit of a fixture in bytes, because fixtures are in
// the repository.
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
		err = fmt.Errorf("fixture of %d kB is too large (want at most %d)", size>>10, maxFixture>>10)
	}
	return err
}
