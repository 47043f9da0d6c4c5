package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/cmd/sluice/internal/watch"
)

type watchCommand struct {
	Address string `arg:"" help:"The service: host:port, or the URL of its /debug/sluice. The query of a URL copied from a browser is respected."`
	Every   *int   `short:"n" placeholder:"SECONDS" help:"Refresh interval in seconds. Default: 1 on a terminal; otherwise a single table."`
	Filter  string `placeholder:"TEXT" help:"Only channels whose names contain TEXT, ignoring case."`
	Kind    string `placeholder:"KIND" help:"Only channels of this kind: ${kinds}."`
	Sort    string `placeholder:"COLUMN" help:"Sort by ${sortings}; sent, received and dropped go by rate."`
	Order   string `placeholder:"ORDER" help:"asc or desc. Default: asc for names, kinds and ids, desc for numbers."`
}

// maxEvery is the upper limit of -n, in seconds.
const maxEvery = 3600

// Run shows channels until it is interrupted.
func (c *watchCommand) Run(ctx context.Context, to streams) error {
	service, query, err := c.query()
	if err != nil {
		return usage("%w", err)
	}
	first, err := service.Fetch(ctx, query)
	if err != nil {
		return stopped(ctx, unusable(fmt.Errorf("%s: %w", service, err)))
	}
	var period time.Duration
	if c.Every != nil {
		period = time.Duration(*c.Every) * time.Second
	}
	if _, terminal := format.Terminal(to.stdout); !terminal || os.Getenv("TERM") == "dumb" {
		if err := watch.Table(ctx, to.stdout, service, query, first, period); err != nil {
			return stopped(ctx, fmt.Errorf("%s: %w", service, err))
		}
		return nil
	}
	return stopped(ctx, watch.Live(ctx, service, query, first, max(period, time.Second)))
}

// stopped returns errInterrupted for an error after an interrupt, otherwise
// err.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// query returns the service and the query of the command line.
func (c *watchCommand) query() (*watch.Service, watch.Query, error) {
	service, query, err := watch.At(c.Address)
	if err != nil {
		return nil, query, err
	}
	query.Filter, query.Kind = cmp.Or(c.Filter, query.Filter), cmp.Or(c.Kind, query.Kind)
	query.Sort, query.Order = cmp.Or(c.Sort, query.Sort), cmp.Or(c.Order, query.Order)
	if c.Every != nil && (*c.Every < 1 || *c.Every > maxEvery) {
		return nil, query, fmt.Errorf("-n must be from 1 to %d", maxEvery)
	}
	return service, query, query.Check()
}

// Help is shown below the flags.
func (watchCommand) Help() string {
	return strings.TrimSpace(`
Examples:
  sluice watch localhost:6060             live, in the terminal
  sluice watch localhost:6060 -sort sent  the busiest channels first
  sluice watch localhost:6060 | head      one table
  sluice watch localhost:6060 -n 10       refreshed every ten seconds

The service must serve livepage.Handler, which shows channels that have a name.
Above them is the map: the functions that send and receive, from left to right,
and a sentence that names what holds the service back. In the terminal, m shows
all of the map, ? lists the keys, q and Ctrl-C quit. NO_COLOR disables colors. If
the service goes away, watch retries every two seconds. Programs can request
?format=json from the handler.
`)
}
