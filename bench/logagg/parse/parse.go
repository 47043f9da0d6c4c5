package parse

import (
	"bytes"
	"time"
	"unicode"
	"unicode/utf8"
	"unique"

	"github.com/valyala/fastjson"
)

// maxService limits the name of a service, in bytes; RFC 5424 allows 48.
const maxService = 255

// known limits the number of names that a Parser remembers.
const known = 1024

// keptJSON limits, in bytes, the lines whose memory is kept for the next one.
// Parsing a line of nothing but short numbers takes more than 100 times its
// size, which a thousand connections must not keep each.
const keptJSON = 2 << 10

// A Parser parses the lines of one stream. It is for one goroutine: it
// remembers the last minute and the known services, which successive lines
// share, and so avoids most of the work.
type Parser struct {
	json     fastjson.Parser
	fallback unique.Handle[string] // for lines without a service

	services map[string]unique.Handle[string]
	service  unique.Handle[string] // of the previous line
	name     string                // its name

	stamp  [stampBytes]byte // time of the previous line, without its seconds
	minute Minute           // the minute of stamp; undefined while stamp is zero
}

// NewParser returns a Parser. fallback is the service of lines without one.
func NewParser(fallback string) *Parser {
	return &Parser{fallback: unique.Make(fallback), services: map[string]unique.Handle[string]{}}
}

// Parse returns the event of line, or one of the errors of this package. It
// keeps no reference to line, and allocates only for a new service.
func (p *Parser) Parse(line []byte) (Event, error) {
	service := p.fallback
	if len(line) > 0 && line[0] == '<' {
		name, message, ok := splitSyslog(line)
		if !ok {
			return Event{}, ErrSyslog
		}
		if len(name) > 0 {
			if service, ok = p.intern(name); !ok {
				return Event{}, ErrService
			}
		}
		line = message
	}
	if len(line) > 0 && line[0] == '{' {
		return p.parseJSON(line, service)
	}
	return p.parseCombined(line, service)
}

// intern returns the handle of a service name, which must be UTF-8 without
// control characters.
func (p *Parser) intern(name []byte) (unique.Handle[string], bool) {
	if string(name) == p.name && len(name) > 0 {
		return p.service, true
	}
	service, met := p.services[string(name)]
	if !met {
		if len(name) == 0 || len(name) > maxService || !isText(name) {
			return service, false
		}
		if len(p.services) == known {
			clear(p.services)
		}
		service = unique.Make(string(name))
		p.services[service.Value()] = service
	}
	p.service, p.name = service, service.Value()
	return service, true
}

// parseCombined parses
//
//	HOST IDENT USER [21/Nov/2026:15:04:05 +0000] "REQUEST" STATUS BYTES "REFERER" "AGENT"
//
// The last two may be missing: that is the common log format.
func (p *Parser) parseCombined(line []byte, service unique.Handle[string]) (Event, error) {
	open := bytes.IndexByte(line, '[')
	if open < 6 || line[open-1] != ' ' || bytes.Count(line[:open], space) < 3 {
		return Event{}, ErrCombined
	}
	rest := line[open+1:]
	if len(rest) < timeBytes+2 || rest[timeBytes] != ']' || rest[timeBytes+1] != ' ' {
		return Event{}, ErrTime
	}
	minute, ok := p.combinedMinute(rest[:timeBytes])
	if !ok {
		return Event{}, ErrTime
	}
	rest, ok = passQuoted(rest[timeBytes+2:])
	if !ok || len(rest) < 6 || rest[0] != ' ' || rest[4] != ' ' {
		return Event{}, ErrCombined
	}
	status, ok := number(rest[1:4])
	if !ok || status < 100 {
		return Event{}, ErrStatus
	}
	size, rest, _ := bytes.Cut(rest[5:], space)
	sent, ok := number(size)
	if !ok && string(size) != "-" {
		return Event{}, ErrBytes
	}
	if len(rest) > 0 && !isReferrerAndAgent(rest) {
		return Event{}, ErrCombined
	}
	return Event{Service: service, Minute: minute, Status: uint16(status), Bytes: sent}, nil
}

