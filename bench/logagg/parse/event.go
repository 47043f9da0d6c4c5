// Package parse parses log lines into events: access logs in the combined
// format or as JSON, bare or in a syslog message of RFC 5424 or RFC 3164.
//
// This package parses the content of lines. Package frame finds their
// boundaries, and package count counts the events.
package parse

import (
	"errors"
	"time"
	"unique"
)

// An Event is the parsed content of a line. The hot channel carries it, so it
// is small (32 bytes) and contains no pointer to memory of the line: names of
// services are interned.
type Event struct {
	Service unique.Handle[string]
	Read    int64  // when the line's bytes were read, in nanoseconds of the pipeline's clock
	Bytes   int64  // size of the response
	Minute  Minute // of the request
	Status  uint16 // of the response
	Tick    bool   // a clock tick instead of a line: ship the current counts
}

// A Minute counts minutes since the beginning of 1970, in UTC.
type Minute uint32

// Time returns the beginning of m.
func (m Minute) Time() time.Time { return time.Unix(int64(m)*60, 0).UTC() }

// lastMinute is the last minute of the year 9999. RFC 3339 and JSON cannot
// represent later ones, but a line can contain one: late on the last day of
// that year, west of Greenwich.
const lastMinute Minute = 4223371679

// MinuteOf returns the minute of t; ok is false if it is before 1970 or after
// 9999.
func MinuteOf(t time.Time) (m Minute, ok bool) {
	seconds := t.Unix()
	if seconds < 0 || seconds/60 > int64(lastMinute) {
		return 0, false
	}
	return Minute(seconds / 60), true
}

// The reasons why a line is not an event. They are fixed values, so that
// malformed lines cost no more than valid ones.
var (
	ErrSyslog   = errors.New("invalid syslog header (want RFC 5424 or RFC 3164)")
	ErrCombined = errors.New("neither JSON nor the combined log format")
	ErrJSON     = errors.New("invalid JSON object")
	ErrTime     = errors.New("invalid time")
	ErrStatus   = errors.New("invalid status")
	ErrBytes    = errors.New("invalid size")
	ErrService  = errors.New("invalid service name")
)
