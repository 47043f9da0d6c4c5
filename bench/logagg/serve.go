package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/input"
	"github.com/sluice-go/sluice/bench/logagg/pipeline"
	"github.com/sluice-go/sluice/bench/logagg/queue"
	"github.com/sluice-go/sluice/bench/logagg/sink"
)

// sample is what is counted when nothing else is named: lines of package traffic.
//
//go:embed testdata/sample.log
var sample []byte

// defaultBatch is the size of a batch where batching is on.
const defaultBatch = 64

// defaultCapacity is that of the hot channel, in events.
const defaultCapacity = 4096

// settings are the flags of the service.
type settings struct {
	role  role
	files []string
	tcp   string

	channel  string
	queue    queue.Options
	overflow string

	sink     string
	interval time.Duration
	rows     int

	limits  input.Limits
	grace   time.Duration
	maxLine int
	service string

	aside      string
	asideBytes int64
	debug      string
}

func parseSettings(part role, args []string, to streams) (settings, error) {
	s := settings{role: part, queue: part.queue(to)}
	flags := flag.NewFlagSet(part.name, flag.ContinueOnError)
	flags.DurationVar(&s.grace, "grace", 10*time.Second, "at the end, give the sink and servers this `duration` to take the rest")
	flags.StringVar(&s.debug, "debug", "", "serve /debug/pprof, /debug/sluice and /metrics at this `address`: for trusted clients only")
	s.queueFlags(flags)
	if part.reads {
		s.readFlags(flags)
	}
	if part.counts {
		flags.StringVar(&s.sink, "o", "", "append counts to this `file`, post them to a server at http://…, or - for the standard output, which is the default but for the sample")
		flags.DurationVar(&s.interval, "every", time.Second, "ship counts each time this `duration` has passed")
		flags.IntVar(&s.rows, "rows", 10_000, "ship counts also when there are this many `rows` of them")
	}
	if err := parseFlags(flags, args, to); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(to.stdout, "Commands tell of themselves by -h: logagg ship and logagg aggregate are the service in two halves, logagg load sends lines to a service, logagg bench compares the channels.\n")
		}
		return s, err
	}
	s.files = flags.Args()
	return s, s.check()
}

func (s *settings) readFlags(flags *flag.FlagSet) {
	flags.StringVar(&s.tcp, "tcp", "", "take syslog connections at this `address`")
	flags.IntVar(&s.limits.Connections, "connections", 1024, "the most `connections` at once")
	flags.DurationVar(&s.limits.Patience, "patience", 5*time.Minute, "close a connection that completes no line for this `duration`")
	flags.DurationVar(&s.limits.Drain, "drain", 250*time.Millisecond, "at the end, go on reading what clients have sent for this `duration`")
	flags.IntVar(&s.maxLine, "max-line", 8<<10, "`bytes` of the longest line")
	flags.StringVar(&s.service, "service", "unknown", "the `name` of the service of lines that name none")
	flags.StringVar(&s.aside, "aside", "", "append malformed lines to this `file`, as JSON")
	flags.Int64Var(&s.asideBytes, "aside-bytes", 64<<20, "the most `bytes` that are appended to it")
	flags.Func("batch", "how many events readers send at once: `on, off` or a number (default on, 64)", s.setBatch)
}

func (s *settings) setBatch(value string) (err error) {
	switch value {
	case "on":
		s.queue.Batch = defaultBatch
	case "off":
		s.queue.Batch = 1
	default:
		if s.queue.Batch, err = strconv.Atoi(value); err != nil {
			return errors.New("it is on, off or a number")
		}
	}
	return nil
}

