package speed

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// A part is a consumer of CPU time. A sample belongs to the first part that
// matches one of its functions, from the innermost function outwards.
type part struct {
	name      string
	functions []string // prefixes of their names
}

const module = "github.com/sluice-go/sluice/"

// parts separates the channel from the work on both sides. Parking and waking
// in the runtime belong to the channel if the channel calls them; the
// scheduler's own work between two goroutines is a separate part.
var parts = []part{
	{"channel", []string{module + "bench/logagg/queue.", module + "internal/", "github.com/sluice-go/sluice.",
		"runtime.chansend", "runtime.chanrecv", "runtime.selectgo", "runtime.selectnb"}},
	{"reading", []string{"net.(*conn).Read", "net.(*TCPConn).Read", "internal/poll."}},
	{"framing", []string{module + "bench/logagg/frame."}},
	{"parsing", []string{module + "bench/logagg/parse.", "github.com/valyala/fastjson."}},
	{"counting", []string{module + "bench/logagg/count.", module + "bench/logagg/pipeline.(*Pipeline).count"}},
	{"collector", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart"}},
	{"scheduler", []string{"runtime.mcall", "runtime.schedule", "runtime.findRunnable", "runtime.mstart", "runtime.park_m", "runtime.goexit0", "runtime.morestack"}},
	{other, nil},
}

// other is the part for all remaining samples.
const other = "other"

// partOf returns the part of one sample's stack, innermost function first.
func partOf(stack []string) string {
	for _, function := range stack {
		for _, p := range parts {
			for _, begin := range p.functions {
				if strings.HasPrefix(function, begin) {
					return p.name
				}
			}
		}
	}
	return other
}

// Shares is the distribution of one variant's CPU time.
type Shares struct {
	Variant
	CPU map[string]time.Duration // by part
	All time.Duration
}

// Shares takes CPU profiles of the built-in channel and of the kind that replaces it, and
// returns their section of bench/logagg/README.md.
func (s Settings) Shares(ctx context.Context, progress func(done, all int)) (string, error) {
	taken, err := s.Profile(ctx, []Variant{{"native", 1}, {"bounded", 1}, {"native", s.Batch}, {"bounded", s.Batch}}, progress)
	if err != nil {
		return "", err
	}
	return s.MarkdownShares(taken), nil
}

// Profile runs each variant Rounds times and takes a CPU profile meanwhile, at
// the first value of Procs.
func (s Settings) Profile(ctx context.Context, variants []Variant, progress func(done, all int)) (all []Shares, err error) {
	procs := s.Procs[0]
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	for i, v := range variants {
		var taken bytes.Buffer
		if err := pprof.StartCPUProfile(&taken); err != nil {
			return nil, err
		}
		for range s.Rounds {
			if _, err = s.run(ctx, v); err != nil {
				break
			}
		}
		pprof.StopCPUProfile()
		if err != nil {
			return nil, fmt.Errorf("%v at GOMAXPROCS=%d: %w", v, procs, err)
		}
		shares, err := read(&taken)
		if err != nil {
			return nil, err
		}
		shares.Variant = v
		all = append(all, shares)
		progress(i+1, len(variants))
	}
	return all, nil
}

// read sums up a CPU profile by parts.
func read(taken *bytes.Buffer) (Shares, error) {
	shares := Shares{CPU: map[string]time.Duration{}}
	p, err := profile.Parse(taken)
	if err != nil {
		return shares, err
	}
	for _, sample := range p.Sample {
		var stack []string
		for _, location := range sample.Location {
			for _, line := range location.Line {
				stack = append(stack, line.Function.Name)
			}
		}
		spent := time.Duration(sample.Value[len(sample.Value)-1]) // the last value is CPU time
		shares.CPU[partOf(stack)] += spent
		shares.All += spent
	}
	return shares, nil
}

// MarkdownShares returns a section of bench/logagg/README.md.
func (s Settings) MarkdownShares(all []Shares) string {
	text := s.heading("Where a log aggregator's CPU time goes", "bench -shares", "`bench/logagg/speed/shares.go` defines the parts",
		fmt.Sprintf("CPU profiles of %d runs of %d lines over %d connections each", s.Rounds, s.Lines, s.Connections))
	text.WriteString("Nanoseconds of CPU time per line, and shares. The column channel includes parking and waking; scheduler is\n" +
		"the runtime's work between two goroutines. bound is the speedup of the service with a channel that costs nothing.\n\n")
	text.WriteString("| variant | P | total ns | bound |")
	for _, p := range parts {
		fmt.Fprintf(text, " %s |", p.name)
	}
	fmt.Fprintf(text, "\n|---|--:|--:|--:|%s\n", strings.Repeat("--:|", len(parts)))
	lines := time.Duration(s.Lines * s.Rounds)
	for _, shares := range all {
		fmt.Fprintf(text, "| %v | %d | %d | %.2f |", shares.Variant, s.Procs[0], shares.All/lines, shares.bound())
		for _, p := range parts {
			fmt.Fprintf(text, " %d (%.0f%%) |", shares.CPU[p.name]/lines, 100*float64(shares.CPU[p.name])/float64(max(1, shares.All)))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// bound returns the speedup of the service with a channel that costs nothing.
func (s Shares) bound() float64 {
	rest := s.All - s.CPU["channel"] - s.CPU["scheduler"]
	return float64(s.All) / float64(max(1, rest))
}
