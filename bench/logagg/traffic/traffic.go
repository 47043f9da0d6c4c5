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
	h.line = h.appendHeader(h.line[:0])
	if h.form == octets5424JS {
		h.line = h.appendJSON(h.line, r)
	} else {
		h.line = h.appendCombined(h.line, r)
	}
	if h.form == octets5424 || h.form == octets5424JS {
		text = append(strconv.AppendInt(text, int64(len(h.line)), 10), ' ')
		return append(text, h.line...)
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

// appendHeader appends the syslog header: facility local0, severity info.
func (h *Host) appendHeader(line []byte) []byte {
	if h.form == lines3164 {
		line = append(line, "<134>"...)
		line = h.now.AppendFormat(line, time.Stamp)
		return fmt.Appendf(line, " web-%02d %s[%d]: ", h.number, h.service, 4000+h.number)
	}
	line = append(line, "<134>1 "...)
	line = h.now.AppendFormat(line, "2006-01-02T15:04:05.000Z07:00")
	return fmt.Appendf(line, " web-%02d %s %d - - ", h.number, h.service, 4000+h.number)
}

func (h *Host) address() string {
	return "203.0.113." + strconv.Itoa(1+h.random.IntN(254))
}

func (h *Host) appendCombined(line []byte, r request) []byte {
	line = append(append(line, h.address()...), " - - ["...)
	line = h.now.AppendFormat(line, "02/Jan/2006:15:04:05 -0700")
	line = append(append(append(line, `] "`...), r.method...), ' ')
	line = append(append(line, r.path...), strconv.Itoa(h.random.IntN(100_000))...)
	line = strconv.AppendInt(append(line, ` HTTP/1.1" `...), int64(r.status), 10)
	line = append(line, ' ')
	if r.bytes == 0 {
		line = append(line, '-')
	} else {
		line = strconv.AppendInt(line, r.bytes, 10)
	}
	line = append(append(line, ` "`...), r.referrer...)
	return append(append(append(line, `" "`...), r.agent...), '"')
}

func (h *Host) appendJSON(line []byte, r request) []byte {
	line = h.now.AppendFormat(append(line, `{"time":"`...), time.RFC3339Nano)
	line = append(append(line, `","remote":"`...), h.address()...)
	line = append(append(append(line, `","method":"`...), r.method...), `","path":"`...)
	line = append(append(line, r.path...), strconv.Itoa(h.random.IntN(100_000))...)
	line = strconv.AppendInt(append(line, `","status":`...), int64(r.status), 10)
	line = strconv.AppendInt(append(line, `,"bytes":`...), r.bytes, 10)
	return append(append(append(line, `,"agent":"`...), r.agent...), `"}`...)
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
