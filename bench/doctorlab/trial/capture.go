package main

import (
	"cmp"
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
	bareSeconds    = 2 // there are several
	captureWarmUp  = time.Second
	blockRate      = "10000" // ns of waiting per sample of the block profile, if enabled
)

// capture measures the remedies of a scenario, runs it as found, saves the
// profiles that the doctor reads in a folder of root with the scenario's name,
// and writes the truth beside them. It replaces an existing fixture, or those of
// its forms that are listed, only at the end.
func capture(ctx context.Context, w io.Writer, programs programs, p scenario, root, list string, rounds int) (err error) {
	dir := filepath.Join(root, p.Name)
	t := new(Truth)
	calm, remove, err := newQuota(unlimited)
	if err != nil {
		fmt.Fprintf(w, "note: other processes of this machine disturb the capture: %v\n", err)
	} else {
		// The group is empty once its processes have ended, at the latest when
		// this one does.
		defer remove()
	}
	if wants(list, fullForm.name) {
		rate, gains, err := measure(ctx, calm, programs.scenario, p.Name, p.Remedies, rounds)
		if err != nil {
			return err
		}
		t = newTruth(p, rate, gains)
	} else if t, err = readTruth(dir); err != nil {
		return fmt.Errorf("%w (capture the form %s first)", err, fullForm.name)
	}
	fresh, err := os.MkdirTemp(root, ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := record(ctx, calm, programs, p, t, fresh, list, rounds); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if err := t.check(); err != nil {
		fmt.Fprintf(w, "note: %v\n", err)
	}
	if err := t.write(fresh); err != nil {
		return err
	}
	if err := replace(dir, fresh, list); err != nil {
		return err
	}
	fmt.Fprintf(w, "%s: %s\n", dir, summary(t))
	return nil
}

// replace moves the files in fresh to dir. It removes other files there if all
// forms were captured.
func replace(dir, fresh, list string) error {
	if list == allForms {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(fresh)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		to := filepath.Join(dir, entry.Name())
		if err := errors.Join(os.RemoveAll(to), os.Rename(filepath.Join(fresh, entry.Name()), to)); err != nil {
			return err
		}
	}
	return tooLarge(dir)
}

// record runs the scenario in each listed form and saves its profiles in
// folders of dir.
func record(ctx context.Context, calm *quota, programs programs, p scenario, t *Truth, dir, list string, rounds int) error {
	var all []recording
	if wants(list, fullForm.name) {
		full := recording{folder: fullForm.name, ask: p.Ask, limit: calm}
		if slices.Contains(p.Ask, askBlock) {
			full.flags = []string{"-block", blockRate}
		}
		all = append(all, full)
	}
	for n := range repeats {
		if n == 0 && wants(list, bareForm.name) || n > 0 && wants(list, repeatForm) {
			all = append(all, recording{folder: repeatFolder(n + 1), flags: []string{"-bare"}, bare: true, limit: calm, seconds: bareSeconds})
		}
	}
	if wants(list, quotaForm.name) {
		limit, remove, err := newQuota(quotaCores)
		if err != nil {
			return err
		}
		defer remove()
		rate, gains, err := measure(ctx, limit, programs.scenario, p.Name, p.Remedies, min(rounds, quotaRounds))
		if err != nil {
			return err
		}
		t.Quota = &Measured{quotaCores, rate, gains, time.Now().UTC().Format(time.DateOnly)}
		all = append(all, recording{folder: quotaForm.name, flags: []string{"-bare"}, bare: true, limit: limit})
	}
	for _, r := range all {
		if err := r.run(ctx, programs, p, filepath.Join(dir, r.folder)); err != nil {
			return fmt.Errorf("form %s: %w", r.folder, err)
		}
	}
	return nil
}

// quotaRounds is the largest number of rounds on a quota: figures of one round
// have been a factor of two apart.
const quotaRounds = 3

// A recording is one run of a scenario in one form.
type recording struct {
	folder string
	flags  []string // of the scenario
	ask    []string // more profiles
	bare   bool     // as the doctor captures a service by default, with a glimpse
	limit  *quota
	// seconds is the length of the observation; 0 selects captureSeconds.
	seconds int
}

// run runs the scenario as found and saves its profiles in dir.
func (r *recording) run(ctx context.Context, programs programs, p scenario, dir string) error {
	running, err := startWithin(ctx, r.limit, programs.scenario, p.Name, asFound, r.flags...)
	if err != nil {
		return err
	}
	defer running.stop()
	if err := pause(ctx, captureWarmUp); err != nil {
		return err
	}
	if err := save(ctx, programs.doctor, running, dir, cmp.Or(r.seconds, captureSeconds), r.bare, r.ask); err != nil {
		return err
	}
	return errors.Join(stripPaths(dir), shrink(dir))
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
