// Package parse makes events of log lines: access logs in the combined format or as
// JSON, bare or in a syslog message of RFC 5424 or RFC 3164.
//
// What may enter this package: what a line says. Where it begins and ends is the
// business of package frame; what is done with it, of package count.
package parse

import (
	"errors"
	"time"
	"unique"
)

// An Event is what the service keeps of a line. It is what the hot channel carries, so
// it is small, 32 bytes, and refers to nothing that a line has allocated: names of
// services are interned.
type Event struct {
	Service unique.Handle[string]
	Read    int64  // when the bytes of the line were read, in nanoseconds of the pipeline's clock
	Bytes   int64  // size of the response
	Minute  Minute // of the request
	Status  uint16 // of the response
	Tick    bool   // no line, but a word of the clock: what is counted so far is to be shipped
}

// A Minute counts minutes since the beginning of 1970, in UTC.
type Minute uint32

// Time returns the beginning of m.
func (m Minute) Time() time.Time { return time.Unix(int64(m)*60, 0).UTC() }

// lastMinute is the last one of the year 9999. RFC 3339 and JSON can write none after it,
// but a line can name one: late on the last day of that year, west of Greenwich.
const lastMinute Minute = 4223371679

// MinuteOf returns the minute of t; ok is false if that is before 1970 or after 9999.
func MinuteOf(t time.Time) (m Minute, ok bool) {
	seconds := t.Unix()
	if seconds < 0 || seconds/60 > int64(lastMinute) {
		return 0, false
	}
	return Minute(seconds / 60), true
}

// Why a line is no event. The errors are fixed values: a flood of garbage must not cost
// more than a flood of lines.
var (
	ErrSyslog   = errors.New("no syslog header of RFC 5424 or 3164")
	ErrCombined = errors.New("neither JSON nor the combined log format")
	ErrJSON     = errors.New("no valid JSON object")
	ErrTime     = errors.New("no valid time")
	ErrStatus   = errors.New("no valid status")
	ErrBytes    = errors.New("no valid size")
	ErrService  = errors.New("no valid name of a service")
)
