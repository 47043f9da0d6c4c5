package watch

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/sluice-go/sluice/debug"
)

// rateNeeds is how long after its first look a service knows rates.
const rateNeeds = time.Second

// maxListed is how many channels a table has at most, from a service that says it
// has ever more.
const maxListed = 100_000

// Table writes all channels that q asks for as a table, without a sequence that
// steers a terminal: once, or every period until ctx is done if it is not 0. first is
// an answer to q. A service that stops answering is an error.
func Table(ctx context.Context, w io.Writer, s *Service, q Query, first *debug.Report, period time.Duration) error {
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
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// all asks for one page after the other. Meanwhile channels come and go, and what has
// moved to another page is listed once; a page with nothing new is the last.
func all(ctx context.Context, s *Service, q Query) (*debug.Report, error) {
	q.channelsOnPage = maxSize
	var whole *debug.Report
	listed := map[uint64]bool{}
	for {
		page, err := s.Ask(ctx, q)
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(page.Channels, func(c debug.Channel) bool {
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
			return nil, fmt.Errorf("answers with more than %d channels", maxListed)
		}
		q.Page++
	}
}

func write(w io.Writer, report *debug.Report) error {
	if _, err := fmt.Fprintf(w, "%s  %s channels with a name, %s shown\n", report.Time.Local().Format(time.DateTime), whole(report.Named), whole(len(report.Channels))); err != nil {
		return err
	}
	rows := [][]string{{"NAME", "KIND", "FILL", "IN/S", "OUT/S", "DROPS", "SEND", "SINCE", "RECV", "SINCE", "HIGH", "LANES", "MEMORY"}}
	for i := range report.Channels {
		c := &report.Channels[i]
		rows = append(rows, []string{
			displaywidth.TruncateString(clean(c.Name), maxName, "…"), clean(c.Kind) + either(c.Closed, ", closed", ""),
			filled(c), rate(c.SentRate), rate(c.ReceivedRate), short(float64(c.Dropped)),
			whole(c.Senders.Now), orNone(howLong(&c.Senders)), whole(c.Receivers.Now), orNone(howLong(&c.Receivers)),
			short(float64(c.HighWater)), whole(c.Lanes), size(c.Bytes),
		})
	}
	return align(w, rows)
}

// align writes rows in columns as wide as their cells on a screen, which is not what
// their runes would be counted to.
func align(w io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			widths[i] = max(widths[i], displaywidth.String(text))
		}
	}
	out := bufio.NewWriter(w)
	for _, row := range rows {
		for i, text := range row {
			if i == len(row)-1 {
				out.WriteString(text + "\n")
			} else {
				out.WriteString(text + strings.Repeat(" ", widths[i]+2-displaywidth.String(text)))
			}
		}
	}
	return out.Flush() // tells of each error before
}

// orNone keeps columns in step for a program that reads them.
func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}
