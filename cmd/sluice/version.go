package main

import (
	"cmp"
	"fmt"
	"runtime"

	"github.com/sluice-go/sluice/cmd/sluice/internal/host"
)

type versionCommand struct{}

// Run prints what a report of a fault needs.
func (versionCommand) Run(to streams) error {
	_, err := fmt.Fprintf(to.stdout, "sluice %s, %s, %s/%s\n", cmp.Or(host.Version(), "(version unknown: built without version control)"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