// check refuses what makes no sense, before anything is opened.
func (s *settings) check() error {
	reads, counts := s.role.reads, s.role.counts
	if !reads && len(s.files) > 0 {
		return misused("%q is too much: an aggregator reads nothing itself", s.files[0])
	}
	if !counts && len(s.files) == 0 && s.tcp == "" {
		return misused("nothing is named to be read, neither a file nor -tcp")
	}
	for _, flag := range []struct {
		name string
		ok   bool
		want string
	}{
		{"every", !counts || s.interval > 0, "above 0"},
		{"rows", !counts || s.rows > 0 && s.rows <= 1e6, "from 1 to 1000000"},
		{"connections", !reads || s.limits.Connections > 0, "above 0"},
		{"patience", !reads || s.limits.Patience > 0, "above 0"},
		{"drain", s.limits.Drain >= 0, "0 or above"},
		{"grace", s.grace >= 0, "0 or above"},
		{"max-line", !reads || s.maxLine > 0 && s.maxLine <= 1<<20, "from 1 to 1048576"},
		{"service", !reads || s.service != "", "a name"},
		{"aside-bytes", s.asideBytes >= 0, "0 or above"},
		{"disk-bytes", s.queue.DiskBytes >= 0, "0 or above, where 0 is no limit"},
		{"nats", s.queue.NATS != "" || !s.role.isHalf(), "where the servers are that carry the lines to the other half"},
		{"nats", s.queue.NATS == "" || s.channel == "jetstream", "left out, or the channel jetstream"},
		{"dir", s.queue.Dir == "" || s.channel == "spill" || s.channel == "durable", "left out, or the channel spill or durable"},
	} {
		if !flag.ok {
			return misused("-%s must be %s", flag.name, flag.want)
		}
	}
	policy, err := queue.Policy(s.overflow)
	if err != nil {
		return misuseError{err}
	}
	s.queue.Overflow = policy
	if err := queue.Check(s.channel, s.queue); err != nil {
		return misuseError{err}
	}
	return nil
}

// isSample says whether there is nothing to read.
func (s *settings) isSample() bool { return s.role == whole && len(s.files) == 0 && s.tcp == "" }

// listeners are at the addresses that the flags name, nil where they name none.
type listeners struct{ tcp, debug net.Listener }

// listen takes the addresses. It is done before any file is made: an address that is
// taken leaves none behind.
func (s *settings) listen() (l listeners, err error) {
	if s.tcp != "" {
		if l.tcp, err = net.Listen("tcp", s.tcp); err != nil {
			return l, misuseError{fmt.Errorf("-tcp: %w", err)}
		}
	}
	if s.debug != "" {
		if l.debug, err = net.Listen("tcp", s.debug); err != nil {
			l.close()
			return l, misuseError{fmt.Errorf("-debug: %w", err)}
		}
	}
	return l, nil
}

// close gives the addresses back, those too that somebody has closed already.
func (l listeners) close() {
	for _, listener := range []net.Listener{l.tcp, l.debug} {
		if listener != nil {
			listener.Close()
		}
	}
}

// sources opens all that is to be read.
func (s *settings) sources(to streams, syslog net.Listener) ([]input.Source, error) {
	if s.isSample() {
		return []input.Source{input.Text("sample", bytes.NewReader(sample))}, nil
	}
	var sources []input.Source
	if !s.role.reads {
		sources = append(sources, pipeline.Until)
	}
	for _, name := range s.files {
		source, err := input.Stream("stdin", to.stdin), error(nil)
		if name != "-" {
			source, err = input.File(name)
		}
		if err != nil {
			return nil, misuseError{err}
		}
		sources = append(sources, source)
	}
	if syslog != nil {
		sources = append(sources, input.TCP(syslog, s.limits))
	}
	return sources, nil
}

// clock is what lines cannot be ahead of; the sample's time is its own.
func (s *settings) clock() func() time.Time {
	if s.isSample() {
		return nil
	}
	return time.Now
}

