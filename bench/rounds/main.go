package rounds

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// Main is the main function of a command that measures. It parses the arguments of the
// command, and calls report with the settings and a context that ends at the first interrupt.
// An error other than [flag.ErrHelp] goes to standard error, and the exit status is 1.
func Main[S any](parse func(args []string) (S, error), report func(context.Context, S) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	settings, err := parse(os.Args[1:])
	if err == nil {
		err = report(ctx, settings)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", filepath.Base(os.Args[0]), err)
		os.Exit(1)
	}
}