var space = []byte{' '}

// isReferrerAndAgent reports whether rest consists of exactly two quoted
// strings: a line that was cut off is invalid.
func isReferrerAndAgent(rest []byte) bool {
	rest, ok := passQuoted(rest)
	if !ok || len(rest) == 0 || rest[0] != ' ' {
		return false
	}
	rest, ok = passQuoted(rest[1:])
	return ok && len(rest) == 0
}

// passQuoted returns the bytes after the quoted string at the beginning of
// text. Servers escape quotes in it with a backslash.
func passQuoted(text []byte) (rest []byte, ok bool) {
	if len(text) == 0 || text[0] != '"' {
		return nil, false
	}
	for at := 1; ; {
		i := bytes.IndexByte(text[at:], '"')
		if i < 0 {
			return nil, false
		}
		at += i + 1
		escapes := 0
		for text[at-2-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return text[at:], true
		}
	}
}

// parseJSON parses an object with the members time (RFC 3339), status, and
// optionally service and bytes. It ignores other members.
func (p *Parser) parseJSON(line []byte, service unique.Handle[string]) (Event, error) {
	if len(line) > keptJSON {
		defer func() { p.json = fastjson.Parser{} }()
	}
	v, err := p.json.ParseBytes(line)
	if err != nil || v.Type() != fastjson.TypeObject {
		return Event{}, ErrJSON
	}
	var t time.Time
	if err := t.UnmarshalText(v.GetStringBytes("time")); err != nil {
		return Event{}, ErrTime
	}
	minute, ok := MinuteOf(t)
	if !ok {
		return Event{}, ErrTime
	}
	status := v.GetInt("status")
	if status < 100 || status > 999 {
		return Event{}, ErrStatus
	}
	var sent int64
	if size := v.Get("bytes"); size != nil {
		if sent, err = size.Int64(); err != nil || sent < 0 {
			return Event{}, ErrBytes
		}
	}
	if name := v.Get("service"); name != nil {
		text, err := name.StringBytes()
		if err != nil {
			return Event{}, ErrService
		}
		if service, ok = p.intern(text); !ok {
			return Event{}, ErrService
		}
	}
	return Event{Service: service, Minute: minute, Status: uint16(status), Bytes: sent}, nil
}

// number parses at most 18 digits.
func number(digits []byte) (n int64, ok bool) {
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// The time of the combined format, "21/Nov/2026:15:04:05 +0000", and the same
// without its seconds.
const (
	timeLayout  = "02/Jan/2006:15:04:05 -0700"
	timeBytes   = len(timeLayout)
	minuteBytes = len("02/Jan/2006:15:04")
	zoneBytes   = len(" -0700")
	stampBytes  = minuteBytes + zoneBytes
)

// combinedMinute returns the minute of text, which has timeBytes bytes.
// Successive lines of a stream almost always share their minute: then it parses
// only the seconds.
func (p *Parser) combinedMinute(text []byte) (Minute, bool) {
	seconds, zone := text[minuteBytes:timeBytes-zoneBytes], text[timeBytes-zoneBytes:]
	if bytes.Equal(text[:minuteBytes], p.stamp[:minuteBytes]) && bytes.Equal(zone, p.stamp[minuteBytes:]) {
		return p.minute, isSeconds(seconds)
	}
	t, err := time.Parse(timeLayout, string(text))
	if err != nil {
		return 0, false
	}
	minute, ok := MinuteOf(t)
	if !ok {
		return 0, false
	}
	copy(p.stamp[:], text[:minuteBytes])
	copy(p.stamp[minuteBytes:], zone)
	p.minute = minute
	return minute, true
}

// isSeconds reports whether text is a colon and two digits below 60, as
// time.Parse requires.
func isSeconds(text []byte) bool {
	return text[0] == ':' && text[1] >= '0' && text[1] <= '5' && text[2] >= '0' && text[2] <= '9'
}

// isText reports whether name is UTF-8 without control characters.
func isText(name []byte) bool {
	return utf8.Valid(name) && bytes.IndexFunc(name, unicode.IsControl) < 0
}
