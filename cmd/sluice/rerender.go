package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/sluice-go/sluice/cmd/sluice/internal/report"
)

type reportCommand struct {
	Dir string `arg:"" help:"Directory of a report."`
}

// Run writes the text, the page and results.txt again, from results.json alone.
func (c *reportCommand) Run(to streams) error {
	r, err := report.Read(c.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return inputError{fmt.Errorf("%s has no report: %s does not exist", c.Dir, report.JSONFile)}
	}
	if err == nil {
		err = report.Prepare(c.Dir)
	}
	if err != nil {
		return inputError{err}
	}
	if err := errors.Join(r.WriteHeader(to.stdout), r.WriteText(to.stdout), r.WriteFiles(c.Dir)); err != nil {
		return err
	}
	fmt.Fprintf(to.stdout, "\nThe report is %s\n", filepath.Join(c.Dir, report.PageFile))
	return nil
}

// Help returns the text below the flags.
func (reportCommand) Help() string {
	return "Writes the tables to the terminal, and report.html and results.txt, from the results.json in the directory, " +
		"for example after a run was killed. The findings and figures are the run's; nothing is measured.\n\n" +
		"Example:\n  sluice report sluice-lab\n"
}