// openSink opens the sink, and says where the summary goes: not among the counts.
func (s *settings) openSink(to streams, report *log.Logger) (out *sink.Sink, summary io.Writer, err error) {
	switch {
	case !s.role.counts:
		return sink.Nowhere(), to.stderr, nil
	case s.sink == "" && s.isSample():
		return sink.Nowhere(), to.stdout, nil
	case s.sink == "", s.sink == "-":
		out, err = sink.Open("-", to.stdout)
		summary = to.stderr
	default:
		out, err = sink.Open(s.sink, to.stdout)
		summary = to.stdout
	}
	if err != nil {
		return nil, nil, misuseError{err}
	}
	out.Retries = func(err error, wait time.Duration) {
		report.Printf("not shipped: %v; next try in %v", err, wait.Round(time.Millisecond))
	}
	out.Lost = func(err error, lines int64) { report.Printf("the counts of %d lines are lost: %v", lines, err) }
	return out, summary, nil
}

// openAside opens the file for malformed lines, if there is to be one.
func (s *settings) openAside() (*input.Aside, io.Closer, error) {
	if s.aside == "" {
		return nil, io.NopCloser(nil), nil
	}
	file, err := os.OpenFile(s.aside, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return nil, nil, misuseError{fmt.Errorf("-aside: %w", err)}
	}
	return input.NewAside(file, s.asideBytes), file, nil
}

// serve is the service.
func serve(ctx context.Context, args []string, to streams) error {
	return servePart(ctx, whole, args, to)
}

// servePart is the service, or a half of it.
func servePart(ctx context.Context, part role, args []string, to streams) error {
	s, err := parseSettings(part, args, to)
	if err != nil {
		return err
	}
	report := log.New(to.stderr, "logagg: ", 0)
	// What makes files comes last, so that a mistake elsewhere leaves no empty one.
	at, err := s.listen()
	if err != nil {
		return err
	}
	defer at.close()
	sources, err := s.sources(to, at.tcp)
	if err != nil {
		return err
	}
	hot, err := queue.New(s.channel, s.queue)
	if err != nil {
		return misuseError{err}
	}
	out, summaryTo, err := s.openSink(to, report)
	if err != nil {
		return errors.Join(err, hot.End())
	}
	aside, asideFile, err := s.openAside()
	if err != nil {
		return errors.Join(err, hot.End(), out.Close())
	}
	if at.tcp != nil {
		report.Printf("syslog is taken at %s", at.tcp.Addr())
	}
	if s.isSample() {
		fmt.Fprintf(to.stdout, "Nothing is named to be read, so this is a sample: the log of a small shop, through a channel of the kind %s.\n\n", s.channel)
	}
	summary := count.NewSummary(s.clock())
	config := pipeline.Config{
		Sources: sources, Queue: hot, Sink: out, Counted: summary.Add,
		MaxLine: s.maxLine, Service: s.service, Aside: aside,
		Interval: s.interval, Rows: s.rows, Grace: s.grace,
	}
	if !part.counts {
		config.Sink = nil
	}
	p := pipeline.New(config)
	if at.debug != nil {
		defer serveDebug(at.debug, p, report)()
	}
	err = errors.Join(p.Run(ctx), out.Close(), asideFile.Close())
	if aside != nil {
		err = errors.Join(err, aside.Err())
	}
	return errors.Join(err, s.tell(summaryTo, summary, p.Ledger()))
}

// tell writes the end: what was counted, and the account of all lines.
func (s *settings) tell(w io.Writer, summary *count.Summary, ledger pipeline.Ledger) error {
	if s.role.counts {
		if _, err := summary.WriteTo(w); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%v\n", ledger)
	if ledger.TooLong+ledger.Truncated > 0 {
		fmt.Fprintf(w, "of the malformed %d are too long and %d cut off\n", ledger.TooLong, ledger.Truncated)
	}
	if ledger.Refused+ledger.Slow > 0 {
		fmt.Fprintf(w, "connections: %d refused, %d closed for want of a line\n", ledger.Refused, ledger.Slow)
	}
	if s.isSample() {
		fmt.Fprint(w, "\nThe same as a service, and a million lines to count:\n"+
			"  go run ./bench/logagg -tcp 127.0.0.1:5514 -debug 127.0.0.1:6060\n"+
			"  go run ./bench/logagg load -tcp 127.0.0.1:5514\n")
	}
	return ledger.Balanced()
}
