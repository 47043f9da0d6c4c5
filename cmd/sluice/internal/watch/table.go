package watch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/cmd/sluice/internal/flowmap"
	"github.com/sluice-go/sluice/cmd/sluice/internal/format"
	"github.com/sluice-go/sluice/livepage"
)

// rateNeeds is the time after its first report when a service has rates.
const rateNeeds = time.Second

// maxListed limits the channels of a table, in case the service always has
// more.
const maxListed = 100_000

// Table writes all channels of q as a table without control sequences: once, or
// every period until ctx is done if period is not 0. first is a response to q.
// It returns an error if the service stops responding.
func Table(ctx context.Context, w io.Writer, s *Service, q Query, first *livepage.Report, period time.Duration) error {
	if first.Over == 0 { // the service has no rates yet
		if err := pause(ctx, rateNeeds); err != nil {
			return err
		}
	}
	for {
		report, err := all(ctx, s, q)
		if err != nil {
			return err
		}
		if err := writeMap(w, report.Flow); err != nil {
			return err
		}
		if err := write(w, report); err != nil {
			return err
		}
		if period == 0 {
			return nil
		}
		if err := pause(ctx, period); err != nil {
			return err
		}
		if _, err := io.WriteString(w, "\n"); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// all requests all pages. Channels come and go meanwhile: one that moves to
// another page is listed once, and a page without new channels is the last.
func all(ctx context.Context, s *Service, q Query) (*livepage.Report, error) {
	q.channelsOnPage = maxSize
	var whole *livepage.Report
	listed := map[uint64]bool{}
	for {
		page, err := s.Fetch(ctx, q)
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(page.Channels, func(c livepage.Channel) bool {
			was := listed[c.ID]
			listed[c.ID] = true
			return was
		})
		if whole == nil {
			whole = page
			whole.Channels = fresh
		} else {
			whole.Channels = append(whole.Channels, fresh...)
		}
		if q.Page >= page.Pages || len(fresh) == 0 {
			return whole, nil
		}
		if len(whole.Channels) > maxListed {
			return nil, fmt.Errorf("more than %d channels in the responses", maxListed)
		}
		q.Page++
	}
}

// mapWidth is the width of a map in a file or pipe.
const mapWidth = 100

// writeMap writes the sentence and the map, and an empty line.
func writeMap(w io.Writer, flow *livepage.Flow) error {
	if flow == nil {
		return nil
	}
	m := flowmap.New(flow)
	if m.Sentence() == "" {
		return nil
	}
	var b strings.Builder
	b.WriteString(format.Wrap(m.Sentence(), mapWidth, 0, ""))
	for _, line := range m.Draw(mapWidth, flowmap.All) {
		b.WriteString(line.String() + "\n")
	}
	_, err := io.WriteString(w, b.String()+"\n")
	return err
}

func write(w io.Writer, report *livepage.Report) error {
	if _, err := fmt.Fprintf(w, "%s  %s named channels, %s shown\n", report.Time.Local().Format(time.DateTime), format.Thousands(report.Named), format.Thousands(len(report.Channels))); err != nil {
		return err
	}
	all := slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return c.text == nil })
	rows := [][]string{{"NAME"}}
	for _, column := range all {
		rows[0] = append(rows[0], strings.ToUpper(column.head))
	}
	for i := range report.Channels {
		c := &report.Channels[i]
		row := []string{displaywidth.TruncateString(format.Clean(c.Name), maxName, "…")}
		for _, column := range all {
			text, _ := column.text(c)
			row = append(row, cmp.Or(format.Clean(text), "–")) // an empty cell would move the others, for programs
		}
		rows = append(rows, row)
	}
	t := format.Text{Width: math.MaxInt}
	t.Table("l", rows)
	_, err := io.WriteString(w, t.String())
	return err
}
