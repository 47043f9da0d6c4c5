// Package traffic generates the log lines of a small web shop and sends them:
// for the sample, for tests, and for measurements. The same seed generates the
// same lines and the same expected counts.
//
// This package simulates a client of the service.
package traffic

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"
	"unique"

	"github.com/sluice-go/sluice/bench/logagg/count"
	"github.com/sluice-go/sluice/bench/logagg/parse"
)

// A Truth contains the expected counts of lines.
type Truth struct {
	Table     *count.Table
	Lines     int64
	Malformed int64
}

// NewTruth returns the truth of no lines.
func NewTruth() *Truth { return &Truth{Table: count.NewTable()} }

// Merge adds the expected counts of other lines.
func (t *Truth) Merge(other *Truth) {
	t.Table.Merge(other.Table)
	t.Lines += other.Lines
	t.Malformed += other.Malformed
}

// A Host is a machine that logs. Hosts differ in their service, and in the
// format and framing of their lines.
type Host struct {
	random  *rand.Rand
	number  int
	service string
	now     time.Time
	step    time.Duration // average time between two lines
	form    form
	line    []byte
}

// A form is the format of a host's lines.
type form int

const (
	octets5424   form = iota // octet counting, RFC 5424, combined
	lines5424                // line feeds, RFC 5424, combined
	lines3164                // line feeds, RFC 3164, combined
	octets5424JS             // octet counting, RFC 5424, JSON
	forms
)

// begin is the time of each host's first line.
var begin = time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)

// span is the time from a host's first line to its last.
const span = 10 * time.Minute

// NewHost returns the host with that number, from 0, which will write about the
// given number of lines. Seed and number determine the lines.
func NewHost(seed uint64, number, lines int) *Host {
	random := rand.New(rand.NewPCG(seed, uint64(number)))
	return &Host{
		random:  random,
		number:  number,
		service: services[weighted(random, serviceWeights)],
		now:     begin,
		step:    span / time.Duration(max(1, lines)),
		form:    form(number) % forms,
	}
}

// malformedOneIn is the number of lines per malformed one.
const malformedOneIn = 500

// Append appends the host's next line, framed, to text, and adds it to the
// truth.
func (h *Host) Append(text []byte, truth *Truth) []byte {
	h.now = h.now.Add(time.Duration(h.random.Int64N(int64(2*h.step) + 1)))
	truth.Lines++
	if h.random.IntN(malformedOneIn) == 0 {
		truth.Malformed++
		return append(append(text, garbage[h.random.IntN(len(garbage))]...), '\n')
	}
	r := h.request()
	if minute, ok := parse.MinuteOf(h.now); ok {
		truth.Table.Add(parse.Event{Service: unique.Make(h.service), Minute: minute, Status: uint16(r.status), Bytes: r.bytes})
	}
	h.line = h.appendLine(h.line[:0], r)
	if h.form == octets5424 || h.form == octets5424JS {
		return fmt.Appendf(text, "%d %s", len(h.line), h.line)
	}
	return append(append(text, h.line...), '\n')
}

// A request is the content of one line.
type request struct {
	method, path, agent, referrer string
	status                        int
	bytes                         int64
}

func (h *Host) request() request {
	r := request{
		method:   methods[weighted(h.random, methodWeights)],
		path:     paths[h.random.IntN(len(paths))],
		agent:    agents[h.random.IntN(len(agents))],
		referrer: referrers[h.random.IntN(len(referrers))],
		status:   statuses[weighted(h.random, statusWeights)],
		bytes:    200 + h.random.Int64N(1<<(8+h.random.IntN(10))),
	}
	if r.status == 304 {
		r.bytes = 0
	}
	return r
}

// appendLine appends a syslog message of facility local0 and severity info.
func (h *Host) appendLine(line []byte, r request) []byte {
	if h.form == lines3164 {
		line = fmt.Appendf(line, "<134>%s web-%02d %s[%d]: ", h.now.Format(time.Stamp), h.number, h.service, 4000+h.number)
	} else {
		line = fmt.Appendf(line, "<134>1 %s web-%02d %s %d - - ", h.now.Format("2006-01-02T15:04:05.000Z07:00"), h.number, h.service, 4000+h.number)
	}
	address, item := 1+h.random.IntN(254), h.random.IntN(100_000)
	if h.form == octets5424JS {
		return fmt.Appendf(line, `{"time":"%s","remote":"203.0.113.%d","method":"%s","path":"%s%d","status":%d,"bytes":%d,"agent":"%s"}`,
			h.now.Format(time.RFC3339Nano), address, r.method, r.path, item, r.status, r.bytes, r.agent)
	}
	size := "-"
	if r.bytes > 0 {
		size = strconv.FormatInt(r.bytes, 10)
	}
	return fmt.Appendf(line, `203.0.113.%d - - [%s] "%s %s%d HTTP/1.1" %d %s "%s" "%s"`,
		address, h.now.Format("02/Jan/2006:15:04:05 -0700"), r.method, r.path, item, r.status, size, r.referrer, r.agent)
}

// weighted returns a random index with the given weights.
func weighted(random *rand.Rand, weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	at := random.IntN(sum)
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return 0
}
