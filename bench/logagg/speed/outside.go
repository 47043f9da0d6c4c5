package speed

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-go/sluice/bench/results"
)

// MarkdownOutside returns the section of the kinds that keep events outside of the memory
// of the process.
func (s Settings) MarkdownOutside(host results.Host, began time.Time, figures []Figure) string {
	var text strings.Builder
	fmt.Fprintf(&text, "## A log aggregator past one process\n\n")
	fmt.Fprintf(&text, "Written by `go run ./bench/logagg bench -outside`; see `bench/logagg/speed` for the method.\n\n")
	text.WriteString(host.Markdown(began))
	fmt.Fprintf(&text, "- medians of %d rounds of %d lines over %d connections; a channel of %d events; batches of %d\n\n",
		s.Rounds, s.Lines, s.Connections, s.Capacity, s.Batch)
	text.WriteString("As above, with channels that keep lines on disk or at servers, and the built-in channel of\n" +
		"slices beside them. spill writes what is above its capacity, durable syncs every batch, and so\n" +
		"does the server that jetstream has inside of the process here. The counts of a run are\n" +
		"acknowledged once they are shipped, and that is in its time.\n")
	text.WriteString("\n| row | P | reference | ratio | of rounds | lines a second | CPU ns a line | p99 delay ms |\n|---|--:|---|--:|---|--:|--:|--:|\n")
	s.rows(&text, figures)
	return text.String()
}
