package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type reportCommand struct {
	Dir     string `arg:"" optional:"" help:"Directory of a report. Default: the newest of sluice-lab, sluice-lab-2 and so on."`
	Verbose bool   `short:"v" help:"Print all tables and findings, not one screen."`
}

// Run writes the text, the page and results.txt again, from results.json alone.
func (c *reportCommand) Run(to streams) error {
	dir := c.Dir
	if dir == "" {
		dir = report.Newest(usualOut)
	}
	if filepath.Base(dir) == report.JSONFile {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return inputError{fmt.Errorf("%s is a file (want the directory of a run)", dir)}
	}
	r, err := report.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return inputError{fmt.Errorf("%s has no report: %s does not exist", dir, report.JSONFile)}
	}
	if err == nil {
		err = report.Prepare(dir)
	}
	if err != nil {
		return inputError{err}
	}
	head := func() error { return r.WriteHead(to.stdout, screenOf(to.stdout)) }
	if c.Verbose {
		head = func() error { return r.WriteHeader(to.stdout, screenOf(to.stdout)) }
	}
	return errors.Join(r.WriteFiles(dir), head(), write(to.stdout, r, c.Verbose, filepath.Join(dir, report.PageFile)))
}

// Help returns the text below the flags.
func (reportCommand) Help() string {
	return "Writes one screen to the terminal, or with -v all tables, and report.html and results.txt, from the results.json in the directory, " +
		"for example after a run was killed. The findings and figures are the run's; nothing is measured.\n\n" +
		"Example:\n  sluice report sluice-lab\n"
}
